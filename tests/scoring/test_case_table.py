"""cases.parquet of the golden model with every status, and scoring from it instead of the results."""

import gzip
import os
import shutil

import orjson
import pyarrow.parquet as pq
import pytest
from golden import SUITE_0_2, golden_lines, results_of, with_answer, write_lines

from scoring import case_table
from scoring.editions import edition
from scoring.gold import Gold
from scoring.report import CASES, score
from suite_builder.suite import Suite


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    score(Suite.open(SUITE_0_2, "0.2.1"), results_of("gappy"), folder, "x", draws=0)
    return pq.read_table(folder / CASES)


def cases_of(table, catalog_id):
    return [row for row in table.to_pylist() if row["catalog_id"] == catalog_id]


def test_cases_have_the_documented_schema(table):
    assert table.schema.equals(case_table.SCHEMA)


def test_cases_hold_one_row_per_scored_field_of_every_request_in_row_order(table):
    suite = Suite.open(SUITE_0_2, "0.2.1")
    expected = [
        (request.run_id, question)
        for request in suite.rows()
        for question in request.questions
        if request.catalog_id != 56 or question == "verdict"
    ]
    assert list(zip(table["run_id"].to_pylist(), table["question"].to_pylist(), strict=True)) == expected


def test_cases_give_the_accuracy_of_the_report(table):
    answered = [row for row in cases_of(table, 25) if row["status"] == "ok"]
    assert sum(row["correct"] for row in answered) / len(answered) == pytest.approx(0.7)


