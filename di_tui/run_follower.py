"""Follows a run directory that any process writes: reads what was appended, folds it, offers a snapshot. Knows no screen.

All reading happens in the follower's own thread, which never waits for whoever looks; the snapshot is only memory.
"""

import os
import threading
import time
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from di_tui.liveness import Writer, writer_of
from di_tui.monitor import Monitor, Snapshot
from di_tui.run_list import GONE
from engines import events
from engines.control import COMMANDS
from engines.results import ResultsError, parse_result
from engines.run_dir import RunDir, RunError, read_json
from suite_builder.errors import SuiteError

SECONDS_BETWEEN_LOOKS = 0.2
# A pause after each chunk lets the thread that draws take its turn.
CHUNK = 1 << 20
SECONDS_BETWEEN_CHUNKS = 0.001
KEPT_ERRORS = 200
ENDED = ("complete", "limited", "interrupted", "failed")


@dataclass(frozen=True)
class RequestError:
    """A request whose latest result is an error. `completed_utc` as written in the row."""

    run_id: str
    dataset: str
    completed_utc: str
    exception: str
    message: str
    traceback: str


@dataclass(frozen=True)
class FollowedRun:
    """A run directory at one moment.

    progress: what the results say so far; its `phase` is `starting`, `loading`, `running`, `paused`, how the run ended, or
    `gone` when its writer is no more though it never said so. areas: label of an area -> catalog ids, in the edition's order.
    read: share of the results file that is read, 1 when all is. asked: the command that waits in control.json.
    reason: why the run ended, or what is wrong with its files.
    """

    path: Path
    progress: Snapshot
    model: str | None = None
    edition: str | None = None
    partial: bool = False
    areas: tuple[tuple[str, tuple[int, ...]], ...] = ()
    errors: tuple[RequestError, ...] = ()
    read: float = 0.0
    writer: Writer | None = None
    heartbeat: float = 0.0
    asked: str = "run"
    reason: str | None = None
    skipped_lines: int = 0

    @property
    def live(self) -> bool:
        return bool(self.writer and self.writer.alive)

    @property
    def ended(self) -> bool:
        """Whether nothing more will come from the process that wrote this run."""
        return not self.live and self.progress.phase in (*ENDED, GONE)


