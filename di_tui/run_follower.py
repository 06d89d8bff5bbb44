"""Follows a run directory that any process writes: reads what was appended, folds it, offers a snapshot. Knows no screen.

All reading happens in the follower's own thread, which never waits for whoever looks; the snapshot is only memory.
"""

import math
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import MsgspecError, Struct, convert
from msgspec.json import Decoder

from di_tui.line_tail import LineTail
from di_tui.liveness import Writer, writer_of
from di_tui.monitor import Monitor, Snapshot
from di_tui.run_list import GONE
from engines import events
from engines.control import COMMANDS
from engines.results import STATUSES, ResultsError, read_result
from engines.run_dir import RunDir, RunError, read_json
from suite_builder.errors import SuiteError

if TYPE_CHECKING:
    from di_tui.run_plan import RunRows
    from di_tui.running_score import RunningScore

SECONDS_BETWEEN_LOOKS = 0.25
# A pause after each chunk lets the thread that draws take its turn.
SECONDS_BETWEEN_CHUNKS = 0.001
KEPT_ERRORS = 200
ENDED = ("complete", "limited", "interrupted", "failed")


class _Result(Struct, gc=False):
    """What is read of a result row; the rest of its line makes no objects."""

    run_id: str
    catalog_id: int
    dataset: str
    status: Literal[STATUSES]
    completed_utc: str
    total_wall_ms: float
    proxy_tokens: float | None = None
    response: Any = None
    error: str | None = None
    exception: str | None = None
    traceback: str | None = None


