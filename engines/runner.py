"""The run job: drive an engine through a suite in worker threads, checkpoint every result, resume what is left.

Worker threads take batches of the plan and call the engine; the calling thread alone writes files, tells events and looks
at the control file. It knows nothing of screens: whoever wants to see a run passes `emit` or reads the run directory.
"""

import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from engines import events, wire
from engines.base import Answered, Engine, EngineError, Outcome, is_device_error, load_engine
from engines.control import Control, ControlFile
from engines.environment import check_same_engine, check_same_identity, environment, identity_of
from engines.error_watch import ErrorWatch
from engines.plan import Entry, plan, shares
from engines.results import Checkpoint, ResultsError, Timing, encode, result_row, utc_now
from engines.run_dir import RunDir, RunError, RunLock, this_process, write_json
from suite_builder.errors import SuiteError
from suite_builder.row_index import RowIndex
from suite_builder.rows import Request
from suite_builder.suite import Suite

UNWRITTEN_BATCHES = 256
SECONDS_BETWEEN_STATUS = 1.0
LAST_ERRORS = 20


@dataclass(frozen=True)
class RunSettings:
    """How to run. `engine`, `model` and `options` as on the command line.

    limit: only the first so many requests of the plan. compact: results without payload and raw output. fresh: move an
    earlier run aside and start anew. order: see plan.py. verify: refuse rows that are not those that the suite's edition or
    manifest names. stop_after_errors: so many errors in a row end the run.
    stop_timeout: seconds that an engine gets to finish its batches after a stop.
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


@dataclass(frozen=True)
class _Stop:
    """How a run ends (a state of `events.Ended`), why, and at which request that showed."""

    state: str
    reason: str | None = None
    run_id: str | None = None


@dataclass(frozen=True)
class _Batch:
    """What one engine call gave; `fatal` is what ended the worker after it."""

    requests: list[Request]
    outcomes: list[Outcome]
    timing: Timing | None = None
    fatal: _Stop | None = None


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
        self.finished_batches: queue.Queue[_Batch] = queue.Queue(UNWRITTEN_BATCHES)
        self.counts: Counter[str] = Counter()
        self.last_errors: deque[dict[str, Any]] = deque(maxlen=LAST_ERRORS)
        self.completed = self.total = 0
        self.started = time.monotonic()
        self.status_written = 0.0
        self.paused = False
        self.phase = "loading"

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
            entries = plan(self.suite, index, self.settings.order, self.settings.with_excluded)
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
        self._write_status("ready")
        return self._drive(engine, index, checkpoint, open_entries)

    def _load(self) -> tuple[Engine | None, float]:
        """Load and warm up in a thread of its own, so that the heartbeat goes on and a stop is heard."""
        began = time.monotonic()
        loaded: queue.SimpleQueue[Engine | BaseException] = queue.SimpleQueue()

        def load() -> None:
            try:
                engine = load_engine(self.settings.engine, self.settings.model, self.settings.options)
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
        batches = _batches(entries, engine.batch_size)
        lock = threading.Lock()
        workers = [
            threading.Thread(target=self._work, args=(engine, index, batches, lock), name=f"engine-{n}", daemon=True)
            for n in range(engine.concurrency)
        ]
        for worker in workers:
            worker.start()
        fatal = self._collect(engine, workers, checkpoint)
        if not any(worker.is_alive() for worker in workers):
            engine.close()
        if fatal:
            return fatal
        if self.completed < self.total and self.control.stop_reason:
            return _Stop("interrupted", self.control.stop_reason)
        return None

    def _work(self, engine: Engine, index: RowIndex, batches: Iterator[list[Entry]], lock: threading.Lock) -> None:
        while self.control.proceed():
            with lock:
                entries = next(batches, None)
            if entries is None:
                return
            batch = self._answer(engine, index, entries)
            if batch.fatal:
                self.control.stop(batch.fatal.reason)
            self.finished_batches.put(batch)

    def _answer(self, engine: Engine, index: RowIndex, entries: list[Entry]) -> _Batch:
        try:
            batch = _ask(engine, [index.request(entry.position) for entry in entries])
        except Exception as error:
            return _Batch([], [], fatal=_Stop("failed", f"{type(error).__name__}: {error}", entries[0].run_id))
        too_many = self.error_watch.take(batch.outcomes)
        if too_many and not batch.fatal:
            return replace(batch, fatal=_Stop("failed", too_many, batch.requests[-1].run_id))
        return batch

    def _collect(self, engine: Engine, workers: list[threading.Thread], checkpoint: Checkpoint) -> _Stop | None:
        """Write what the workers give until they are done; returns what made the run fail, if anything did."""
        fatal: _Stop | None = None
        stopped_at: float | None = None
        while True:
            done = not any(worker.is_alive() for worker in workers)
            batches = self._take_batches(wait=not done)
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

    def _take_batches(self, wait: bool) -> list[_Batch]:
        """Everything that is finished by now; waits a moment for a first one."""
        batches = []
        try:
            batches.append(self.finished_batches.get(wait, 0.1))
            while True:
                batches.append(self.finished_batches.get_nowait())
        except queue.Empty:
            return batches

    def _record(self, batches: list[_Batch], checkpoint: Checkpoint) -> _Stop | None:
        rows = [
            result_row(request, self.settings.engine, outcome, batch.timing, self.settings.compact)
            for batch in batches
            for request, outcome in zip(batch.requests, batch.outcomes, strict=True)
        ]
        if rows:
            checkpoint.append([encode(row) for row in rows])
        for row in rows:
            self._count(row)
        return next((batch.fatal for batch in batches if batch.fatal), None)

    def _count(self, row: dict[str, Any]) -> None:
        status = row["status"]
        self.counts[status] += 1
        self.completed += 1
        if status == "error":
            self.last_errors.append({key: row[key] for key in ("run_id", "exception", "error", "completed_utc")})
        self.emit(events.Answer(
            row["run_id"], row["catalog_id"], status, row["total_wall_ms"], row["proxy_tokens"], row.get("error")
        ))

    def _tick(self) -> None:
        """What has to happen now and then: commands, pause events, heartbeat."""
        self.control_file.look()
        if self.control.paused != self.paused:
            self.paused = self.control.paused
            self.emit(events.Paused() if self.paused else events.Resumed())
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


def _batches(entries: list[Entry], size: int) -> Iterator[list[Entry]]:
    for start in range(0, len(entries), size):
        yield entries[start : start + size]


def _ask(engine: Engine, requests: list[Request]) -> _Batch:
    """One engine call, timed. Answers that break the wire format become errors; requests that met a device error get no
    result."""
    started, clock = utc_now(), time.perf_counter()
    try:
        outcomes = engine.answer_many([(request.state, request.questions) for request in requests])
        if len(outcomes) != len(requests):
            raise RuntimeError(f"answer_many gave {len(outcomes)} outcomes for {len(requests)} requests")
    except Exception as error:
        outcomes = [error] * len(requests)
    wall_ms = (time.perf_counter() - clock) * 1000
    timing = Timing(started, utc_now(), wall_ms, len(requests))
    pairs = [(request, _valid(request, outcome)) for request, outcome in zip(requests, outcomes, strict=True)]
    kept = [(request, outcome) for request, outcome in pairs if not is_device_error(outcome)]
    fatal = next((_device_failure(*pair) for pair in pairs if is_device_error(pair[1])), None)
    return _Batch([request for request, _ in kept], [outcome for _, outcome in kept], timing, fatal)


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
