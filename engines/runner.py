"""The run job: drive an engine through a suite in worker threads, checkpoint every result, resume what is left.

Worker threads take windows of the plan and hand them to the engine, which answers each window in groups; the calling
thread alone writes files, tells events and looks at the control file. It knows nothing of screens: whoever wants to see a run
passes `emit` or reads the run directory.
"""

import gc
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

from engines import events, wire
from engines.base import Answered, Engine, EngineError, Group, Outcome, is_device_error, load_engine
from engines.control import Control, ControlFile
from engines.device_facts import device_facts
from engines.environment import check_same_engine, check_same_identity, environment, identity_of
from engines.error_watch import ErrorWatch
from engines.parallel import ParallelEngine
from engines.plan import Entry, Shard, plan, shares
from engines.results import Checkpoint, ResultsError, Timing, encode, result_row, utc_now
from engines.run_dir import RunDir, RunError, RunLock, this_process, write_json
from suite_builder.errors import SuiteError
from suite_builder.row_index import RowIndex
from suite_builder.rows import Request
from suite_builder.suite import Suite

UNWRITTEN_BATCHES = 256
SMALLEST_WINDOW = 8  # the part of a whole one
SECONDS_BETWEEN_LOOKS = 0.01  # a lock a batch would cost quick engines more than these looks cost slow ones
SECONDS_BETWEEN_STATUS = 1.0
LAST_ERRORS = 20


@dataclass(frozen=True)
class RunSettings:
    """How to run. `engine`, `model` and `options` as on the command line.

    limit: only the first so many requests of the plan. compact: results without payload and raw output. fresh: move an
    earlier run aside and start anew. order: see plan.py. verify: refuse rows that are not those that the suite's edition or
    manifest names. stop_after_errors: so many errors in a row end the run.
    stop_timeout: seconds that an engine gets to finish its batches after a stop. latency: one request at a time.
    shard: ask this part of the suite alone. data_parallel: so many engine processes, each with a device of its own.
    """

    engine: str
    model: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    limit: int | None = None
    compact: bool = False
    fresh: bool = False
    order: str = "interleaved"
    with_excluded: bool = False
    take_over: bool = False
    verify: bool = True
    stop_after_errors: int = 25
    stop_timeout: float = 120.0
    latency: bool = False
    shard: Shard | None = None
    data_parallel: int = 1


@dataclass(frozen=True)
class _Stop:
    """How a run ends (a state of `events.Ended`), why, and at which request that showed."""

    state: str
    reason: str | None = None
    run_id: str | None = None


@dataclass(frozen=True)
class _Batch:
    """What a group of a window gave; `fatal` is what ended the worker after it."""

    requests: list[Request]
    outcomes: list[Outcome]
    timing: Timing | None = None
    fatal: _Stop | None = None


@dataclass(frozen=True)
class _Finished:
    """A batch as it is written and told; made by the worker, so that nothing of its requests changes threads."""

    lines: list[bytes]
    answers: list[events.Answer]
    errors: list[dict[str, Any]]
    fatal: _Stop | None


def run(
    suite: Suite,
    run_dir: RunDir,
    settings: RunSettings,
    emit: Callable[[events.Event], None] = lambda event: None,
    control: Control | None = None,
) -> events.Ended:
    """Run an engine over a suite into a run directory, going on where an earlier run stopped.

    Returns:
        How it ended; never raises for a request that fails, only for a run that cannot start or go on.

    Raises:
        RunError, ResultsError, EngineError, SuiteError: with a message for the person who started it.
    """
    run_dir.create()
    with RunLock(run_dir, settings.take_over):
        if settings.fresh:
            for path in run_dir.set_aside():
                emit(events.Notice(f"the earlier run is now {path}"))
        return _Run(suite, run_dir, settings, emit, control or Control()).execute()


