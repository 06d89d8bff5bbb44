"""Functions that tests run in a process of their own; they take `emit` last.

Those that end in `_block` stand in for `suite_builder.blocks.make_block`.
"""

import os
import signal
import time
from pathlib import Path

from suite_builder.errors import SuiteError
from suite_builder.events import Stage


def count(upto: int, emit) -> int:
    for number in range(upto):
        emit(number)
    return os.getpid()


def refuse(emit) -> None:
    raise SuiteError("no such source")


def fall_over(emit) -> None:
    raise KeyError("prompt")


def be_killed(emit) -> None:
    emit("about to")
    os.kill(os.getpid(), signal.SIGKILL)


def give_up(emit) -> None:
    os._exit(3)


def hang(pids: Path, emit) -> None:
    """Write the process id to a file, then do nothing for a long time."""
    pids.write_text(str(os.getpid()))
    emit("hanging")
    time.sleep(600)


def killed_block(benchmark, inputs, work, emit) -> None:
    emit(Stage(benchmark.catalog_id, "normalize", "running"))
    os.kill(os.getpid(), signal.SIGKILL)


def hanging_block(benchmark, inputs, work, emit) -> None:
    hang(work / "pid", emit)
