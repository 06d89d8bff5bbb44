"""cases.parquet of the golden model with every status."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from scoring import case_table
from scoring.report import CASES, score
from suite_builder.suite import Suite

GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cases")
    score(Suite.open(GOLDEN / "suite-0.2", "0.2.1"), GOLDEN / "results" / "gappy" / "results.jsonl.gz", folder, "x")
    return pq.read_table(folder / CASES)


def cases_of(table, catalog_id):
    return [row for row in table.to_pylist() if row["catalog_id"] == catalog_id]


def test_cases_have_the_documented_schema(table):
    assert table.schema.equals(case_table.SCHEMA)


def test_cases_hold_one_row_per_scored_field_of_every_request_in_row_order(table):
    suite = Suite.open(GOLDEN / "suite-0.2", "0.2.1")
    expected = [
        (label.run_id, question)
        for label in suite.labels()
        for question in label.options
        if label.catalog_id != 56 or question == "verdict"
    ]
    assert list(zip(table["run_id"].to_pylist(), table["question"].to_pylist(), strict=True)) == expected


def test_cases_give_the_accuracy_of_the_report(table):
    answered = [row for row in cases_of(table, 25) if row["status"] == "ok"]
    assert sum(row["correct"] for row in answered) / len(answered) == pytest.approx(0.7)


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
