"""Comparisons of golden models, whose answers are known."""

import json

import pytest
from golden import SUITE_0_2, golden_lines, results_of, write_lines

from scoring.compare import BETTER, UNDECIDED, WORSE, Difference, compare
from scoring.editions import edition
from scoring.errors import ScoreError
from scoring.loading import load
from scoring.stats import Interval
from suite_builder.suite import Suite

RULES = edition("0.2.1")
SUITE = Suite.open(SUITE_0_2, "0.2.1")


def cases_of(results):
    return load(SUITE, results if hasattr(results, "suffix") else results_of(results), RULES)


def compared(a, b, **options):
    return compare(cases_of(a), cases_of(b), RULES, ("a", "b"), **{"draws": 200, **options})


def by_id(comparison):
    return {shared.catalog_id: shared for shared in comparison.benchmarks}


@pytest.fixture(scope="module")
def good_and_bad():
    return compared("near-perfect", "random")


def test_a_much_worse_run_is_told_from_a_better_one(good_and_bad):
    index = good_and_bad.scores["balanced_skill"]
    assert index.verdict == WORSE
    assert index.difference == pytest.approx(index.b - index.a)
    assert index.interval.low < index.difference < index.interval.high < 0
    assert {area.skill.verdict for area in good_and_bad.areas} == {WORSE}


def test_the_index_of_whole_runs_is_the_published_one(good_and_bad):
    index = good_and_bad.scores["balanced_skill"]
    assert (index.a, index.b) == pytest.approx(good_and_bad.published)
    assert (good_and_bad.counted, good_and_bad.panel) == (38, 38)


def test_swapped_runs_mirror_every_difference(good_and_bad):
    mirrored = compared("random", "near-perfect")
    for key, shared in by_id(good_and_bad).items():
        other = by_id(mirrored)[key]
        assert other.raw.difference == -shared.raw.difference
        assert other.raw.interval == pytest.approx((-shared.raw.interval.high, -shared.raw.interval.low), abs=0.05)
        assert (other.right_to_wrong, other.wrong_to_right) == (shared.wrong_to_right, shared.right_to_wrong)


def test_a_run_differs_nowhere_from_itself():
    comparison = compared("middling", "middling")
    assert {score.interval for score in comparison.scores.values()} == {Interval(0.0, 0.0)}
    for shared in comparison.benchmarks:
        assert (shared.raw.verdict, shared.agreement) == (UNDECIDED, 1.0)
        assert shared.right_to_wrong == shared.wrong_to_right == []


def test_verdicts_claim_no_more_than_the_interval_allows():
    verdicts = [Difference(0, 0, Interval(*bounds)).verdict for bounds in ((0.1, 0.2), (-0.2, -0.1), (-0.1, 0.1), (0, 0.2), (-0.2, 0))]
    assert verdicts == [BETTER, WORSE, UNDECIDED, UNDECIDED, UNDECIDED]


def test_only_whole_groups_that_both_answered_count_and_coverage_stands_apart():
    shared = by_id(compared("near-perfect", "partial-groups"))
    assert shared[2].coverage[0] == 1.0
    assert shared[2].coverage[1] < 1.0
    assert shared[2].requests < len(cases_of("near-perfect").sheets()[2])
    perfect = by_id(compared("near-perfect", "near-perfect"))
    assert shared[25].raw.a == perfect[25].raw.a


def test_benchmarks_that_one_run_did_not_answer_are_left_out_of_both():
    comparison = compared("near-perfect", "gappy")
    assert {4, 9, 22, 61, 64}.isdisjoint(by_id(comparison))
    assert comparison.counted == 33
    arts = next(area for area in comparison.areas if area.id == "arts")
    assert (arts.benchmarks, arts.of) == ((20, 21, 23, 48, 50), 7)
    assert comparison.scores["balanced_skill"].a > comparison.published[1]


