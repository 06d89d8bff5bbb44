"""Engines that answer windows in their own way, loaded as `window_engines:Class`."""

import time

from engines.base import Answered, DeviceError, Group
from engines.random import RandomEngine


class Backwards(RandomEngine):
    """Groups of four from the end of the window; after `groups` of them does what `then` says: `raise`, `device`, `leave` or
    `repeat` the last group. Each group takes `seconds`. `told` counts the groups, `closed` the windows that were left early."""

    window = 10

    def __init__(self, groups: int = 1000, then: str = "leave", seconds: float = 0.0):
        super().__init__()
        self.groups, self.then, self.seconds = groups, then, seconds

    def answer_window(self, requests):
        order = list(reversed(range(len(requests))))
        for start in range(0, len(order), 4):
            if not self.groups:
                yield from self.end(order[start - 4 : start])
                return
            self.groups -= 1
            yield self.group(requests, order[start : start + 4])

    def group(self, requests, positions):
        time.sleep(self.seconds)
        return Group(positions, [Answered(*self(*requests[position])) for position in positions], 40.0)

    def end(self, before):
        if self.then == "raise":
            raise ValueError("lost the thread")
        if self.then == "device":
            raise DeviceError("the device is gone")
        if self.then == "repeat":
            yield Group(before, [ValueError("again")] * len(before))
