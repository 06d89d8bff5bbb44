"""Following a run directory as it grows, is rewritten, is damaged, or is left by its writer."""

import re
import time

import orjson
import pytest

from di_tui.run_follower import RunFollower
from engines.control import send
from engines.run_dir import RunDir, read_json, this_process, write_json
from suite_builder.suite import Suite


def followed(path):
    """A snapshot after one look at everything."""
    follower = RunFollower(path)
    follower.look()
    return follower.snapshot()


def lines_of(path):
    return RunDir(path).results.read_bytes().splitlines(keepends=True)


def test_a_finished_run_has_counts_totals_and_areas(finished_run):
    run = followed(finished_run())
    assert (run.progress.phase, run.progress.engine, run.edition) == ("complete", "random", "0.2.1")
    assert (run.progress.done, run.progress.total, run.progress.counts) == (30, 30, {"ok": 30})
    assert {benchmark.catalog_id: (benchmark.done, benchmark.total) for benchmark in run.progress.benchmarks} == {
        41: (10, 10), 44: (10, 10), 45: (10, 10),
    }
    assert run.ended and run.read == 1 and run.partial
    assert len({label for label, catalog_ids in run.areas if {41, 44, 45} & set(catalog_ids)}) == 2


def test_a_limited_run_has_the_totals_of_its_limit(finished_run):
    progress = followed(finished_run(limit=12)).progress
    assert (progress.phase, progress.done, progress.total) == ("limited", 12, 12)


def test_without_its_suite_a_run_has_the_total_of_its_status(finished_run):
    path = finished_run()
    environment = read_json(RunDir(path).environment)
    write_json(RunDir(path).environment, {**environment, "rows_path": "nowhere"})
    progress = followed(path).progress
    assert (progress.done, progress.total) == (30, 30)
    assert [benchmark.total for benchmark in progress.benchmarks] == [0, 0, 0]


def test_the_totals_of_another_suite_are_not_used(finished_run):
    path = finished_run()
    environment = read_json(RunDir(path).environment)
    write_json(RunDir(path).environment, {**environment, "frozen_corpus_sha256": {"selected-rows": "other"}})
    assert {benchmark.total for benchmark in followed(path).progress.benchmarks} == {0}


def test_only_what_was_appended_is_read_and_a_torn_line_waits(finished_run):
    path = finished_run()
    lines = lines_of(path)
    results = RunDir(path).results
    results.write_bytes(b"".join(lines[:10]) + lines[10][:20])
    follower = RunFollower(path)
    follower.look()
    assert (follower.snapshot().progress.done, follower.snapshot().skipped_lines) == (10, 0)
    assert follower.snapshot().read == 1
    with results.open("ab") as file:
        file.write(lines[10][20:] + lines[11])
    follower.look()
    assert (follower.snapshot().progress.done, follower.snapshot().skipped_lines) == (12, 0)


@pytest.mark.parametrize("replace", [True, False], ids=["replaced", "truncated"])
def test_a_file_that_is_another_one_now_is_read_from_its_start(finished_run, replace):
    path = finished_run()
    lines, results = lines_of(path), RunDir(path).results
    follower = RunFollower(path)
    follower.look()
    if replace:
        results.rename(results.with_name("earlier.jsonl"))
    results.write_bytes(b"".join(lines[:3]))
    follower.look()
    assert follower.snapshot().progress.done == 3


def test_unreadable_lines_are_counted_and_passed_over(finished_run):
    path = finished_run()
    with RunDir(path).results.open("ab") as file:
        file.write(b'not json\n\n{"run_id": "x", "status": "ok"}\n')
    run = followed(path)
    assert (run.progress.done, run.skipped_lines) == (30, 2)


def test_an_error_that_was_asked_again_is_no_error_any_more(finished_run):
    path = finished_run("faulty_engines:Batches")
    before = followed(path)
    assert before.progress.counts["error"] == len(before.errors) == 7
    error = before.errors[0]
    assert (error.exception, error.message) == ("ValueError", "third") and "ValueError: third" in error.traceback
    rows = [orjson.loads(line) for line in lines_of(path)]
    again = next(row for row in rows if row["run_id"] == error.run_id)
    with RunDir(path).results.open("ab") as file:
        file.write(orjson.dumps({**again, "status": "ok"}) + b"\n")
    after = followed(path)
    assert (after.progress.done, after.progress.counts["error"], len(after.errors)) == (30, 6, 6)
    assert error not in after.errors


def test_a_writer_that_vanished_is_told_and_time_stops(finished_run):
    path = finished_run()
    run_dir = RunDir(path)
    status = read_json(run_dir.status)
    write_json(run_dir.status, {**status, "event": "progress"})
    write_json(run_dir.lock, {**this_process(), "started": 1.0})
    run = followed(path)
    assert run.progress.phase == "gone" and run.ended
    assert run.progress.elapsed == pytest.approx(status["heartbeat"] - _started(path), abs=0.01)


