"""Processes that help to read large files, beside the one that asks for them."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines.cores import cores

BYTES_A_PROCESS = 32_000_000
MOST_PROCESSES = 8


@dataclass(frozen=True)
class Helpers:
    """So many processes, one fewer than there are cores; none for small files."""

    count: int = 0
    executor: Executor | None = None

    def submit(self, elsewhere: bool, function: Callable, *arguments: Any) -> Future:
        """Call a function in one of them, or else in this process, at once."""
        if elsewhere:
            return self.executor.submit(function, *arguments)
        future: Future = Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


@contextmanager
def helpers(path: Path, start: Callable[[], None]) -> Iterator[Helpers]:
    """Processes for a results file, as many as its size is worth; they are starting up while this one goes on.

    Args:
        start: called in each of them first, to load the modules that they need.
    """
    size = path.stat().st_size if path.is_file() and path.suffix != ".gz" else 0
    count = min(size // BYTES_A_PROCESS, cores(), MOST_PROCESSES) - 1
    if count < 1:
        yield Helpers()
        return
    # Spawned, not forked: a fork would copy locks that other threads hold.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(count, context, initializer=_end_with_parent) as executor:
        for _process in range(count):
            executor.submit(start)
        yield Helpers(count, executor)


def _end_with_parent() -> None:
    def wait() -> None:
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()
