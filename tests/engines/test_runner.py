import threading
import time
from collections import Counter

import orjson
import pytest
from suites import make_row, read_final_results

from engines import control as control_module
from engines import events
from engines.base import EngineError
from engines.control import Control
from engines.results import ResultsError
from engines.run_dir import RunDir, RunError, read_json
from engines.runner import RunSettings, run
from suite_builder.errors import SuiteError
from suite_builder.suite import Suite


@pytest.fixture
def run_dir(tmp_path):
    return RunDir(tmp_path / "run")


@pytest.fixture
def suite(make_suite):
    return make_suite()


def settings(name, **more):
    return RunSettings(f"faulty_engines:{name}" if name[0].isupper() else name, **more)


def statuses(run_dir):
    return Counter(row["status"] for row in read_final_results(run_dir.results).values())


def test_a_run_answers_every_request_once_and_says_so(suite, run_dir):
    told = []
    ended = run(suite, run_dir, settings("random"), told.append)
    assert (ended.state, ended.completed, ended.total, ended.counts) == ("complete", 30, 30, {"ok": 30})
    assert len(run_dir.results.read_bytes().splitlines()) == 30
    assert read_final_results(run_dir.results).keys() == {row.run_id for row in suite.rows()}
    kinds = [type(event) for event in told]
    assert kinds[0] is events.Notice and kinds[-1] is events.Ended
    assert kinds.count(events.Answer) == 30
    ready = next(event for event in told if isinstance(event, events.Ready))
    assert [(plan.catalog_id, plan.requests, plan.finished) for plan in ready.benchmarks] == [
        (41, 10, 0), (44, 10, 0), (45, 10, 0),
    ]
    status = read_json(run_dir.status)
    assert (status["event"], status["completed"], status["counts"]) == ("complete", 30, {"ok": 30})


def test_a_finished_run_is_not_asked_again(suite, run_dir):
    run(suite, run_dir, settings("random"))
    before = run_dir.results.read_bytes()
    ended = run(suite, run_dir, settings("random"))
    assert (ended.state, ended.counts) == ("complete", {})
    assert run_dir.results.read_bytes() == before


def test_every_outcome_has_its_status(suite, run_dir):
    ended = run(suite, run_dir, settings("Moody"))
    assert ended.state == "complete"
    rows = read_final_results(run_dir.results).values()
    assert statuses(run_dir).keys() == {"ok", "unsupported", "abstained", "error"}
    assert {row["exception"] for row in rows if row["status"] == "error"} == {"ValueError", "InvalidResponse"}
    invalid = next(row for row in rows if row.get("exception") == "InvalidResponse")
    assert invalid["error"] == "question 'q1': no answer"
    assert next(row["raw_output"] for row in rows if row["status"] == "abstained") == {"seen": True}


def test_only_errors_are_asked_again(suite, run_dir):
    run(suite, run_dir, settings("Moody"))
    first = statuses(run_dir)
    lines = len(run_dir.results.read_bytes().splitlines())
    ended = run(suite, run_dir, settings("Moody"))
    assert ended.counts == {"error": first["error"]}
    assert len(run_dir.results.read_bytes().splitlines()) == lines + first["error"]
    assert statuses(run_dir) == first


def test_a_limit_takes_the_first_requests_of_the_order(suite, run_dir):
    told = []
    ended = run(suite, run_dir, settings("random", limit=7), told.append)
    assert [event for event in told if isinstance(event, events.Ended)] == [ended]
    assert (ended.state, ended.completed, ended.total) == ("limited", 7, 7)
    assert run(suite, run_dir, settings("random", limit=7)).counts == {}
    assert run(suite, run_dir, settings("random", limit=9)).counts == {"ok": 2}
    assert run(suite, run_dir, settings("random")).state == "complete"


