import time

import pytest

from di_tui.display.run import duration, latency
from di_tui.monitor import LatencyHistogram, Monitor, RateHistory
from engines import events


def plan(catalog_id, requests, finished=0, tokens_each=10):
    return events.BenchmarkPlan(catalog_id, str(catalog_id), requests, finished, requests * tokens_each, finished * tokens_each)


def answer(catalog_id=1, status="ok", wall_ms=10.0, tokens=10, error=None):
    return events.Answer("id", catalog_id, status, wall_ms, tokens, error)


def test_counts_and_totals_include_what_earlier_sessions_did():
    monitor = Monitor()
    monitor.take(events.Loading("lexical"))
    assert monitor.snapshot().phase == "loading"
    monitor.take(events.Ready("lexical", 0.1, (plan(1, 10, finished=4), plan(2, 5))))
    monitor.take(answer())
    monitor.take(answer(2, "error", error="oops"))
    snapshot = monitor.snapshot()
    assert (snapshot.done, snapshot.total, snapshot.counts) == (6, 15, {"ok": 1, "error": 1})
    assert snapshot.last_error == "oops"
    assert snapshot.share == pytest.approx(6 / 15)
    monitor.take(events.Paused())
    assert monitor.snapshot().phase == "paused"
    monitor.take(events.Ended("complete", 15, 15))
    assert monitor.snapshot().phase == "complete"


def test_time_left_goes_by_work_not_by_request_count(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monitor = Monitor()
    monitor.take(events.Ready("e", 0.0, (plan(1, 2, tokens_each=10), plan(2, 2, tokens_each=1000))))
    assert monitor.snapshot().eta is None
    monitor.take(answer(1, wall_ms=100.0, tokens=10))
    monitor.take(answer(2, wall_ms=900.0, tokens=1000))
    clock[0] += 1.0
    # One of each took 1 s of engine time in 1 s; the other one of each will take as long.
    assert monitor.snapshot().eta == pytest.approx(1.0)
    monitor.take(answer(2, wall_ms=900.0, tokens=1000))
    clock[0] += 0.9
    assert monitor.snapshot().eta == pytest.approx(0.1)


def test_time_left_does_not_grow_in_a_pause():
    clock = [0.0]
    monitor = Monitor(clock=lambda: clock[0])
    monitor.take(events.Ready("e", 0.0, (plan(1, 2),)))
    clock[0] = 1.0
    monitor.take(answer(wall_ms=1000.0))
    monitor.take(events.Paused())
    clock[0] = 100.0
    assert monitor.snapshot().eta == pytest.approx(1.0)
    monitor.take(events.Resumed())
    clock[0] = 101.0
    assert monitor.snapshot().eta == pytest.approx(2.0)


def test_quantiles_are_right_to_two_percent():
    histogram = LatencyHistogram()
    assert histogram.quantile(0.5) is None
    for value in range(1, 1001):
        histogram.add(float(value))
    assert histogram.quantile(0.5) == pytest.approx(500, rel=0.02)
    assert histogram.quantile(0.95) == pytest.approx(950, rel=0.02)


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "–"), (0.84, "0.8s"), (250, "4m 10s"), (6720, "1h 52m"), (59.94, "59.9s"), (3599.6, "1h 00m")]
)
def test_durations_are_short(seconds, text):
    assert duration(seconds) == text


def test_latencies_are_short():
    assert [latency(value) for value in (None, 0.123, 71.4, 1240)] == ["–", "0.12 ms", "71 ms", "1,240 ms"]


def test_events_of_the_past_count_at_their_time():
    monitor = Monitor(clock=lambda: 1000.0)
    monitor.take(events.Ready("e", 0.0, (plan(1, 200),)), at=900.0)
    for second in range(100):
        monitor.take(answer(), at=900.0 + second)
    live = monitor.snapshot()
    assert (live.elapsed, live.rate) == (100.0, pytest.approx(30 / 30))
    assert live.benchmarks[0].rate == live.rate
    monitor.take(events.Ended("failed", 100, 200), at=950.0)
    over = monitor.snapshot()
    assert (over.phase, over.elapsed, over.rate) == ("failed", 50.0, 2.0)


def test_what_earlier_sessions_did_is_no_rate_of_this_one():
    monitor = Monitor(clock=lambda: 1010.0)
    monitor.take(events.Ready("e", 0.0, ()), at=1000.0)
    monitor.plan([plan(1, 0)])
    monitor.take(answer(), at=500.0)
    monitor.take(answer(), at=1005.0)
    snapshot = monitor.snapshot()
    assert (snapshot.done, snapshot.total, sum(snapshot.history)) == (2, 0, 1.0)
    monitor.plan([plan(1, 10)])
    assert (monitor.snapshot().done, monitor.snapshot().total) == (2, 10)


def test_a_replaced_answer_is_counted_once():
    monitor = Monitor()
    monitor.take(events.Ready("e", 0.0, (plan(1, 2),)))
    monitor.take(answer(status="error", error="oops"))
    monitor.take_back(1, "error", 10)
    monitor.take(answer())
    snapshot = monitor.snapshot()
    assert (snapshot.done, snapshot.counts["error"], snapshot.counts["ok"]) == (1, 0, 1)


@pytest.mark.parametrize("seconds", [1, 50, 500, 50_000])
def test_a_rate_history_stays_small_and_loses_nothing(seconds):
    history = RateHistory()
    for second in range(seconds):
        history.add(float(second))
    rates = history.rates(float(seconds))
    assert len(rates) <= 120
    assert set(rates[: seconds // int(history.bin_seconds)]) == {1.0}


def test_a_silent_end_shows_in_the_history():
    history = RateHistory()
    history.add(0.5)
    assert history.rates(5.0) == (1.0, 0.0, 0.0, 0.0, 0.0)