_decode = Decoder(_Result).decode


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
    read: share of the results file that is read, 1 when all is. pid: of the process that wrote status.json.
    asked: the command that waits in control.json. reason: why the run ended, or what is wrong with its files.
    right: catalog id -> share of the answers so far that are right, where that means something.
    devices, throughput: what the live engine tells (see device_facts.py and Engine.live).
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
    pid: int | None = None
    heartbeat: float = 0.0
    asked: str = "run"
    reason: str | None = None
    skipped_lines: int = 0
    right: Mapping[int, float] = field(default_factory=dict)
    devices: tuple[Mapping[str, Any], ...] = ()
    throughput: Mapping[str, float] = field(default_factory=dict)

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
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="run-follower", daemon=True)
        self._environment: dict[str, Any] = {}
        self._status: dict[str, Any] = {}
        self._facts = FollowedRun(path, Monitor(time.time).snapshot())
        self._rows: RunRows | None = None
        self._restart()

    def _restart(self, tail: LineTail | None = None) -> None:
        """Forget all results: they are read again from the start, or from where `tail` is."""
        self._monitor = Monitor(time.time)
        self._tail = tail or LineTail(self.run_dir.results)
        self._skipped = 0
        # Run id -> benchmark, status, proxy tokens, right and asked answers. Tuples of plain values are no work for the garbage
        # collector, which would stop the drawing thread too: 150,000 objects take it a tenth of a second.
        self._latest: dict[str, tuple[int, str, int, int, int]] = {}
        self._errors: dict[str, RequestError] = {}
        self._known: set[int] = set()
        self._score: RunningScore | None = None
        self._first: dict[str, Any] = {}  # run id -> response, until the rows are open
        self._looked_for_rows = False
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
        if total and total != progress.total:  # no plan yet, or that of an earlier session with another limit
            left = (total - progress.done) / progress.rate if progress.rate else None
            progress = replace(progress, total=total, eta=left)
        return replace(self._facts, progress=progress)

    def _follow(self) -> None:
        while not self._stopped.is_set():
            self.look()
            self._stopped.wait(SECONDS_BETWEEN_LOOKS)
        self.close()

    def close(self) -> None:
        """Let the run's rows go; the follower's own thread does it when it ends."""
        if self._rows:
            self._rows.close()
            self._rows = None

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
        more = True
        while more:
            more = self._read_chunk()
            self._end_or_go_on()
            self._tell()
            self._find_rows()
            if self._stopped.wait(SECONDS_BETWEEN_CHUNKS if more else 0):
                return
        self._plan()
        self._tell()

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

    def _find_rows(self) -> None:
        """Open the rows of the run, once it says which they are; answers are held against them as they come."""
        if self._looked_for_rows or not self._environment:
            return
        from di_tui.run_plan import RunRows
        from di_tui.running_score import RunningScore

        self._looked_for_rows = True
        self.close()
        self._rows = RunRows.find(self._environment, self.run_dir.path)
        if self._rows:
            self._score = RunningScore(self._rows.index)
            self._judge_first()

    def _judge_first(self) -> None:
        """Hold against the rows what was read before they were opened, so that something is on the screen meanwhile."""
        for run_id, response in self._first.items():
            catalog_id, status, proxy_tokens, *_nothing = self._latest[run_id]
            self._latest[run_id] = (catalog_id, status, proxy_tokens, *self._judge(run_id, catalog_id, response))
        self._first.clear()

    def _judge(self, run_id: str, catalog_id: int, response: Any) -> tuple[int, int]:
        """Count how many answers of a result are right; returns that and how many there should be."""
        if self._score is None:
            if self._environment and not self._looked_for_rows:
                self._first[run_id] = response
            return 0, 0
        right, asked = self._score.judge(run_id, catalog_id, response)
        self._score.add(catalog_id, right, asked)
        return right, asked

    def _read_chunk(self) -> bool:
        """Fold in whole lines from where the last round ended; whether there is more to read at once."""
        lines, anew, more = self._tail.next()
        if anew:
            self._restart(self._tail)
            self._begin()
        results = self.run_dir.results
        for line in lines:
            if line and not line.isspace():
                self._take(line, results)
        return more

    def _take(self, line: bytes, results: Path) -> None:
        try:
            row = _read(line, results)
            answer, completed = _answer(row), _seconds(row.completed_utc)
        except (ResultsError, MsgspecError, ValueError):
            self._skipped += 1
            return
        if answer.catalog_id not in self._known:
            self._known.add(answer.catalog_id)
            self._monitor.plan([events.BenchmarkPlan(answer.catalog_id, row.dataset, 0, 0, 0, 0)])
        if earlier := self._latest.get(answer.run_id):
            self._take_back(answer.run_id, *earlier)
        judged = self._judge(answer.run_id, answer.catalog_id, row.response)
        self._latest[answer.run_id] = (answer.catalog_id, answer.status, answer.proxy_tokens, *judged)
        self._monitor.take(answer, completed)
        if answer.status == "error":
            self._keep_error(row)

    def _take_back(self, run_id: str, catalog_id: int, status: str, proxy_tokens: int, right: int, asked: int) -> None:
        """Forget an error that is replaced by a later answer."""
        self._monitor.take_back(catalog_id, status, proxy_tokens)
        self._errors.pop(run_id, None)
        if self._score:
            self._score.add(catalog_id, -right, -asked)

    def _keep_error(self, row: _Result) -> None:
        message = row.error or ""
        self._errors[row.run_id] = RequestError(
            row.run_id, row.dataset, row.completed_utc, row.exception or "error", message, row.traceback or message
        )
        if len(self._errors) > KEPT_ERRORS:
            del self._errors[next(iter(self._errors))]

    def _plan(self) -> None:
        """Learn what the benchmarks have to do, once the results so far are read."""
        total = self._status.get("total")
        if not total or not self._rows or self._planned_for == total:
            return
        self._planned_for = total
        benchmarks = self._rows.planned(total, self._latest.keys())
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
            read=self._tail.read,
            writer=self._writer(),
            pid=status.get("pid"),
            heartbeat=status.get("heartbeat", 0.0),
            asked=self._asked(),
            reason=status.get("error"),
            skipped_lines=self._skipped,
            right=self._score.shares() if self._score else {},
            devices=tuple(status.get("devices") or ()),
            throughput=status.get("throughput") or {},
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


def _read(line: bytes, path: Path) -> _Result:
    """Raises:
    ResultsError, MsgspecError: the line is not a result row, or lacks what is counted.
    """
    try:
        return _decode(line)
    except MsgspecError:
        return convert(read_result(line, path, 0), _Result)


def _answer(row: _Result) -> events.Answer:
    """Raises:
    ValueError: what is counted is no number.
    """
    tokens = row.proxy_tokens or 0
    if not math.isfinite(row.total_wall_ms) or not math.isfinite(tokens):
        raise ValueError(f"total_wall_ms is {row.total_wall_ms}, proxy_tokens {tokens}")
    return events.Answer(row.run_id, row.catalog_id, row.status, row.total_wall_ms, tokens, row.error)


def _seconds(iso_time: str) -> float:
    """Seconds since the epoch of a time as result rows have it."""
    return datetime.fromisoformat(iso_time).timestamp()


@cache
def _areas(edition: str | None) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Label -> catalog ids of an edition's areas; empty for an edition that nobody knows."""
    from scoring.editions import edition as find_edition

    try:
        found = find_edition(edition)
    except SuiteError:
        return ()
    return tuple((area.label or area.id.capitalize(), area.benchmarks) for area in found.areas)
