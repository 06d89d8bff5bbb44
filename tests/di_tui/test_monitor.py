import time

import pytest

from di_tui.display.run import duration, latency
from di_tui.monitor import LatencyHistogram, Monitor
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
