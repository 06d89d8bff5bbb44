"""Whole runs over HTTP: the embedded benchmark against a third-party server, which may die on the way."""

from collections import Counter
from urllib.parse import urlsplit

import pytest
from suites import read_final_results

from engines import events
from engines.base import EngineError
from engines.run_dir import RunDir
from engines.runner import RunSettings, run
from suite_builder.build import rebuild
from suite_builder.editions import edition
from suite_builder.suite import Suite


@pytest.fixture(scope="module")
def embedded(tmp_path_factory) -> Suite:
    folder = tmp_path_factory.mktemp("embedded")
    rebuild(folder / "work", folder / "suite", edition("0.2.1"), only=[9])
    return Suite.open(folder / "suite")


def settings(server, **options):
    return RunSettings("http", model="mock", options={"base_url": server.url, **options})


def test_a_server_answers_the_whole_embedded_benchmark(embedded, mock, tmp_path):
    ended = run(embedded, RunDir(tmp_path), settings(mock()))
    assert (ended.state, ended.counts) == ("complete", {"ok": 88})
    assert all(row["http_wall_ms"] > 0 for row in read_final_results(tmp_path / "results.jsonl").values())


def test_a_server_that_dies_leaves_errors_and_a_run_that_can_be_resumed(embedded, mock, tmp_path):
    server = mock()
    told = []

    def kill_after_twenty(event):
        told.append(event)
        if sum(isinstance(seen, events.Answer) for seen in told) == 20:
            server.process.kill()
            server.process.wait()

    ended = run(embedded, RunDir(tmp_path), settings(server, retries="0", concurrency="1"), kill_after_twenty)
    assert ended.state == "failed"
    assert "25 errors in a row, the last: cannot reach" in ended.reason and "is the server up?" in ended.reason
    assert ended.counts["ok"] >= 20 and ended.counts["error"] == 25
    statuses = Counter(row["status"] for row in read_final_results(tmp_path / "results.jsonl").values())
    assert statuses == ended.counts

    again = mock(port=urlsplit(server.url).port)
    resumed = run(embedded, RunDir(tmp_path), settings(again))
    assert (resumed.state, resumed.completed, resumed.total) == ("complete", 88, 88)
    assert resumed.counts == {"ok": 88 - statuses["ok"]}


def test_a_server_that_is_not_there_is_a_clear_error(embedded, mock, tmp_path):
    server = mock()
    server.process.kill()
    server.process.wait()
    with pytest.raises(EngineError, match="cannot reach .*is the server up?"):
        run(embedded, RunDir(tmp_path), settings(server, retries="0"))
