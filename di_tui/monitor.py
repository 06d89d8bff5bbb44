"""Folds the events of a run into one snapshot: counts, rates, latencies, time left. Imports no display."""

import math
import threading
import time
from collections import Counter, deque
from dataclasses import dataclass, field

from engines import events

RATE_WINDOW_SECONDS = 30.0
LATENCY_STEP = 1.02


class LatencyHistogram:
    """Quantiles of any number of latencies in constant memory, exact to 2 percent (buckets grow by that factor)."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self.total_ms = 0.0

    def add(self, milliseconds: float) -> None:
        self.total_ms += milliseconds
        self._buckets[round(math.log(max(milliseconds, 1e-3), LATENCY_STEP))] += 1

    def quantile(self, share: float) -> float | None:
        """The latency in ms below which `share` of all lie; None when there are none."""
        wanted = share * (self._buckets.total() - 1)
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen > wanted:
                return LATENCY_STEP**bucket
        return None


@dataclass
class BenchmarkProgress:
    """What one benchmark has done in this run. `asked_tokens` are the proxy tokens of the requests asked in this session."""

    plan: events.BenchmarkPlan
    done: int = 0
    open_tokens: int = 0
    asked_tokens: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment. Rates are per second, times in seconds, latencies in ms; None where nothing is known yet."""

    phase: str
    engine: str
    done: int
    total: int
    counts: dict[str, int]
    rate: float
    elapsed: float
    eta: float | None
    median_ms: float | None
    p95_ms: float | None
    last_error: str | None

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0


class Monitor:
    """Takes the events of one run from any thread; `snapshot()` may be asked from any other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._phase = "starting"
        self._engine = ""
        self._benchmarks: dict[int, BenchmarkProgress] = {}
        self._counts: Counter[str] = Counter()
        self._latency = LatencyHistogram()
        self._recent: deque[float] = deque()
        self._ready_at: float | None = None
        self._last_error: str | None = None

    def take(self, event: events.Event) -> None:
        """Fold one event in."""
        with self._lock:
            match event:
                case events.Loading():
                    self._phase, self._engine = "loading", event.engine
                case events.Ready():
                    self._begin(event)
                case events.Answer():
                    self._answer(event)
                case events.Paused():
                    self._phase = "paused"
                case events.Resumed():
                    self._phase = "running"
                case events.Ended():
                    self._phase = event.state

    def _begin(self, event: events.Ready) -> None:
        self._phase, self._engine, self._ready_at = "running", event.engine, time.monotonic()
        for plan in event.benchmarks:
            open_tokens = plan.proxy_tokens - plan.finished_proxy_tokens
            self._benchmarks[plan.catalog_id] = BenchmarkProgress(plan, plan.finished, open_tokens)

    def _answer(self, event: events.Answer) -> None:
        benchmark = self._benchmarks[event.catalog_id]
        benchmark.done += 1
        benchmark.open_tokens -= event.proxy_tokens
        benchmark.asked_tokens += event.proxy_tokens
        benchmark.counts[event.status] += 1
        benchmark.latency.add(event.wall_ms)
        self._counts[event.status] += 1
        self._latency.add(event.wall_ms)
        self._recent.append(time.monotonic())
        self._last_error = event.error if event.status == "error" else self._last_error

    def snapshot(self) -> Snapshot:
        """The run as it is now."""
        with self._lock:
            now = time.monotonic()
            elapsed = now - self._ready_at if self._ready_at else 0.0
            return Snapshot(
                phase=self._phase,
                engine=self._engine,
                done=sum(benchmark.done for benchmark in self._benchmarks.values()),
                total=sum(benchmark.plan.requests for benchmark in self._benchmarks.values()),
                counts=dict(self._counts),
                rate=self._rate(now, elapsed),
                elapsed=elapsed,
                eta=self._eta(elapsed),
                median_ms=self._latency.quantile(0.5),
                p95_ms=self._latency.quantile(0.95),
                last_error=self._last_error,
            )

    def _rate(self, now: float, elapsed: float) -> float:
        while self._recent and now - self._recent[0] > RATE_WINDOW_SECONDS:
            self._recent.popleft()
        window = min(elapsed, RATE_WINDOW_SECONDS)
        return len(self._recent) / window if window > 0 else 0.0

    def _eta(self, elapsed: float) -> float | None:
        """Time left by work: requests differ a hundredfold in length, so each benchmark's seconds per proxy token count, and
        the mean of all where a benchmark has not been asked yet."""
        asked = sum(benchmark.asked_tokens for benchmark in self._benchmarks.values())
        if not asked or not self._latency.total_ms:
            return None
        mean = self._latency.total_ms / asked
        left = sum(
            benchmark.open_tokens * (benchmark.latency.total_ms / benchmark.asked_tokens if benchmark.asked_tokens else mean)
            for benchmark in self._benchmarks.values()
        )
        return elapsed * left / self._latency.total_ms
