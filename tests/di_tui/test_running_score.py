"""The running score over the golden runs: where it says anything it says what scoring says."""

import shutil

import orjson
import pytest
from golden import GOLDEN, SUITE_0_2, golden_lines, results_of, scored_run_ids

from di_tui.running_score import RunningScore
from scoring.benchmarks import BENCHMARKS, DEFAULT
from suite_builder.row_index import RowIndex
from suite_builder.suite import Suite

RANKED, ROUTED, FORECAST, TIES = 2, 6, 48, 31


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder = shutil.copytree(SUITE_0_2, tmp_path_factory.mktemp("golden") / "suite-0.2")
    index = RowIndex.require(Suite.open(folder, "0.2.1"))
    yield index
    index.close()


def shares_of(index, results):
    score = RunningScore(index)
    for row in results:
        score.add(row["catalog_id"], *score.judge(row["run_id"], row["catalog_id"], row.get("response")))
    return score.shares()


@pytest.mark.parametrize("model", ["near-perfect", "middling", "random"])
def test_accuracies_are_those_of_scoring(index, model):
    final = {row["run_id"]: row for row in golden_lines(results_of(model)) if row["run_id"] in scored_run_ids()}
    shares = shares_of(index, final.values())
    expected = orjson.loads((GOLDEN / "expected" / "0.2.1" / model / "scores.json").read_bytes())["benchmarks"]
    compared = {
        int(key): facts["score"]
        for key, facts in expected.items()
        if facts["metric"] == "accuracy" and facts["answered"] == facts["requests"] and int(key) in shares
    }
    assert len(compared) > 15
    assert {key: round(shares[key], 4) for key in compared} == pytest.approx(compared, abs=1e-4)


def test_nothing_is_said_where_single_answers_are_not_right_or_wrong(index):
    shares = shares_of(index, golden_lines(results_of("middling")))
    assert not {RANKED, ROUTED, FORECAST, TIES} & shares.keys()
    assert all(BENCHMARKS.get(key, DEFAULT).by_field for key in shares)


def test_what_is_not_answered_is_wrong_and_can_be_taken_back(index):
    score = RunningScore(index)
    row = next(row for row in golden_lines(results_of("near-perfect")) if row["catalog_id"] == 4)
    unanswered = score.judge(row["run_id"], 4, None)
    assert unanswered == (0, 1)
    score.add(4, *unanswered)
    assert score.shares() == {4: 0.0}
    score.add(4, *(-number for number in unanswered))
    assert score.shares() == {}


@pytest.mark.parametrize(
    "response",
    [[], {"answers": []}, {"answers": {}}, {"answers": {"intent": 3}}, {"answers": {"intent": {"type": "noul", "noul": "x"}}}],
    ids=str,
)
def test_a_response_of_another_shape_is_wrong(index, response):
    run_id = next(row["run_id"] for row in golden_lines(results_of("near-perfect")) if row["catalog_id"] == 4)
    assert RunningScore(index).judge(run_id, 4, response) == (0, 1)


def test_a_request_that_the_suite_does_not_have_counts_for_nothing(index):
    assert RunningScore(index).judge("4:BANKING77:nowhere", 4, {"answers": {}}) == (0, 0)
