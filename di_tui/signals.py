"""Ctrl-C, SIGTERM and SIGHUP during a foreground job: finish the batch in flight, then end; a second one ends at once."""

import os
import signal
from types import FrameType

from engines.control import Control

HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopOnSignal:
    """Within the `with` block, signals stop the job. `received` is the first one, None when there was none."""

    def __init__(self, control: Control):
        self.control = control
        self.received: int | None = None

    def __enter__(self) -> "StopOnSignal":
        self._before = {number: signal.signal(number, self._handle) for number in HANDLED}
        return self

    def __exit__(self, *_exception: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if self.received is not None:
            os._exit(128 + number)
        self.received = number
        self.control.stop(f"{signal.Signals(number).name} received")
