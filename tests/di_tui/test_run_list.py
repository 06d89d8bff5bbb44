import os
import shutil

import orjson
import pytest

from di_tui.run_list import find_runs, find_suites, read_run
from engines.run_dir import RunDir, this_process, write_json
from suite_builder.row_index import RowIndex


def test_a_finished_run_is_listed_with_what_made_it(finished_run, tmp_path):
    path = finished_run("random", name="nested/first")
    (listed,) = find_runs(tmp_path / "runs")
    assert (listed.path, listed.name, listed.engine, listed.edition) == (path, "nested/first", "random", "0.2.1")
    assert (listed.state, listed.live, listed.done, listed.total, listed.errors) == ("complete", False, 30, 30, 0)
    assert listed.index is None and orjson.dumps(listed.record())


def test_the_index_comes_from_the_last_scoring(finished_run):
    path = finished_run()
    write_json(path / "scores.json", {"decision_index": 41.25})
    assert read_run(path).index == 41.25


def test_live_runs_come_first_then_the_latest(finished_run, begin_run, tmp_path):
    for name, changed in (("old", 1000), ("new", 2000)):
        path = finished_run(name=name)
        for file in (RunDir(path).results, RunDir(path).status):
            os.utime(file, (changed, changed))
    begin_run(seconds="0.05", name="alive")
    runs = []
    while len(runs) < 3 or not runs[0].live:
        runs = find_runs(tmp_path / "runs")
    assert [run.name for run in runs] == ["alive", "new", "old"]


def test_a_writer_that_vanished_is_told(finished_run):
    path = finished_run()
    write_json(RunDir(path).lock, {**this_process(), "started": 1.0})
    assert (read_run(path).state, read_run(path).live) == ("gone", False)


def test_a_writer_on_another_host_lives_by_its_heartbeat(finished_run):
    path = finished_run()
    status = orjson.loads(RunDir(path).status.read_bytes())
    write_json(RunDir(path).lock, {**this_process(), "host": "elsewhere"})
    assert read_run(path).live
    write_json(RunDir(path).status, {**status, "heartbeat": status["heartbeat"] - 3600})
    assert not read_run(path).live


@pytest.mark.parametrize("content", [b"{", b"[1, 2]", b'{"counts": 3}'])
def test_a_broken_status_is_told_and_hides_no_other_run(finished_run, tmp_path, content):
    good, bad = finished_run(name="good"), tmp_path / "runs" / "bad"
    shutil.copytree(good, bad)
    RunDir(bad).status.write_bytes(content)
    write_json(RunDir(bad).lock, {**this_process(), "host": "elsewhere"})
    states = {run.name: (run.state, bool(run.problem)) for run in find_runs(tmp_path / "runs")}
    assert states == {"good": ("complete", False), "bad": ("unreadable", True)}


def test_results_alone_are_a_run(finished_run, tmp_path):
    shutil.copytree(finished_run(), tmp_path / "other" / "kit", ignore=lambda *_: ["status.json", "environment.json"])
    (listed,) = find_runs(tmp_path / "other")
    assert (listed.state, listed.done, listed.total) == ("no status", None, None)


def test_no_folder_holds_no_runs(tmp_path):
    assert find_runs(tmp_path / "none") == []


def test_suites_are_found_with_their_state(make_suite, tmp_path):
    partial = make_suite(name="suite")
    RowIndex.require(partial).close()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "manifest.json").write_text("{")
    first, second = find_suites(tmp_path)
    assert (first.path.name, first.edition, first.partial, first.problem) == ("suite", "0.2.1", True, None)
    assert second.path.name == "broken" and "not valid JSON" in second.problem


def test_whole_suites_say_whether_their_rows_are_the_published_ones(make_suite, tmp_path):
    suite = make_suite()
    write_json(suite.directory / "manifest.json", {"edition": "0.2.1", "partial": False})
    assert find_suites(tmp_path)[0].published is None
    RowIndex.require(suite).close()
    assert find_suites(tmp_path)[0].published is False
