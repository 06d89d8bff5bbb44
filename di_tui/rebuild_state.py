"""Folds the events of a rebuild into one snapshot: stages by benchmark, bytes, rates, time left. Imports no widget."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from di_tui.display.rebuild import Traffic
from di_tui.rebuild_record import Began, Ended, Indexing, Paused, Recorded, Resumed
from suite_builder import events
from suite_builder.catalog import benchmarks

STAGES = ("sources", "normalize", "freeze")
RATE_WINDOW_SECONDS = 10.0


class LogLine(NamedTuple):
    """What happened to a benchmark, and when, in seconds since the epoch."""

    time: float
    stage: events.Stage


@dataclass(frozen=True)
class BenchmarkState:
    """One benchmark at one moment. stages: by name, the latest word of each. received, total: bytes of its sources, total 0
    where nothing is told. rate: bytes per second of the last seconds. log: its stages' events."""

    catalog_id: int
    stages: dict[str, events.Stage]
    received: int = 0
    total: int = 0
    rate: float = 0.0
    log: tuple[LogLine, ...] = ()

    @property
    def last(self) -> events.Stage:
        return next(reversed(self.stages.values()))

    @property
    def done(self) -> bool:
        return (self.last.stage, self.last.state) == ("freeze", "done")

    @property
    def failed(self) -> bool:
        return self.last.state == "failed"

    @property
    def kept(self) -> bool:
        """Whether it is the block of an earlier rebuild."""
        return self.done and self.last.unchanged

    @property
    def running(self) -> bool:
        return self.last.state == "running" or (self.last.state == "done" and not self.done)

    @property
    def share(self) -> float:
        """How far it is, from 0 to 1; what failed has to begin again."""
        if self.done or self.failed:
            return float(self.done)
        arrived = self.received / self.total if self.total else 0.0
        ended = sum(stage.state == "done" for stage in self.stages.values())
        return (ended + (arrived if self.last.stage == "sources" and not ended else 0.0)) / len(STAGES)

    @property
    def seconds(self) -> float:
        """Time that its stages took."""
        return sum(stage.seconds or 0.0 for stage in self.stages.values())


@dataclass(frozen=True)
class Rebuild:
    """A rebuild at one moment.

    phase: `starting`, `running`, `paused`, `indexing`, how it ended, or `gone` when its process is no more though it never
    said so. asked: the command that waits in the control file. received, total: bytes of all sources. rate: bytes per second.
    eta: seconds left, None where nothing is known yet. alive: whether its process is there.
    """

    phase: str = "starting"
    began: Began | None = None
    benchmarks: tuple[BenchmarkState, ...] = ()
    received: int = 0
    total: int = 0
    rate: float = 0.0
    elapsed: float = 0.0
    eta: float | None = None
    written: events.Written | None = None
    reason: str | None = None
    asked: str = "run"
    alive: bool = False

    @property
    def done(self) -> int:
        return sum(benchmark.done for benchmark in self.benchmarks)

    @property
    def failed(self) -> tuple[BenchmarkState, ...]:
        return tuple(benchmark for benchmark in self.benchmarks if benchmark.failed)

    @property
    def share(self) -> float:
        count = len(self.benchmarks)
        return sum(benchmark.share for benchmark in self.benchmarks) / count if count else 0.0

    def record(self) -> dict[str, Any]:
        """What a progress line says of it."""
        return {
            "done": self.done,
            "failed": {str(one.catalog_id): one.last.reason for one in self.failed},
            "benchmarks": len(self.benchmarks),
            "received": self.received,
            "to_receive": self.total,
            "bytes_per_second": round(self.rate),
            "eta_seconds": None if self.eta is None else round(self.eta, 1),
            "error": self.reason,
        }

    def benchmark(self, catalog_id: int) -> BenchmarkState | None:
        return next((one for one in self.benchmarks if one.catalog_id == catalog_id), None)