class _Run:
    """One run in progress, from loading the engine to the last status."""

    def __init__(self, suite: Suite, run_dir: RunDir, settings: RunSettings, emit, control: Control):
        self.suite = suite
        self.run_dir = run_dir
        self.settings = settings
        self.emit = emit
        self.control = control
        self.control_file = ControlFile(run_dir.control, control)
        self.finished: deque[_Finished] = deque()
        self.counts: Counter[str] = Counter()
        self.last_errors: deque[dict[str, Any]] = deque(maxlen=LAST_ERRORS)
        self.completed = self.total = 0
        self.started = time.monotonic()
        self.status_written = 0.0
        self.paused = False
        self.phase = "loading"
        self.live: Callable[[], dict[str, float]] = dict

    def execute(self) -> events.Ended:
        checkpoint = Checkpoint(self.run_dir.results)
        try:
            return self._with_index(checkpoint)
        except (ResultsError, RunError, EngineError, SuiteError) as error:
            self.control.stop(str(error))
            # On a full disk the status cannot be written either; the first error is the one to tell.
            with suppress(RunError):
                self._write_status("failed", error=str(error))
            raise
        finally:
            checkpoint.close()

    def _with_index(self, checkpoint: Checkpoint) -> events.Ended:
        index = RowIndex.require(self.suite)
        try:
            if self.settings.verify:
                self.suite.require_content(index.content_sha256)
            if self.suite.partial and self.suite.directory:
                self.emit(events.Notice(f"{self.suite.name} is a partial suite: its scores are not those of the edition"))
            entries = plan(self.suite, index, self.settings.order, self.settings.with_excluded, self.settings.shard)
            self._check_payloads(entries, checkpoint)
            limited = entries[: self.settings.limit]
            self.total = len(limited)
            self.completed = sum(entry.run_id in checkpoint.finished for entry in limited)
            open_entries = [entry for entry in limited if entry.run_id not in checkpoint.finished]
            shown = shares(limited, checkpoint.finished)
            if open_entries:
                stopped = self._with_engine(index, checkpoint, open_entries, shown)
            else:
                check_same_engine(self.run_dir, self.settings.engine, self.settings.model)
                self.emit(events.Ready(self.settings.engine, 0.0, shown))
                stopped = None
            return self._end(stopped or _Stop("complete" if len(limited) == len(entries) else "limited"))
        finally:
            index.close()

    def _check_payloads(self, entries: list[Entry], checkpoint: Checkpoint) -> None:
        for entry in entries:
            answered = checkpoint.finished.get(entry.run_id)
            if answered is not None and answered != entry.payload_sha256:
                raise RunError(
                    f"{self.run_dir.results} answers another version of {entry.run_id} (payload {answered[:8]}…, "
                    f"the suite has {entry.payload_sha256[:8]}…); use the suite of that run, or --fresh to start anew"
                )

    def _with_engine(
        self,
        index: RowIndex,
        checkpoint: Checkpoint,
        open_entries: list[Entry],
        shown: tuple[events.BenchmarkPlan, ...],
    ) -> _Stop | None:
        """Ask what is open; returns what kept it from being finished, if anything did."""
        self.emit(events.Loading(self.settings.engine))
        engine, loaded_seconds = self._load()
        if engine is None:
            return _Stop("interrupted", self.control.stop_reason)
        identity = identity_of(engine, self.settings.engine, self.settings.model, self.settings.options)
        for notice in check_same_identity(self.run_dir, identity, answered=bool(checkpoint.finished)):
            self.emit(events.Notice(notice))
        facts = environment(self.run_dir, self.suite, index, engine, identity, self.settings, loaded_seconds)
        write_json(self.run_dir.environment, facts)
        self.phase = "ready"
        self.emit(events.Ready(self.settings.engine, loaded_seconds, shown))
        self.live = engine.live
        self._write_status("ready")
        return self._drive(engine, index, checkpoint, open_entries)

    def _load(self) -> tuple[Engine | None, float]:
        """Load and warm up in a thread of its own, so that the heartbeat goes on and a stop is heard."""
        began = time.monotonic()
        loaded: queue.SimpleQueue[Engine | BaseException] = queue.SimpleQueue()

        def load() -> None:
            try:
                engine = _open(self.settings)
                engine.warm_up()
                loaded.put(engine)
            except BaseException as error:
                loaded.put(error)

        threading.Thread(target=load, name="engine-loader", daemon=True).start()
        while self.control.stop_reason is None:
            self._tick()
            try:
                result = loaded.get(timeout=0.2)
            except queue.Empty:
                continue
            if isinstance(result, EngineError):
                raise result
            if isinstance(result, BaseException):
                raise RunError(f"engine {self.settings.engine!r} failed while loading: {result!r}") from result
            return result, time.monotonic() - began
        return None, time.monotonic() - began

    def _drive(self, engine: Engine, index: RowIndex, checkpoint: Checkpoint, entries: list[Entry]) -> _Stop | None:
        self.phase = "progress"
        self.error_watch = ErrorWatch(self.settings.stop_after_errors, succeeded=bool(checkpoint.finished))
        size = 1 if self.settings.latency else max(engine.window, engine.batch_size)
        windows = _windows(entries, size, engine.concurrency)
        lock = threading.Lock()
        workers = [
            threading.Thread(target=self._work, args=(engine, index, windows, lock), name=f"engine-{n}", daemon=True)
            for n in range(1 if self.settings.latency else engine.concurrency)
        ]
        for worker in workers:
            worker.start()
        # The plan and the engine live to the end: full collections of garbage need not walk them over and over.
        gc.freeze()
        try:
            fatal = self._collect(engine, workers, checkpoint)
        finally:
            gc.unfreeze()
        if not any(worker.is_alive() for worker in workers):
            engine.close()
        if fatal:
            return fatal
        if self.completed < self.total and self.control.stop_reason:
            return _Stop("interrupted", self.control.stop_reason)
        return None

    def _work(self, engine: Engine, index: RowIndex, windows: Iterator[list[Entry]], lock: threading.Lock) -> None:
        while self.control.proceed():
            with lock:
                entries = next(windows, None)
            if entries is None:
                return
            with closing(self._answer(engine, index, entries)) as batches:
                for batch in batches:
                    if batch.fatal:
                        self.control.stop(batch.fatal.reason)
                    self._hand_over(_finished(batch, self.settings))
                    if not self.control.proceed():
                        return

    def _hand_over(self, batch: _Finished) -> None:
        """Leave a batch to be written; wait while too many are."""
        self.finished.append(batch)
        while len(self.finished) > UNWRITTEN_BATCHES:
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def _answer(self, engine: Engine, index: RowIndex, entries: list[Entry]) -> Iterator[_Batch]:
        """The window's results as the engine gives them; the last one says if the run must end."""
        try:
            requests = [index.request(entry.position) for entry in entries]
        except Exception as error:
            yield _Batch([], [], fatal=_Stop("failed", f"{type(error).__name__}: {error}", entries[0].run_id))
            return
        with closing(_ask(engine, requests)) as batches:
            for batch in batches:
                too_many = self.error_watch.take(batch.outcomes)
                if too_many and not batch.fatal:
                    batch = replace(batch, fatal=_Stop("failed", too_many, batch.requests[-1].run_id))
                yield batch

    def _collect(self, engine: Engine, workers: list[threading.Thread], checkpoint: Checkpoint) -> _Stop | None:
        """Write what the workers give until they are done; returns what made the run fail, if anything did."""
        fatal: _Stop | None = None
        stopped_at: float | None = None
        while True:
            done = not any(worker.is_alive() for worker in workers)
            batches = [self.finished.popleft() for _ in range(len(self.finished))]
            if batches:
                fatal = self._record(batches, checkpoint) or fatal
            elif done:
                return fatal
            self._tick()
            if self.control.stop_reason:
                if stopped_at is None:
                    stopped_at = time.monotonic()
                    engine.stop()
                if time.monotonic() - stopped_at > self.settings.stop_timeout:
                    self.emit(events.Notice(
                        f"the engine did not finish its batch within {self.settings.stop_timeout:.0f} s; "
                        "its requests will be asked again"
                    ))
                    return fatal
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def _record(self, batches: list[_Finished], checkpoint: Checkpoint) -> _Stop | None:
        checkpoint.append([line for batch in batches for line in batch.lines])
        for batch in batches:
            self.last_errors.extend(batch.errors)
            for answer in batch.answers:
                self.counts[answer.status] += 1
                self.completed += 1
                self.emit(answer)
        return next((batch.fatal for batch in batches if batch.fatal), None)

    def _tick(self) -> None:
        """What has to happen now and then: commands, pause events, heartbeat."""
        self.control_file.look()
        if self.control.paused != self.paused:
            self.paused = self.control.paused
            self.emit(events.Paused() if self.paused else events.Resumed())
            self.status_written = 0.0  # whoever follows the run learns it now
        if time.monotonic() - self.status_written >= SECONDS_BETWEEN_STATUS:
            self._write_status("paused" if self.paused else self.phase)

    def _write_status(self, event: str, **more: Any) -> None:
        self.status_written = time.monotonic()
        elapsed = time.monotonic() - self.started
        status = {
            "time": utc_now().isoformat(),
            "event": event,
            "engine": self.settings.engine,
            "completed": self.completed,
            "total": self.total,
            "counts": dict(self.counts),
            "elapsed_seconds": round(elapsed, 3),
            "requests_per_second": round(self.counts.total() / elapsed, 3) if elapsed else 0.0,
            "throughput": self.live(),
            "devices": device_facts(),
            "last_errors": list(self.last_errors),
            "heartbeat": time.time(),
            **this_process(),
            **more,
        }
        write_json(self.run_dir.status, status)

    def _end(self, stop: _Stop) -> events.Ended:
        self._write_status(stop.state, error=stop.reason, failed_run_id=stop.run_id)
        elapsed = time.monotonic() - self.started
        ended = events.Ended(
            stop.state, self.completed, self.total, dict(self.counts), elapsed, stop.reason, stop.run_id
        )
        self.emit(ended)
        return ended