class RunFollower:
    """Follows one run directory from `start()` to `stop()`. `look()` does one round, for who has no thread to spare."""

    def __init__(self, path: Path):
        self.run_dir = RunDir(path)
        self._results = self.run_dir.results
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="run-follower", daemon=True)
        self._environment: dict[str, Any] = {}
        self._status: dict[str, Any] = {}
        self._facts = FollowedRun(path, Monitor(time.time).snapshot())
        self._restart()

    def _restart(self) -> None:
        """Forget all results: they are read again from the start."""
        self._monitor = Monitor(time.time)
        self._position, self._file_id, self._lines, self._skipped, self._read = 0, None, 0, 0, 0.0
        # Run id -> what `take_back` needs. Tuples of plain values are no work for the garbage collector, which would stop the
        # drawing thread too: 150,000 objects take it a tenth of a second.
        self._latest: dict[str, tuple[int, str, int]] = {}
        self._errors: dict[str, RequestError] = {}
        self._known: set[int] = set()
        self._planned_for: int | None = None
        self._phase = "starting"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; returns at once."""
        self._stopped.set()

    def snapshot(self) -> FollowedRun:
        """The run as far as it is read, from any thread."""
        progress, total = self._monitor.snapshot(), self._status.get("total")
        if total and not progress.total:
            left = (total - progress.done) / progress.rate if progress.rate else None
            progress = replace(progress, total=total, eta=left)
        return replace(self._facts, progress=progress)

    def _follow(self) -> None:
        while not self._stopped.is_set():
            self.look()
            self._stopped.wait(SECONDS_BETWEEN_LOOKS)

    def look(self) -> None:
        """Read all that is new."""
        try:
            self._look()
        except (RunError, OSError) as error:
            self._facts = replace(self._facts, reason=str(error))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            reason = f"status.json or environment.json of {self.run_dir.path} is not what a run writes ({error!r})"
            self._facts = replace(self._facts, reason=reason)

    def _look(self) -> None:
        environment = _read_object(self.run_dir.environment)
        if environment.get("sessions") != self._environment.get("sessions"):
            self._restart()
        self._environment = environment
        self._status = _read_object(self.run_dir.status)
        self._begin()
        self._tell()
        while self._read_chunk() and not self._stopped.wait(SECONDS_BETWEEN_CHUNKS):
            self._tell()
        self._end_or_go_on()
        self._tell()
        self._plan()

    def _begin(self) -> None:
        if self._phase != "starting":
            return
        engine = self._environment.get("engine") or self._status.get("engine") or ""
        sessions = self._environment.get("sessions")
        if sessions:
            self._monitor.take(events.Ready(engine, 0.0, ()), _seconds(sessions[-1]["started_utc"]))
        elif engine:
            self._monitor.take(events.Loading(engine))

    def _end_or_go_on(self) -> None:
        """Turn the status and the state of its writer into the events that a live run would have sent."""
        writer = self._writer()
        phase = self._status.get("event", self._phase)
        if writer and not writer.alive:
            phase = GONE
        if phase == self._phase:
            return
        last_sign = self._status.get("heartbeat", time.time())
        if phase in (*ENDED, GONE):
            self._monitor.take(events.Ended(phase, 0, 0), last_sign)
        elif phase == "paused":
            self._monitor.take(events.Paused())
        elif phase == "loading":
            self._monitor.take(events.Loading(self._status.get("engine", "")))
        elif self._environment:
            self._monitor.take(events.Resumed())
        self._phase = phase

    def _writer(self) -> Writer | None:
        return writer_of(self.run_dir, self._status.get("heartbeat", 0.0))

    def _read_chunk(self) -> bool:
        """Fold in whole lines from where the last round ended; whether there is more to read at once."""
        try:
            file = self._results.open("rb")
        except FileNotFoundError:
            return False
        with file:
            state = _identity(file.fileno())
            if self._file_id not in (None, state[0]) or state[1] < self._position:
                self._restart()
                self._begin()
            self._file_id = state[0]
            file.seek(self._position)
            chunk = file.read(CHUNK)
            while chunk and b"\n" not in chunk:
                more = file.read(CHUNK)
                if not more:
                    break
                chunk += more
        whole = chunk[: chunk.rfind(b"\n") + 1]
        for line in whole.splitlines():
            self._lines += 1
            if line and not line.isspace():
                self._take(line)
        self._position += len(whole)
        more = bool(whole) and self._position < state[1]
        self._read = self._position / state[1] if more else 1.0
        return more

    def _take(self, line: bytes) -> None:
        try:
            row = parse_result(line, self._results, self._lines)
            answer, completed = _answer(row), _seconds(row["completed_utc"])
        except (ResultsError, KeyError, TypeError, ValueError):
            self._skipped += 1
            return
        if answer.catalog_id not in self._known:
            self._known.add(answer.catalog_id)
            self._monitor.plan([events.BenchmarkPlan(answer.catalog_id, row["dataset"], 0, 0, 0, 0)])
        earlier = self._latest.get(answer.run_id)
        if earlier:
            self._monitor.take_back(*earlier)
            self._errors.pop(answer.run_id, None)
        self._latest[answer.run_id] = (answer.catalog_id, answer.status, answer.proxy_tokens)
        self._monitor.take(answer, completed)
        if answer.status == "error":
            self._keep_error(row)

    def _keep_error(self, row: dict[str, Any]) -> None:
        self._errors[row["run_id"]] = RequestError(
            row["run_id"],
            row["dataset"],
            row["completed_utc"],
            row.get("exception") or "error",
            row.get("error") or "",
            row.get("traceback") or row.get("error") or "",
        )
        if len(self._errors) > KEPT_ERRORS:
            del self._errors[next(iter(self._errors))]

    def _plan(self) -> None:
        """Learn what the benchmarks have to do, once the results so far are read."""
        total = self._status.get("total")
        if not total or not self._environment or self._planned_for == total:
            return
        from di_tui.run_plan import planned

        self._planned_for = total
        benchmarks = planned(self._environment, self.run_dir.path, total, self._latest.keys())
        self._known |= {benchmark.catalog_id for benchmark in benchmarks}
        self._monitor.plan(benchmarks)

    def _tell(self) -> None:
        """Make the facts of the next snapshots."""
        environment, status = self._environment, self._status
        self._facts = FollowedRun(
            path=self.run_dir.path,
            progress=self._facts.progress,
            model=environment.get("model"),
            edition=environment.get("edition"),
            partial=bool(environment.get("partial_suite")),
            areas=_areas(environment.get("edition")),
            errors=tuple(reversed(self._errors.values())),
            read=self._read,
            writer=self._writer(),
            heartbeat=status.get("heartbeat", 0.0),
            asked=self._asked(),
            reason=status.get("error"),
            skipped_lines=self._skipped,
        )

    def _asked(self) -> str:
        command = _read_object(self.run_dir.control).get("command")
        return command if command in COMMANDS else "run"


def _read_object(path: Path) -> dict[str, Any]:
    """Content of a JSON file that holds an object; empty when there is none.

    Raises:
        RunError: it holds something else.
    """
    content = read_json(path)
    if not isinstance(content, dict | None):
        raise RunError(f"{path} is no JSON object; delete it or restore it")
    return content or {}


def _answer(row: dict[str, Any]) -> events.Answer:
    return events.Answer(
        row["run_id"], row["catalog_id"], row["status"], row["total_wall_ms"], row.get("proxy_tokens", 0), row.get("error")
    )


def _seconds(iso_time: str) -> float:
    """Seconds since the epoch of a time as result rows have it."""
    return datetime.fromisoformat(iso_time).timestamp()


def _identity(descriptor: int) -> tuple[tuple[int, int], int]:
    """What tells an open file from one that took its name, and its size in bytes."""
    state = os.fstat(descriptor)
    return (state.st_dev, state.st_ino), state.st_size


@cache
def _areas(edition: str | None) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Label -> catalog ids of an edition's areas; empty for an edition that nobody knows."""
    from scoring.editions import edition as find_edition

    try:
        found = find_edition(edition)
    except SuiteError:
        return ()
    return tuple((area.label or area.id.capitalize(), area.benchmarks) for area in found.areas)