@dataclass
class RebuildState:
    """Takes the events of one rebuild in their order; `snapshot()` is what they come to. Times are seconds since the epoch."""

    phase: str = "starting"
    began: Began | None = None
    stages: dict[int, dict[str, events.Stage]] = field(default_factory=dict)
    log: dict[int, list[LogLine]] = field(default_factory=dict)
    traffic: Traffic = field(default_factory=Traffic)
    recent: deque[tuple[float, int, int]] = field(default_factory=deque)
    written: events.Written | None = None
    reason: str | None = None
    began_at: float = 0.0
    ended_at: float | None = None
    paused_at: float | None = None
    paused_seconds: float = 0.0

    def take(self, recorded: Recorded) -> None:
        """Fold one event in."""
        at, event = recorded
        match event:
            case Began():
                self.began, self.began_at, self.phase = event, at, "running"
            case events.Stage():
                self.stages.setdefault(event.catalog_id, {})[event.stage] = event
                self.log.setdefault(event.catalog_id, []).append(LogLine(at, event))
            case events.Planned():
                self.traffic.coming |= event.download
            case events.Download():
                self._download(event, at)
            case Paused():
                self.phase, self.paused_at = "paused", at
            case Resumed() if self.paused_at is not None:
                self.phase, self.paused_seconds, self.paused_at = "running", self._paused(at), None
            case Indexing():
                self.phase = "indexing"
            case events.Written():
                self.written = event
            case Ended():
                self.phase, self.reason, self.ended_at = event.state, event.reason, at

    def _download(self, event: events.Download, at: float) -> None:
        known = event.path in self.traffic.files.get(event.catalog_id, ())
        before = self.traffic.received(event.catalog_id)
        self.traffic.take(event)
        if known:  # else it is what an earlier rebuild had received
            self.recent.append((at, event.catalog_id, max(self.traffic.received(event.catalog_id) - before, 0)))

    def _paused(self, now: float) -> float:
        return self.paused_seconds + (now - self.paused_at if self.paused_at is not None else 0.0)

    def snapshot(self, now: float) -> Rebuild:
        """The rebuild as it is at a time."""
        now = now if self.ended_at is None else self.ended_at
        while self.recent and now - self.recent[0][0] > RATE_WINDOW_SECONDS:
            self.recent.popleft()
        active = max(now - self.began_at - self._paused(now), 0.0) if self.began else 0.0
        shown = tuple(self._shown(catalog_id, active) for catalog_id in self.stages)
        # Files of which no size was known beforehand count once they arrive; benchmarks without a download count for nothing.
        loading = self.traffic.coming.keys() | self.traffic.files.keys()
        received = sum(map(self.traffic.received, loading))
        total = sum(map(self.traffic.total, loading))
        rate = sum(benchmark.rate for benchmark in shown)
        return Rebuild(
            phase=self.phase,
            began=self.began,
            benchmarks=shown,
            received=received,
            total=total,
            rate=rate,
            elapsed=max(now - self.began_at, 0.0) if self.began else 0.0,
            eta=_eta(shown, active, total - received, rate),
            written=self.written,
            reason=self.reason,
        )

    def _shown(self, catalog_id: int, active: float) -> BenchmarkState:
        window = min(active, RATE_WINDOW_SECONDS)
        arrived = sum(size for _at, key, size in self.recent if key == catalog_id)
        return BenchmarkState(
            catalog_id,
            dict(self.stages[catalog_id]),
            self.traffic.received(catalog_id),
            self.traffic.total(catalog_id),
            arrived / window if window else 0.0,
            tuple(self.log[catalog_id]),
        )


def _eta(shown: Iterable[BenchmarkState], active: float, to_come: int, rate: float) -> float | None:
    """Time left: that of the downloads or that of the rows, whichever is longer, as far as known."""
    made = sum(benchmarks()[one.catalog_id].requests for one in shown if one.done and not one.kept)
    left = sum(benchmarks()[one.catalog_id].requests for one in shown if not one.done and not one.failed)
    if not left:
        return 0.0
    known = [to_come / rate] if to_come > 0 and rate else []
    if made:
        known.append(active * left / made)
    return max(known, default=None)


def fold(record: Iterable[Recorded]) -> RebuildState:
    """The state that events come to."""
    state = RebuildState()
    for recorded in record:
        state.take(recorded)
    return state