def test_file_order_is_the_order_of_the_rows_and_interleaved_mixes_benchmarks(suite, run_dir, tmp_path):
    run(suite, run_dir, settings("random", order="file"))
    in_file = [orjson.loads(line)["run_id"] for line in run_dir.results.read_bytes().splitlines()]
    assert in_file == [row.run_id for row in suite.rows()]
    mixed_dir = RunDir(tmp_path / "mixed")
    run(suite, mixed_dir, settings("random", limit=12))
    first = [orjson.loads(line)["catalog_id"] for line in mixed_dir.results.read_bytes().splitlines()]
    assert set(first) == {41, 44, 45} and first != sorted(first)


def test_groups_stay_together_when_interleaved(make_suite, run_dir):
    rows = [make_row(41, number, group_id=f"case-{number % 4}") for number in range(12)]
    run(make_suite([*rows, *(make_row(44, number) for number in range(12))]), run_dir, settings("random"))
    groups = [orjson.loads(line)["group_id"] for line in run_dir.results.read_bytes().splitlines()]
    for case in {group for group in groups if group.startswith("case")}:
        first = groups.index(case)
        assert groups[first : first + 3] == [case] * 3


def test_excluded_rows_are_asked_only_on_request(suite, run_dir):
    excluded = Suite(suite.files, suite.edition, frozenset({"44:CLadder:CLadder:test:3"}), suite.manifest, suite.directory)
    assert run(excluded, run_dir, settings("random")).total == 29
    assert run(excluded, run_dir, settings("random", with_excluded=True)).counts == {"ok": 1}


def test_five_errors_before_the_first_success_stop_the_run(suite, run_dir):
    ended = run(suite, run_dir, settings("AlwaysFails"))
    assert (ended.state, ended.counts) == ("failed", {"error": 5})
    assert "5 errors before the first success, the last: nobody there" in ended.reason
    assert ended.failed_run_id in read_final_results(run_dir.results)
    assert read_json(run_dir.status)["event"] == "failed"


def test_many_errors_in_a_row_stop_a_run_that_has_worked(suite, run_dir):
    ended = run(suite, run_dir, settings("FailsAfter", options={"good": "4"}, stop_after_errors=6))
    assert (ended.state, ended.counts) == ("failed", {"ok": 4, "error": 6})
    assert "6 errors in a row, the last: worn out" in ended.reason
    resumed = run(suite, run_dir, settings("FailsAfter", options={"good": "99"}))
    assert (resumed.state, resumed.completed) == ("complete", 30)


@pytest.mark.parametrize("kind", ["device", "cuda"])
def test_a_device_error_stops_the_run_with_its_checkpoint_intact(suite, run_dir, kind):
    ended = run(suite, run_dir, settings("FailsAfter", options={"good": "3", "kind": kind}))
    assert (ended.state, ended.counts) == ("failed", {"ok": 3})
    assert ended.reason.startswith("the device failed: ")
    assert statuses(run_dir) == {"ok": 3}
    assert run(suite, run_dir, settings("FailsAfter", options={"good": "99"})).completed == 30


def test_a_torn_last_line_is_asked_again(suite, run_dir):
    run(suite, run_dir, settings("random"))
    whole = run_dir.results.read_bytes()
    run_dir.results.write_bytes(whole[:-30])
    ended = run(suite, run_dir, settings("random"))
    assert ended.counts == {"ok": 1}
    assert read_final_results(run_dir.results).keys() == {row.run_id for row in suite.rows()}


def test_a_stop_finishes_the_batch_in_flight_and_keeps_it(suite, run_dir):
    control = Control()

    def stop_after_three(event):
        if isinstance(event, events.Answer):
            seen.append(event)
            if len(seen) == 3:
                control.stop("enough")

    seen = []
    ended = run(suite, run_dir, settings("Steady", options={"seconds": "0.02"}), stop_after_three, control)
    assert (ended.state, ended.reason) == ("interrupted", "enough")
    assert 3 <= len(read_final_results(run_dir.results)) < 30
    assert ended.completed == len(run_dir.results.read_bytes().splitlines())
    assert run(suite, run_dir, settings("Steady")).completed == 30


