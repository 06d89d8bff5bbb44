"""Processes that help to read large files, beside the one that asks for them."""

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import takewhile
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

    def batches(self, size: int) -> Iterator[tuple[int, list[Made]]]:
        """What neighbouring calls give, about `size` of them at a time, as it comes: the place of the first one, and the results.

        This process makes the calls that helpers have not begun, from the last one backwards.
        """
        first, stop = 0, len(self.calls)
        while first < stop:
            made: list[Made] = []
            while first < stop and len(made) < size and self._left(stop - 1):
                stop -= 1
                made.append(self.function(*self.calls[stop]))
            if made:
                yield stop, made[::-1]
            elif first < stop:
                wait([self.futures[first]])
            done = [future.result() for future in takewhile(Future.done, self.futures[first:stop])]
            if len(done) >= size or not made:
                yield first, done
                first += len(done)

    def _left(self, place: int) -> bool:
        """Whether a call is left to this process."""
        return not self.futures or self.futures[place].cancel()


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
