"""Folds the events of a run into one snapshot: counts, rates, latencies, time left. Imports no display."""

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from engines import events

RATE_WINDOW_SECONDS = 30.0
LATENCY_STEP = 1.02
LOG_STEP = math.log(LATENCY_STEP)
HISTORY_BINS = 120


class LatencyHistogram:
    """Quantiles of any number of latencies in constant memory, exact to 2 percent (buckets grow by that factor)."""

    def __init__(self) -> None:
        self._buckets: Counter[int] = Counter()
        self.total_ms = 0.0

    def add(self, milliseconds: float) -> None:
        self.total_ms += milliseconds
        self._buckets[round(math.log(max(milliseconds, 1e-3)) / LOG_STEP)] += 1

    def quantile(self, share: float) -> float | None:
        """The latency in ms below which `share` of all lie; None when there are none."""
        wanted = share * (self._buckets.total() - 1)
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen > wanted:
                return LATENCY_STEP**bucket
        return None


class RateHistory:
    """How many answers came when, over a whole session in constant memory: bins of equal width, which doubles when they
    would become more than HISTORY_BINS."""

    def __init__(self) -> None:
        self._bins: list[int] = []
        self.bin_seconds = 1.0

    def add(self, seconds: float) -> None:
        """Count one answer at so many seconds after the start."""
        place = int(seconds / self.bin_seconds)
        while place >= HISTORY_BINS:
            self._bins = [sum(self._bins[start : start + 2]) for start in range(0, len(self._bins), 2)]
            self.bin_seconds *= 2
            place = int(seconds / self.bin_seconds)
        self._bins.extend([0] * (place + 1 - len(self._bins)))
        self._bins[place] += 1

    def rates(self, elapsed: float) -> tuple[float, ...]:
        """Answers a second in every bin that is over after `elapsed` seconds; of a single unfinished one the rate so far."""
        over = max(int(elapsed / self.bin_seconds), 1)
        width = min(self.bin_seconds, elapsed) or 1.0
        padded = self._bins[:over] + [0] * (min(over, HISTORY_BINS) - len(self._bins))
        return tuple(count / width for count in padded)


@dataclass
class BenchmarkProgress:
    """What one benchmark has done in this run. done_tokens: proxy tokens of all that is done. asked_tokens: of the requests
    whose answers were seen, and so timed. session_answers: answers since the engine was ready."""

    plan: events.BenchmarkPlan
    done: int = 0
    done_tokens: int = 0
    asked_tokens: int = 0
    session_answers: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    latency: LatencyHistogram = field(default_factory=LatencyHistogram)


@dataclass(frozen=True)
class BenchmarkSnapshot:
    """One benchmark at one moment. `total` is 0 where the plan is not known."""

    catalog_id: int
    dataset: str
    done: int
    total: int
    counts: dict[str, int]
    rate: float
    median_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True)
class Snapshot:
    """A run at one moment. Rates are per second, times in seconds, latencies in ms; None where nothing is known yet.

    rate: of the last 30 seconds; of the whole session once it has ended. history: rates over the session, oldest first.
    """

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
    history: tuple[float, ...] = ()
    benchmarks: tuple[BenchmarkSnapshot, ...] = ()

    @property
    def share(self) -> float:
        return self.done / self.total if self.total else 0.0