def test_cases_hold_gold_prediction_and_probabilities_of_the_result(table):
    rows = {row["_evaluation"]["run_id"]: row for row in golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz")}
    results = {row["run_id"]: row for row in golden_lines(results_of("gappy"))}
    for row in cases_of(table, 1):
        result, expected = results.get(row["run_id"]), rows[row["run_id"]]["expected"][row["question"]]
        assert row["gold"] == expected
        if row["status"] == "ok":
            answer = result["response"]["answers"][row["question"]]
            given = answer["probabilities"]
            assert (row["prediction"], row["p_gold"]) == (answer["choice"], given[expected])
            assert (row["p_prediction"], row["p_yes"]) == (given[answer["choice"]], given["yes"])
            assert row["p_squares"] == pytest.approx(sum(p * p for p in given.values()))
            assert row["wall_ms"] == result["total_wall_ms"]


def test_unanswered_cases_have_status_and_gold_only(table):
    for row in cases_of(table, 64):
        assert (row["status"], row["prediction"], row["correct"], row["wall_ms"]) == ("pending", None, None, None)
        assert row["gold"]


def test_cases_of_rankings_are_not_right_or_wrong(table):
    rows = cases_of(table, 36)
    assert {row["correct"] for row in rows} == {None}
    assert any(row["p_prediction"] is not None for row in rows)


def test_noul_answers_are_true_and_false_with_their_probabilities(table):
    answered = [row for row in cases_of(table, 59) if row["status"] == "ok"]
    assert {row["gold"] for row in answered} == {"true", "false"}
    for row in answered:
        assert row["p_prediction"] >= 0.5
        assert row["correct"] == (row["prediction"] == row["gold"])


# Scoring from the table


@pytest.fixture
def run(tmp_path):
    """A run directory with the results of a model, scored under 0.2."""

    def make(rows):
        results = write_lines(tmp_path / "results.jsonl", rows)
        score(Suite.open(SUITE_0_2, "0.2"), results, tmp_path, "x", draws=0)
        return results

    return make


def documents(scored):
    scores = {key: value for key, value in scored.scores.items() if key != "generated_utc"}
    return scored.summary, scored.index, scores, scored.warnings, scored.invalid


def results_are_not_read(monkeypatch):
    def refuse(*_arguments):
        raise AssertionError("the results file was read")

    monkeypatch.setattr("scoring.loading.begin", refuse)


@pytest.mark.parametrize("model", ["gappy", "partial-groups", "extremes", "middling"])
def test_another_edition_is_scored_from_the_table_to_the_same_numbers(run, monkeypatch, tmp_path, model):
    results = run(golden_lines(results_of(model)))
    later = Suite.open(SUITE_0_2, "0.2.1")
    elsewhere = shutil.copy(results, tmp_path / "copy.jsonl")
    (tmp_path / "fresh").mkdir()
    fresh = score(later, shutil.move(elsewhere, tmp_path / "fresh" / "results.jsonl"), tmp_path / "fresh", "x", draws=0)
    results_are_not_read(monkeypatch)
    again = score(later, results, tmp_path / "again", "x", draws=0)
    assert documents(again) == documents(fresh)
    assert pq.read_table(tmp_path / "again" / CASES).equals(pq.read_table(tmp_path / "fresh" / CASES))


def test_invalid_and_strange_answers_survive_the_table(run, monkeypatch, tmp_path):
    rows, _run_id = with_answer(golden_lines(results_of("near-perfect")), 3, choice="option_999")
    rows, _run_id = with_answer(rows, 57, probabilities={"A": 0.3})
    rows, _run_id = with_answer(rows, 48, probabilities={"yes": None, "no": 0.5})
    results = run(rows)
    first = score(Suite.open(SUITE_0_2, "0.2"), results, tmp_path / "a", "x", draws=0)
    results_are_not_read(monkeypatch)
    again = score(Suite.open(SUITE_0_2, "0.2"), results, tmp_path / "b", "x", draws=0)
    assert len(first.invalid) == 3
    assert documents(again) == documents(first)


def test_strict_scores_need_no_second_reading(run, monkeypatch, tmp_path):
    rows, run_id = with_answer(golden_lines(results_of("near-perfect")), 3, choice="option_999")
    results = run(rows)
    results_are_not_read(monkeypatch)
    strict = score(Suite.open(SUITE_0_2, "0.2"), results, tmp_path, "x", strict=True, draws=0)
    assert strict.scores["benchmarks"]["3"]["errors"] == 1
    assert score(Suite.open(SUITE_0_2, "0.2"), results, tmp_path, "x", draws=0).scores["benchmarks"]["3"]["errors"] == 0


def test_a_table_of_earlier_results_is_not_used(run, tmp_path):
    rows = golden_lines(results_of("near-perfect"))
    results = run(rows[:500])
    write_lines(results, rows)
    os.utime(results, ns=(1, 1))
    scored = score(Suite.open(SUITE_0_2, "0.2"), results, tmp_path, "x", draws=0)
    assert scored.summary["counts"] == {"ok": 1112}


def test_rows_that_the_table_lacks_are_read_from_the_results(tmp_path):
    results = write_lines(tmp_path / "results.jsonl", golden_lines(results_of("middling")))
    score(Suite.open(SUITE_0_2, "0.2.1"), results, tmp_path, "x", draws=0)
    earlier = score(Suite.open(SUITE_0_2, "0.2"), results, tmp_path, "x", draws=0)
    assert earlier.scores["benchmarks"]["2"]["pending"] == 0


def test_a_table_of_other_rows_is_not_used(run, tmp_path):
    results = run(golden_lines(results_of("middling")))
    with gzip.open(SUITE_0_2 / "selected-rows.jsonl.gz") as stream:
        rows = [orjson.loads(line) for line in stream]
    rows[0]["_evaluation"]["payload_sha256"] = "0" * 64
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", rows), "0.2")
    rules = edition("0.2")
    gold = Gold.read(suite, rules.benchmark)
    assert case_table.made_from(results.with_name(CASES), results)
    assert case_table.Stored(results.with_name(CASES)).answers(gold, frozenset()) is None


@pytest.mark.parametrize("content", [b"", b"PAR1 no table", None])
def test_a_damaged_table_is_not_used(run, tmp_path, content):
    results = run(golden_lines(results_of("middling")))
    if content is None:
        (tmp_path / CASES).unlink()
    else:
        (tmp_path / CASES).write_bytes(content)
    assert not case_table.made_from(tmp_path / CASES, results)
    assert score(Suite.open(SUITE_0_2, "0.2"), results, tmp_path, "x", draws=0).summary["counts"] == {"ok": 1112}