def test_flips_name_the_requests_that_changed_sides():
    shared = by_id(compared("near-perfect", "middling"))[25]
    gold = {row["_evaluation"]["run_id"]: row["expected"] for row in golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz")}
    right = [
        {
            row["run_id"]
            for row in golden_lines(results_of(model))
            if row["catalog_id"] == 25 and choices(row) == gold[row["run_id"]]
        }
        for model in ("near-perfect", "middling")
    ]
    assert set(shared.right_to_wrong) == right[0] - right[1]
    assert set(shared.wrong_to_right) == right[1] - right[0]


def choices(row):
    return {question: answer["choice"] for question, answer in row["response"]["answers"].items()}


def test_rankings_routes_and_forecasts_do_not_flip(good_and_bad):
    for catalog_id in (2, 6, 36, 48):
        shared = by_id(good_and_bad)[catalog_id]
        assert shared.right_to_wrong == shared.wrong_to_right == []
        assert shared.agreement < 1


def test_latency_is_of_the_shared_requests(good_and_bad):
    shared = by_id(good_and_bad)[25]
    times = [row["total_wall_ms"] for row in golden_lines(results_of("near-perfect")) if row["catalog_id"] == 25]
    assert shared.median_ms[0] == pytest.approx(sorted(times)[len(times) // 2], rel=0.2)


def test_the_overlap_is_over_all_benchmarks_with_every_field_alike():
    comparison = compared("near-perfect", "partial-groups")
    overlap = comparison.overlap
    assert 0 < overlap.requests == sum(shared.requests for shared in comparison.benchmarks) < overlap.of == 1_055
    assert overlap.coverage[0] == 1.0 > overlap.coverage[1] > 0
    same = sum(shared.agreement * shared.fields for shared in comparison.benchmarks)
    assert overlap.agreement == pytest.approx(same / sum(shared.fields for shared in comparison.benchmarks))
    low, high = (pick(shared.median_ms[0] for shared in comparison.benchmarks) for pick in (min, max))
    assert low <= overlap.median_ms[0] <= high
    assert comparison.record()["overlap"]["requests"] == overlap.requests


def other_suite(folder, drop=(), renamed=()):
    """The golden suite as a loose rows file without some benchmarks, and with other payloads in others."""
    rows = golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz") + golden_lines(SUITE_0_2 / "added-rows.jsonl.gz")
    kept = [row for row in rows if row["_evaluation"]["catalog_id"] not in drop]
    for row in kept:
        if row["_evaluation"]["catalog_id"] in renamed:
            row["_evaluation"]["payload_sha256"] = "0" * 64
    excluded = SUITE.excluded
    return Suite.from_rows_file(write_lines(folder / "rows.jsonl", kept), "0.2.1", excluded)


def test_runs_over_different_suites_are_refused_and_compared_on_request(tmp_path):
    other = load(other_suite(tmp_path, drop=(57,), renamed=(58,)), results_of("middling"), RULES)
    own = cases_of("near-perfect")
    with pytest.raises(ScoreError, match="runs over different suites: of 1,055 and 1,027 requests 1,003 are the same"):
        compare(own, other, RULES, ("a", "b"), draws=20)
    comparison = compare(own, other, RULES, ("a", "b"), common=True, draws=20)
    usual = by_id(compared("near-perfect", "middling", draws=20))
    found = by_id(comparison)
    assert {57, 58}.isdisjoint(found)
    for catalog_id in (1, 2, 36, 40, 62):
        assert found[catalog_id].raw == usual[catalog_id].raw
        assert found[catalog_id].wrong_to_right == usual[catalog_id].wrong_to_right


def test_suites_without_a_common_request_are_refused(tmp_path):
    other = load(other_suite(tmp_path, renamed=range(100)), results_of("middling"), RULES)
    with pytest.raises(ScoreError, match="have no request in common"):
        compare(cases_of("near-perfect"), other, RULES, ("a", "b"), common=True)


def test_runs_that_answered_nothing_in_common_are_refused(tmp_path):
    rows = golden_lines(results_of("middling"))
    one = write_lines(tmp_path / "one.jsonl", [row for row in rows if row["catalog_id"] == 25])
    other = write_lines(tmp_path / "other.jsonl", [row for row in rows if row["catalog_id"] == 57])
    with pytest.raises(ScoreError, match="have no request that both answered"):
        compared(one, other)


def test_a_record_is_json_with_everything_in_it(good_and_bad):
    record = json.loads(json.dumps(good_and_bad.record()))
    assert (record["a"], record["b"], record["edition"], record["level"]) == ("a", "b", "0.2.1", 0.95)
    assert len(record["benchmarks"]) == 44 and record["benchmarks"][0]["raw"]["verdict"] in (BETTER, WORSE, UNDECIDED)


def test_edition_0_1_compares_raw_values():
    rules = edition("0.1")
    suite = Suite.open(SUITE_0_2.with_name("suite-0.1"), "0.1")
    runs = [load(suite, results_of(model), rules) for model in ("near-perfect", "random")]
    comparison = compare(*runs, rules, ("a", "b"), draws=50)
    assert comparison.headline == "balanced_raw"
    assert comparison.scores["balanced_raw"].a == pytest.approx(comparison.published[0])