def test_a_run_can_be_paused_resumed_and_stopped_through_its_control_file(suite, run_dir):
    told = []
    slow = settings("Steady", options={"seconds": "0.05"})
    thread = threading.Thread(target=run, args=(suite, run_dir, slow, told.append))
    thread.start()

    def wait_for(kind):
        deadline = time.monotonic() + 20
        while not any(isinstance(event, kind) for event in told):
            assert time.monotonic() < deadline, f"no {kind.__name__}"
            time.sleep(0.01)

    wait_for(events.Answer)
    control_module.send(run_dir.control, "pause")
    wait_for(events.Paused)
    time.sleep(0.3)
    paused_at = len(run_dir.results.read_bytes().splitlines())
    time.sleep(0.3)
    assert len(run_dir.results.read_bytes().splitlines()) == paused_at < 30
    control_module.send(run_dir.control, "run")
    wait_for(events.Resumed)
    control_module.send(run_dir.control, "stop")
    thread.join(20)
    assert not thread.is_alive()
    assert told[-1].state == "interrupted" and told[-1].reason == "stopped from outside"


def test_an_engine_that_hangs_is_left_behind_after_a_stop(suite, run_dir):
    control, told = Control(), []
    threading.Timer(0.5, control.stop, ["enough"]).start()
    ended = run(suite, run_dir, settings("Hangs", stop_timeout=0.5), told.append, control)
    assert (ended.state, ended.completed) == ("interrupted", 0)
    assert any("did not finish its batch within" in event.text for event in told if isinstance(event, events.Notice))


def test_several_workers_share_the_plan(suite, run_dir):
    ended = run(suite, run_dir, settings("Steady", options={"concurrency": "4", "seconds": "0.001"}))
    assert ended.counts == {"ok": 30}
    assert len(run_dir.results.read_bytes().splitlines()) == 30


def test_batches_share_their_wall_time_and_one_failure_is_one_error(suite, run_dir):
    ended = run(suite, run_dir, settings("Batches"))
    assert ended.counts == {"ok": 23, "error": 7}
    rows = read_final_results(run_dir.results).values()
    assert Counter(row.get("batch_size") for row in rows) == {4: 28, 2: 2}


def test_a_class_written_for_the_public_kit_runs_as_it_is(make_suite, run_dir):
    rows = [make_row(41, number, options=2 + number % 3) for number in range(9)]
    ended = run(make_suite(rows), run_dir, settings("PublicKit", model="m", options={"max_options": "3"}))
    assert ended.counts == {"ok": 6, "unsupported": 3}


def test_resuming_with_other_settings_is_refused_and_the_difference_named(suite, run_dir):
    run(suite, run_dir, settings("lexical", limit=5))
    with pytest.raises(RunError, match=r"other settings: k1 was 1.2, now 1.5\. .*--fresh"):
        run(suite, run_dir, settings("lexical", options={"k1": "1.5"}))
    with pytest.raises(RunError, match="engine was 'lexical', now 'random'"):
        run(suite, run_dir, settings("random"))
    assert len(read_final_results(run_dir.results)) == 5


def test_a_finished_run_of_another_engine_is_not_taken_for_this_one(suite, run_dir):
    run(suite, run_dir, settings("lexical"))
    with pytest.raises(RunError, match="finished run of something else: engine was 'lexical', now 'random'"):
        run(suite, run_dir, settings("random"))


def test_options_that_cannot_change_answers_may_change_and_are_logged(suite, run_dir):
    run(suite, run_dir, settings("Steady", limit=5))
    run(suite, run_dir, settings("Steady", options={"concurrency": "2"}))
    sessions = read_json(run_dir.environment)["sessions"]
    assert [session["engine_options"] for session in sessions] == [{}, {"concurrency": "2"}]


