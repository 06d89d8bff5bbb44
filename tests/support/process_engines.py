"""Engines for tests of runs in several processes, loaded as `process_engines:Class`. `marker` is a file that tells their
processes apart from those started later."""

import os
import random
import signal
import time
from pathlib import Path

from engines.base import Answered, DeviceError, Group
from engines.random import RandomEngine


class Placed(RandomEngine):
    """Says as its model where it runs."""

    def __init__(self, seconds: float = 0.0):
        super().__init__()
        self.seconds = seconds

    def __call__(self, state, questions):
        time.sleep(self.seconds)
        response, raw = super().__call__(state, questions)
        variables = [os.environ.get(name, "") for name in ("CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")]
        return {**response, "model": "/".join([str(os.getpid()), *variables])}, raw

    def identity(self):
        return {"seed": 0}


class Grouped(RandomEngine):
    """Takes windows of `window` and answers them in mixed groups of three, each in `seconds`."""

    def __init__(self, window: int = 8, seconds: float = 0.0):
        super().__init__()
        self.window = window
        self.seconds = seconds
        self.groups = 0

    def answer_window(self, requests):
        positions = list(range(len(requests)))
        random.Random(len(requests)).shuffle(positions)
        for start in range(0, len(positions), 3):
            time.sleep(self.seconds)
            self.groups += 1
            chosen = positions[start : start + 3]
            yield Group(chosen, [Answered(*self(*requests[position])) for position in chosen], wall_ms=5.0)

    def identity(self):
        return {"seed": 0}

    def live(self):
        return {"groups_per_second": 2.0, "batch_size": 3.0, "groups": self.groups}


class Dying(Grouped):
    """A process that finds no `marker` writes it and dies instead of giving its group number `at`: by a signal (`kill`), with
    an exit code (`exit`), or by a lost device (`device`). Without `marker` every process does."""

    def __init__(self, how: str = "kill", marker: str | None = None, at: int = 3):
        super().__init__()
        self.how = how
        self.marker = marker and Path(marker)
        self.at = at

    def answer_window(self, requests):
        for group in super().answer_window(requests):
            if self.groups == self.at and not (self.marker and self.marker.exists()):
                if self.marker:
                    self.marker.touch()
                self._die()
            yield group

    def _die(self):
        if self.how == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.how == "exit":
            os._exit(7)
        raise DeviceError("the card fell off the bus")


class LoadsOnce(RandomEngine):
    """Loads in two processes, counted in the file `loads_without`, and dies on the first real request."""

    def __init__(self, loads_without: str):
        super().__init__()
        with open(loads_without, "a+") as file:
            file.write("x")
            file.seek(0)
            if len(file.read()) > 2:
                raise OSError("no weights any more")

    def __call__(self, state, questions):
        if isinstance(state, dict):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(state, questions)


class LoadsForever(RandomEngine):
    def __init__(self):
        time.sleep(3600)


class DiesLoading(RandomEngine):
    def __init__(self):
        os.kill(os.getpid(), signal.SIGKILL)


class Differs(RandomEngine):
    """Is another engine in every process."""

    def identity(self):
        return {"pid": os.getpid()}


class Stoppable(RandomEngine):
    """Waits for a stop on every real request."""

    def __init__(self):
        super().__init__()
        self.stopped = False

    def __call__(self, state, questions):
        while isinstance(state, dict) and not self.stopped:
            time.sleep(0.01)
        return super().__call__(state, questions)

    def stop(self):
        self.stopped = True


class Unwritable(RandomEngine):
    """Gives with every real answer half a character, which UTF-8 has no bytes for."""

    def __call__(self, state, questions):
        response, _raw = super().__call__(state, questions)
        return response, "\ud800" if isinstance(state, dict) else None


class Closes(RandomEngine):
    """Writes `marker` when it is closed."""

    def __init__(self, marker: str):
        super().__init__()
        self.marker = Path(marker)

    def close(self):
        self.marker.touch()
