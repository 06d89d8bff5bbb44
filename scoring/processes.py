"""Processes that help to read large files, beside the one that asks for them."""

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from engines.cores import cores

BYTES_A_PROCESS = 32_000_000
MOST_PROCESSES = 8


@dataclass(frozen=True)
class Helpers:
    """So many processes, one fewer than there are cores; none for small files."""

    count: int = 0
    executor: Executor | None = None


Made = TypeVar("Made")


class Shared(Generic[Made]):
    """Calls of one function, which helpers begin with at once."""

    def __init__(self, helpers: Helpers, function: Callable[..., Made], calls: Sequence[tuple]):
        self.function, self.calls = function, calls
        self.futures = [helpers.executor.submit(function, *call) for call in calls] if helpers.count else []

    def results(self, seen: Callable[[Made], None] = lambda _made: None) -> list[Made]:
        """What each call gives. This process makes the calls that helpers have not begun, from the last one backwards.

        Args:
            seen: takes each result as it comes.
        """
        made: list[Made | None] = [None] * len(self.calls)
        for place in reversed(range(len(self.calls))):
            if not self.futures or self.futures[place].cancel():
                made[place] = self.function(*self.calls[place])
                seen(made[place])
        for place, future in enumerate(self.futures):
            if not future.cancelled():
                made[place] = future.result()
                seen(made[place])
        return made


@contextmanager
def helpers(path: Path) -> Iterator[Helpers]:
    """Processes for a results file, as many as its size is worth."""
    size = path.stat().st_size if path.is_file() and path.suffix != ".gz" else 0
    count = min(size // BYTES_A_PROCESS, cores(), MOST_PROCESSES) - 1
    if count < 1:
        yield Helpers()
        return
    # Spawned, not forked: a fork would copy locks that other threads hold.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(count, context, initializer=_prepare)
    try:
        yield Helpers(count, executor)
    finally:
        executor.shutdown(wait=False, cancel_futures=True)


@contextmanager
def uncollected() -> Iterator[None]:
    """No search for reference cycles meanwhile: it takes a tenth of the time of reading, which leaves none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _prepare() -> None:
    """Set a helper up: no search for cycles either, and an end when its parent ends."""
    gc.disable()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)