def _started(path):
    from datetime import datetime

    return datetime.fromisoformat(read_json(RunDir(path).environment)["sessions"][-1]["started_utc"]).timestamp()


def test_a_live_run_is_followed_paused_and_stopped(begin_run):
    path = begin_run(seconds="0.1")
    follower = RunFollower(path)
    follower.start()

    def until(condition):
        deadline = time.monotonic() + 15
        while not condition(follower.snapshot()):
            assert time.monotonic() < deadline, follower.snapshot()
            time.sleep(0.01)

    until(lambda run: run.live and run.progress.done >= 3 and run.progress.rate > 0 and run.progress.phase == "running")
    send(RunDir(path).control, "pause")
    until(lambda run: run.asked == "pause" and run.progress.phase == "paused")
    send(RunDir(path).control, "run")
    until(lambda run: run.progress.phase == "running" and run.progress.eta is not None)
    send(RunDir(path).control, "stop")
    until(lambda run: run.ended and run.progress.phase == "interrupted" and run.reason == "stopped from outside")
    follower.stop()
    assert follower.snapshot().progress.done == len(lines_of(path)) < 30


def test_a_resumed_run_counts_what_earlier_sessions_did(begin_run, finished_run):
    path = finished_run(limit=10, engine="random")
    follower = RunFollower(path)
    follower.look()
    finished_run("random")
    while not follower.snapshot().progress.phase == "complete":
        follower.look()
    progress = follower.snapshot().progress
    assert (progress.done, progress.total) == (30, 30)
    assert progress.rate * progress.elapsed == pytest.approx(20)


def test_an_empty_folder_is_followed_until_a_run_begins(begin_run, tmp_path):
    (tmp_path / "runs" / "run").mkdir(parents=True)
    follower = RunFollower(tmp_path / "runs" / "run")
    follower.look()
    assert follower.snapshot().progress.phase == "starting" and not follower.snapshot().ended
    begin_run("random")
    deadline = time.monotonic() + 15
    while follower.snapshot().progress.phase != "complete":
        follower.look()
        assert time.monotonic() < deadline


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("status", b"{", "is not valid JSON"),
        ("status", b"[1]", "is no JSON object"),
        ("environment", b'{"sessions": [3]}', "is not what a run writes"),
        ("control", b"{", "is not valid JSON"),
    ],
)
def test_broken_files_are_told_not_raised(finished_run, name, content, message):
    path = finished_run()
    getattr(RunDir(path), name).write_bytes(content)
    assert message in followed(path).reason


def test_numbers_that_are_none_do_not_stop_the_follower(finished_run):
    path = finished_run()
    lines = lines_of(path)
    odd = [
        lines[0].replace(b'"probabilities":{', b'"probabilities":{"extra":NaN,', 1),
        re.sub(rb'"total_wall_ms":[^,]*', b'"total_wall_ms":NaN', lines[1]),
        re.sub(rb'"total_wall_ms":[^,]*', b'"total_wall_ms":"slow"', lines[2]),
        re.sub(rb'"proxy_tokens":[^,}]*', b'"proxy_tokens":Infinity', lines[3]),
        re.sub(rb'"proxy_tokens":[^,}]*', b'"proxy_tokens":null', lines[4]),
    ]
    assert b"NaN" in odd[0] and odd[4] != lines[4]
    RunDir(path).results.write_bytes(b"".join([*odd, *lines[5:]]))
    run = followed(path)
    assert (run.progress.done, run.skipped_lines, run.reason) == (27, 3, None)


def test_the_total_is_that_of_the_session_that_goes_on(finished_run, begin_run):
    path = finished_run(limit=10)
    follower = RunFollower(path)
    follower.look()
    assert follower.snapshot().progress.total == 10
    status = read_json(RunDir(path).status)
    write_json(RunDir(path).status, {**status, "event": "progress", "total": 25})
    follower._status = read_json(RunDir(path).status)
    assert follower.snapshot().progress.total == 25


def test_the_share_that_is_right_is_told_where_it_means_something(finished_run):
    path = finished_run()
    run = followed(path)
    assert run.right.keys() == {41, 44, 45} and all(0 <= share <= 1 for share in run.right.values())
    rows = [row for row in map(orjson.loads, lines_of(path)) if row["catalog_id"] == 45]
    gold = {request.run_id: request.row["expected"] for request in Suite.open(path.parents[1] / "suite").rows()}
    right = [row["response"]["answers"]["q1"]["choice"] == gold[row["run_id"]]["q1"] for row in rows]
    assert run.right[45] == sum(right) / len(right)


def test_what_the_engine_and_its_devices_tell_is_passed_on(finished_run):
    path = finished_run()
    told = {"devices": [{"utilisation": 96}], "throughput": {"padding_share": 0.04}}
    write_json(RunDir(path).status, {**read_json(RunDir(path).status), **told})
    run = followed(path)
    assert (list(run.devices), run.throughput) == (told["devices"], told["throughput"])