class Monitor:
    """Takes the events of one run from any thread; `snapshot()` may be asked from any other.

    Args:
        clock: seconds, of which the `at` of an event is a value; by default the monotonic clock, for events as they happen.
    """

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock or time.monotonic
        self._lock = threading.Lock()
        self._phase = "starting"
        self._engine = ""
        self._benchmarks: dict[int, BenchmarkProgress] = {}
        self._counts: Counter[str] = Counter()
        self._latency = LatencyHistogram()
        self._recent: deque[tuple[float, int]] = deque()
        self._history = RateHistory()
        self._session_ms = 0.0
        self._ready_at: float | None = None
        self._ended_at: float | None = None
        self._paused_at: float | None = None
        self._paused_seconds = 0.0
        self._last_error: str | None = None

    def take(self, event: events.Event, at: float | None = None) -> None:
        """Fold one event in, which happened `at` that time of the clock (now, when not given)."""
        with self._lock:
            now = self._clock()
            moment = now if at is None else at
            match event:
                case events.Loading():
                    self._phase, self._engine, self._ended_at = "loading", event.engine, None
                case events.Ready():
                    self._begin(event, moment)
                case events.Answer():
                    self._answer(event, moment, now)
                case events.Paused():
                    self._phase, self._paused_at = "paused", moment
                case events.Resumed():
                    self._phase, self._paused_seconds, self._paused_at = "running", self._paused(moment), None
                case events.Ended():
                    self._phase, self._ended_at = event.state, moment

    def take_back(self, catalog_id: int, status: str, proxy_tokens: int) -> None:
        """Count a request as not done again, because its answer (an error) is replaced by a later one."""
        with self._lock:
            benchmark = self._benchmarks[catalog_id]
            benchmark.done -= 1
            benchmark.done_tokens -= proxy_tokens
            benchmark.counts[status] -= 1
            self._counts[status] -= 1

    def plan(self, benchmarks: Iterable[events.BenchmarkPlan]) -> None:
        """What benchmarks have to do, learnt late: what they have done stays."""
        with self._lock:
            for plan in benchmarks:
                self._benchmarks.setdefault(plan.catalog_id, BenchmarkProgress(plan)).plan = plan

    def _begin(self, event: events.Ready, moment: float) -> None:
        self._phase, self._engine, self._ready_at, self._ended_at = "running", event.engine, moment, None
        for plan in event.benchmarks:
            self._benchmarks[plan.catalog_id] = BenchmarkProgress(plan, plan.finished, plan.finished_proxy_tokens)

    def _answer(self, event: events.Answer, moment: float, now: float) -> None:
        benchmark = self._benchmarks[event.catalog_id]
        benchmark.done += 1
        benchmark.done_tokens += event.proxy_tokens
        benchmark.asked_tokens += event.proxy_tokens
        benchmark.counts[event.status] += 1
        benchmark.latency.add(event.wall_ms)
        self._counts[event.status] += 1
        self._latency.add(event.wall_ms)
        self._last_error = event.error if event.status == "error" else self._last_error
        if self._ready_at is not None and moment >= self._ready_at:
            benchmark.session_answers += 1
            self._session_ms += event.wall_ms
            self._history.add(moment - self._ready_at)
        if now - moment <= RATE_WINDOW_SECONDS:
            self._recent.append((moment, event.catalog_id))

    def snapshot(self) -> Snapshot:
        """The run as it is now."""
        with self._lock:
            now = self._clock() if self._ended_at is None else self._ended_at
            elapsed = max(now - self._ready_at, 0.0) if self._ready_at is not None else 0.0
            recent = self._count_recent(now)
            shown = tuple(self._shown(benchmark, recent, elapsed) for benchmark in self._benchmarks.values())
            return Snapshot(
                phase=self._phase,
                engine=self._engine,
                done=sum(benchmark.done for benchmark in shown),
                total=sum(benchmark.total for benchmark in shown),
                counts=dict(self._counts),
                rate=sum(benchmark.rate for benchmark in shown),
                elapsed=elapsed,
                eta=self._eta(elapsed - self._paused(now)),
                median_ms=self._latency.quantile(0.5),
                p95_ms=self._latency.quantile(0.95),
                last_error=self._last_error,
                history=self._history.rates(elapsed),
                benchmarks=shown,
            )

    def _shown(self, benchmark: BenchmarkProgress, recent: Counter[int], elapsed: float) -> BenchmarkSnapshot:
        plan = benchmark.plan
        over = self._ended_at is not None
        answers = benchmark.session_answers if over else recent[plan.catalog_id]
        seconds = elapsed if over else min(elapsed, RATE_WINDOW_SECONDS)
        return BenchmarkSnapshot(
            catalog_id=plan.catalog_id,
            dataset=plan.dataset,
            done=benchmark.done,
            total=plan.requests,
            counts=dict(benchmark.counts),
            rate=answers / seconds if seconds else 0.0,
            median_ms=benchmark.latency.quantile(0.5),
            p95_ms=benchmark.latency.quantile(0.95),
        )

    def _count_recent(self, now: float) -> Counter[int]:
        """Answers of the rate window by catalog id."""
        while self._recent and now - self._recent[0][0] > RATE_WINDOW_SECONDS:
            self._recent.popleft()
        return Counter(catalog_id for _moment, catalog_id in self._recent)

    def _paused(self, now: float) -> float:
        """Seconds of this session that were spent in pauses."""
        return self._paused_seconds + (now - self._paused_at if self._paused_at is not None else 0.0)

    def _eta(self, active: float) -> float | None:
        """Time left by work: requests differ a hundredfold in length, so each benchmark's seconds per proxy token count, and
        the mean of all where a benchmark has not been asked yet. `active`: seconds of the session outside pauses."""
        asked = sum(benchmark.asked_tokens for benchmark in self._benchmarks.values())
        if not asked or not self._session_ms:
            return None
        mean = self._latency.total_ms / asked
        left = sum(
            max(benchmark.plan.proxy_tokens - benchmark.done_tokens, 0)
            * (benchmark.latency.total_ms / benchmark.asked_tokens if benchmark.asked_tokens else mean)
            for benchmark in self._benchmarks.values()
        )
        return active * left / self._session_ms