def _open(settings: RunSettings) -> Engine:
    if settings.data_parallel == 1:
        return load_engine(settings.engine, settings.model, settings.options)
    if settings.latency:
        raise EngineError("--latency times one request at a time; leave out --data-parallel")
    return ParallelEngine(settings.engine, settings.model, settings.options, settings.data_parallel)


def _windows(entries: list[Entry], size: int, workers: int) -> Iterator[list[Entry]]:
    """Windows of at most `size` requests; towards the end smaller ones, so that no worker waits long for another."""
    start = 0
    while start < len(entries):
        share = -(-(len(entries) - start) // workers)
        taken = max(min(size, share), size // SMALLEST_WINDOW, 1)
        yield entries[start : start + taken]
        start += taken


def _ask(engine: Engine, requests: list[Request]) -> Iterator[_Batch]:
    """Hand a window to the engine; each of its groups, timed, until every request has come once.

    What the engine raises, or leaves out, becomes the error of all requests that are still open then.
    """
    open_positions = set(range(len(requests)))
    with closing(_groups(engine, requests)) as groups:
        while open_positions:
            clock = time.perf_counter()
            try:
                group = next(groups)
                positions = set(group.positions)
                if not positions <= open_positions or not len(positions) == len(group.positions) == len(group.outcomes):
                    raise RuntimeError("answer_window gave a group with positions that are not open, or not an outcome for each")
            except StopIteration:
                group = _failed(open_positions, RuntimeError("answer_window left requests of its window unanswered"))
            except Exception as error:
                group = _failed(open_positions, error)
            wall_ms = (time.perf_counter() - clock) * 1000 if group.wall_ms is None else group.wall_ms
            open_positions.difference_update(group.positions)
            yield _batch([requests[position] for position in group.positions], group.outcomes, wall_ms)


def _groups(engine: Engine, requests: list[Request]) -> Iterator[Group]:
    yield from engine.answer_window([(request.state, request.questions) for request in requests])


def _failed(positions: Iterable[int], error: Exception) -> Group:
    positions = list(positions)
    return Group(positions, [error] * len(positions))


def _batch(requests: list[Request], outcomes: Sequence[Outcome], wall_ms: float) -> _Batch:
    """Answers that break the wire format become errors; requests that met a device error get no result."""
    completed = utc_now()
    timing = Timing(completed - timedelta(milliseconds=wall_ms), completed, wall_ms, len(requests))
    outcomes = list(map(_valid, requests, outcomes))
    lost = [place for place, outcome in enumerate(outcomes) if is_device_error(outcome)]
    if not lost:
        return _Batch(requests, outcomes, timing)
    kept = [place for place in range(len(requests)) if place not in lost]
    fatal = _device_failure(requests[lost[0]], outcomes[lost[0]])
    return _Batch([requests[place] for place in kept], [outcomes[place] for place in kept], timing, fatal)


def _finished(batch: _Batch, settings: RunSettings) -> _Finished:
    lines, answers, errors = [], [], []
    for request, outcome in zip(batch.requests, batch.outcomes, strict=True):
        row = result_row(request, settings.engine, outcome, batch.timing, settings.compact)
        try:
            line = encode(row)
        except TypeError as error:  # an answer that JSON cannot hold
            row = result_row(request, settings.engine, error, batch.timing, settings.compact)
            line = encode(row)
        lines.append(line)
        answers.append(events.Answer(
            row["run_id"], row["catalog_id"], row["status"], row["total_wall_ms"], row["proxy_tokens"], row.get("error")
        ))
        if row["status"] == "error":
            errors.append({key: row[key] for key in ("run_id", "exception", "error", "completed_utc")})
    return _Finished(lines, answers, errors, batch.fatal)


def _device_failure(request: Request, error: Outcome) -> _Stop:
    reason = f"the device failed: {error}. Finished results are safe; run the same command to go on."
    return _Stop("failed", reason, request.run_id)


def _valid(request: Request, outcome: Outcome) -> Outcome:
    if isinstance(outcome, Answered):
        try:
            wire.validate(request.questions, outcome.response)
        except wire.InvalidResponse as error:
            return error
    return outcome