def test_results_for_another_version_of_a_row_are_refused(suite, run_dir):
    run(suite, run_dir, settings("random", limit=3))
    run_dir.results.write_bytes(run_dir.results.read_bytes().replace(b'"payload_sha256":"', b'"payload_sha256":"0', 1))
    with pytest.raises(RunError, match="answers another version of .*--fresh"):
        run(suite, run_dir, settings("random"))


def test_results_of_the_public_kit_are_taken_over_with_a_notice(suite, run_dir):
    run(suite, run_dir, settings("random", limit=3))
    run_dir.environment.unlink()
    told = []
    run(suite, run_dir, settings("random"), told.append)
    assert any("does not say what its results were made with" in event.text for event in told if isinstance(event, events.Notice))


def test_fresh_moves_the_earlier_run_aside(suite, run_dir):
    run(suite, run_dir, settings("random"))
    before = run_dir.results.read_bytes()
    ended = run(suite, run_dir, settings("lexical", fresh=True))
    assert ended.counts == {"ok": 30}
    aside = next(path for path in run_dir.path.glob("results.2*.jsonl"))
    assert aside.read_bytes() == before


def test_a_second_writer_is_refused(suite, run_dir):
    control = Control()
    slow = settings("Steady", options={"seconds": "0.05"})
    thread = threading.Thread(target=run, args=(suite, run_dir, slow), kwargs={"control": control})
    thread.start()
    while not run_dir.results.exists():
        time.sleep(0.01)
    with pytest.raises(RunError, match="is being written by process"):
        run(suite, run_dir, settings("random"))
    control.stop("test over")
    thread.join(20)


def test_what_cannot_be_loaded_is_a_clear_error(suite, run_dir):
    with pytest.raises(EngineError, match="unknown engine 'nothing'"):
        run(suite, run_dir, settings("nothing"))
    with pytest.raises(RunError, match="failed while loading: OSError\\('no weights here'\\)"):
        run(suite, run_dir, settings("FailsToLoad"))
    assert read_json(run_dir.status)["event"] == "failed"


def test_damaged_results_are_not_written_to(suite, run_dir):
    run(suite, run_dir, settings("random"))
    lines = run_dir.results.read_bytes().splitlines(keepends=True)
    run_dir.results.write_bytes(b"".join([lines[0], b"oops\n", *lines[1:]]))
    with pytest.raises(ResultsError, match="results.jsonl, line 2: not valid JSON"):
        run(suite, run_dir, settings("random"))


def test_rows_that_are_not_those_of_the_manifest_are_refused(suite, run_dir, make_suite):
    other = make_suite([make_row(41, 99)], name="other")
    suite.files[0].write_bytes(other.files[0].read_bytes())
    with pytest.raises(SuiteError, match="selected-rows has sha256 .*--no-verify"):
        run(suite, run_dir, settings("random"))
    assert run(suite, run_dir, settings("random", verify=False)).completed == 1


def test_the_environment_says_what_made_the_answers_and_hides_secrets(suite, run_dir, monkeypatch):
    monkeypatch.chdir(suite.directory.parent)
    options = {"max_options": "9"}
    run(suite, run_dir, settings("PublicKit", model="https://me:pw@host/x", options=options))
    environment = read_json(run_dir.environment)
    assert environment["rows_path"] == "suite"
    assert environment["fingerprint"] == {"engine": "faulty_engines:PublicKit", "model": "https://host/x", **options}
    assert environment["frozen_corpus_sha256"] == {
        "selected-rows": suite.manifest["files"]["selected-rows.jsonl.gz"]["uncompressed_sha256"]
    }
    assert "me:pw" not in run_dir.environment.read_text()


def test_a_pending_stop_while_loading_ends_the_run(suite, run_dir):
    control = Control()
    control.stop("changed my mind")
    ended = run(suite, run_dir, settings("random"), control=control)
    assert (ended.state, ended.completed) == ("interrupted", 0)
