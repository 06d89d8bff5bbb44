"""Which block is made when: downloads a few at a time, recipes side by side, no failure in the way of the others.

Whatever cannot be interrupted, downloads and recipes beside each other, runs in a process of its own, so that Ctrl-C
ends it at once and leaves nothing behind.
"""

import logging
import os
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace

from suite_builder.arrivals import need_space
from suite_builder.blocks import (
    Block,
    Emit,
    Inputs,
    are_here,
    kept_block,
    make_block,
    obtain_inputs,
    reason,
    stage,
    tell_unchanged,
)
from suite_builder.catalog import Benchmark
from suite_builder.events import Event, Planned, Stage
from suite_builder.inventory import to_download
from suite_builder.store import Store
from suite_builder.workers import Died, in_process

DOWNLOADS = 4  # benchmarks whose sources come at the same time

log = logging.getLogger(__name__)


def build_blocks(
    wanted: Sequence[Benchmark], store: Store, jobs: int | None, emit: Emit
) -> tuple[list[Block], dict[int, str]]:
    """Keep the blocks that still hold and make the others.

    Args:
        jobs: recipes at a time, each in a process of its own, by default as many as there are cores; 1 runs them in
            this process.

    Returns:
        The blocks in the order of `wanted`, and catalog id -> reason of what failed.

    Raises:
        SuiteError: the disk has no room for what is still to be downloaded.
        KeyboardInterrupt: everything that was running has been ended.
    """
    schedule = _Schedule(store, emit)
    for benchmark in wanted:
        schedule.emit(Stage(benchmark.catalog_id, "sources", "waiting"))
    todo = [benchmark for benchmark in wanted if not schedule.is_settled(benchmark)]
    if todo:
        schedule.make(todo, min(jobs or os.cpu_count() or 1, len(todo)))
    order = [benchmark.catalog_id for benchmark in wanted]
    made, failed = schedule.made, schedule.failed
    return [made[key] for key in order if key in made], {key: failed[key] for key in order if key in failed}


class _Schedule:
    """The state of one job. made, failed: catalog id -> block or reason."""

    def __init__(self, store: Store, emit: Emit):
        self.store = store
        self.made: dict[int, Block] = {}
        self.failed: dict[int, str] = {}
        self._emit = emit
        self._emitting = threading.Lock()
        self._stop = threading.Event()

    def emit(self, event: Event) -> None:
        with self._emitting:
            self._emit(event)

    def is_settled(self, benchmark: Benchmark) -> bool:
        """Whether there is nothing to do for a benchmark: its block still holds, or it cannot be made at all."""
        key = benchmark.catalog_id
        with self._noting_failure(benchmark):
            if block := kept_block(benchmark, self.store.work):
                self.made[key] = block
                tell_unchanged(block, self.emit)
        if key in self.failed:
            self.emit(Stage(key, "sources", "failed", reason=self.failed[key]))
        return key in self.made or key in self.failed

    def make(self, todo: Sequence[Benchmark], jobs: int) -> None:
        """Make blocks, each as soon as its sources are there and there is a process for it."""
        self._plan(todo)
        with ThreadPoolExecutor(DOWNLOADS) as fetching, ThreadPoolExecutor(jobs) as making:
            try:
                fetched = {fetching.submit(self._obtain, benchmark): benchmark for benchmark in todo}
                started: dict[Future[Block], Benchmark] = {}
                for future in as_completed(fetched):
                    benchmark = fetched[future]
                    with self._noting_failure(benchmark):
                        inputs = future.result()
                        if jobs > 1:
                            started[making.submit(self._make_apart, benchmark, inputs)] = benchmark
                        else:
                            self.made[benchmark.catalog_id] = make_block(benchmark, inputs, self.store.work, self.emit)
                for future in as_completed(started):
                    with self._noting_failure(started[future]):
                        self.made[started[future].catalog_id] = future.result()
            except BaseException:
                self._stop.set()
                for pool in (fetching, making):
                    pool.shutdown(wait=False, cancel_futures=True)
                raise

    def _plan(self, todo: Sequence[Benchmark]) -> None:
        download = {benchmark.catalog_id: to_download(self.store, benchmark.catalog_id) for benchmark in todo}
        self.emit(Planned(download))
        if total := sum(download.values()):
            need_space(self.store.work, total, "the sources that are still to be downloaded")

    def _obtain(self, benchmark: Benchmark) -> Inputs:
        with stage(self.emit, benchmark, "sources") as facts:
            if self.store.offline or are_here(benchmark, self.store):
                inputs = obtain_inputs(benchmark, self.store, self.emit)
            else:
                inputs = in_process(obtain_inputs, benchmark, self.store, emit=self.emit, stop=self._stop)
            facts["size"] = inputs.size
        return inputs

    def _make_apart(self, benchmark: Benchmark, inputs: Inputs) -> Block:
        last: list[Event] = [Stage(benchmark.catalog_id, "normalize", "running")]

        def emit(event: Event) -> None:
            last[0] = event
            self.emit(event)

        try:
            return in_process(make_block, benchmark, inputs, self.store.work, emit=emit, stop=self._stop)
        except Died as death:
            emit(replace(last[0], state="failed", reason=str(death)))
            raise

    @contextmanager
    def _noting_failure(self, benchmark: Benchmark) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            log.debug("%s failed", benchmark.dataset, exc_info=True)
            self.failed[benchmark.catalog_id] = reason(error)
