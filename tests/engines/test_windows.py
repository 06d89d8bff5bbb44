"""Windows: what the runner makes of groups, whole, broken or left early."""

from collections import Counter

import orjson
import pytest
from suites import read_final_results

from engines import events
from engines.base import Answered, Group
from engines.control import Control
from engines.random import RandomEngine
from engines.run_dir import RunDir, read_json
from engines.runner import RunSettings, run

QUESTIONS = {"q": {"type": "noul"}}


def settings(**options) -> RunSettings:
    return RunSettings("window_engines:Backwards", options=options)


@pytest.fixture
def run_dir(tmp_path) -> RunDir:
    return RunDir(tmp_path / "run")


def lines(run_dir: RunDir) -> list[dict]:
    return [orjson.loads(line) for line in run_dir.results.read_bytes().splitlines()]


def test_by_default_a_window_is_batches_in_order():
    class Pairs(RandomEngine):
        batch_size = 2

    groups = list(Pairs().answer_window([(f"s{number}", QUESTIONS) for number in range(5)]))
    assert [list(group.positions) for group in groups] == [[0, 1], [2, 3], [4]]
    assert all(isinstance(group, Group) and isinstance(one, Answered) for group in groups for one in group.outcomes)


def test_groups_are_kept_in_any_order_with_their_own_time_and_size(make_suite, run_dir):
    ended = run(make_suite(), run_dir, settings())
    assert (ended.state, ended.counts) == ("complete", {"ok": 30})
    written = lines(run_dir)
    assert len({row["run_id"] for row in written}) == len(written) == 30
    assert {row["total_wall_ms"] for row in written} == {40.0}
    assert Counter(row["batch_size"] for row in written) == {4: 24, 2: 6}
    assert read_json(run_dir.environment)["mode"] == "batched"


@pytest.mark.parametrize(
    ("then", "error"),
    [
        ("raise", "lost the thread"),
        ("leave", "answer_window left requests of its window unanswered"),
        ("repeat", "answer_window gave a group with positions that are not open, or not an outcome for each"),
    ],
)
def test_what_an_engine_loses_of_a_window_is_an_error_and_asked_again(make_suite, run_dir, then, error):
    suite = make_suite()
    run(suite, run_dir, RunSettings("window_engines:Backwards", options={"groups": "4", "then": then}, stop_after_errors=99))
    written = lines(run_dir)
    assert len(written) == 30 and error in {row["error"] for row in written if row["status"] == "error"}
    assert run(suite, run_dir, RunSettings("window_engines:Backwards", options={"groups": "1000", "then": then})).state == "complete"
    assert {row["status"] for row in read_final_results(run_dir.results).values()} == {"ok"}


def test_a_lost_device_keeps_the_groups_before_it(make_suite, run_dir):
    ended = run(make_suite(), run_dir, settings(groups="4", then="device"))
    assert (ended.state, ended.completed) == ("failed", 14)
    assert len(lines(run_dir)) == 14


def test_a_stop_is_heard_between_groups(make_suite, run_dir):
    control, suite = Control(), make_suite()

    def stop_at_the_first(event):
        if isinstance(event, events.Answer):
            control.stop("enough")

    ended = run(suite, run_dir, settings(seconds="0.1"), stop_at_the_first, control)
    assert ended.state == "interrupted" and len(lines(run_dir)) < 30
    assert run(suite, run_dir, settings()).state == "complete"
    assert Counter(row["run_id"] for row in lines(run_dir)).most_common(1)[0][1] == 1


def test_latency_mode_hands_over_one_request_at_a_time(make_suite, run_dir):
    run(make_suite(), run_dir, RunSettings("window_engines:Backwards", latency=True))
    assert all("batch_size" not in row for row in lines(run_dir))
    assert read_json(run_dir.environment)["mode"] == "latency"
