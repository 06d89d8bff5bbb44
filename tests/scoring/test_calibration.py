"""Calibration against hand-worked values and properties that follow from the definitions."""

import numpy as np
import pytest
from golden import SUITE_0_2, results_of
from hypothesis import given
from hypothesis import strategies as st

from scoring import calibration
from scoring.calibration import at_threshold, bins, brier, expected_calibration_error, of_run, report
from scoring.editions import edition
from scoring.loading import load
from suite_builder.suite import Suite

ANSWERS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def columns(answers):
    confidence, right = zip(*answers, strict=True)
    return np.array(confidence, float), np.array(right, bool)


def test_ece_of_ten_right_closed_bins():
    answers = [(0.10, 0), (0.35, 1), (0.62, 1), (0.68, 0), (0.90, 1), (0.95, 1), (1.00, 0)]
    assert expected_calibration_error(bins(*columns(answers))) == pytest.approx(0.3)
    assert expected_calibration_error(bins(*columns([(0.75, 1), (0.25, 0)]))) == pytest.approx(0.25)


def test_a_bin_holds_its_upper_bound_and_the_first_one_zero():
    table = bins(np.array([0.0, 0.1, 0.3, 0.7, 1.0]), np.ones(5, bool))
    assert [row["n"] for row in table] == [2, 0, 1, 0, 0, 0, 1, 0, 0, 1]
    assert (table[0]["from"], table[0]["to"], table[-1]["to"]) == (0.0, 0.1, 1.0)
    assert table[1]["accuracy"] is None


@pytest.mark.parametrize("count", [2, 5, 15])
def test_the_number_of_bins_is_a_parameter(count):
    table = bins(np.linspace(0, 1, 50), np.ones(50, bool), count)
    assert len(table) == count and sum(row["n"] for row in table) == 50


@pytest.mark.parametrize(
    ("probabilities", "gold", "value"),
    [
        ([0.7, 0.2, 0.1], 0, 0.14),
        ([0.7, 0.2, 0.1], 1, 1.14),
        ([0.1, 0.9], 1, 0.02),
        ([0.0, 0.1, 0.2, 0.3, 0.4], 3, 0.70),
    ],
)
def test_multiclass_brier_of_hand_worked_answers(probabilities, gold, value):
    squares = sum(p * p for p in probabilities)
    assert brier(np.array([probabilities[gold]]), np.array([squares])) == pytest.approx(value)


ITEMS = [(0.95, True), (0.85, False), (0.82, True), (0.60, False), (0.45, True)]


@pytest.mark.parametrize(
    ("threshold", "coverage", "accuracy", "net_value"),
    [(0.5, 4 / 5, 2 / 4, 0.0), (0.7, 3 / 5, 2 / 3, None), (0.8, 3 / 5, 2 / 3, -0.4), (0.9, 1 / 5, 1.0, 0.2), (0.95, 1 / 5, 1.0, 0.2)],
)
def test_selective_answering_at_thresholds(threshold, coverage, accuracy, net_value):
    found = at_threshold(*columns(ITEMS), 5, threshold)
    assert (found["coverage"], found["accuracy"]) == pytest.approx((coverage, accuracy))
    if net_value is not None:
        assert found["net_value"] == pytest.approx(net_value)


def test_a_confidence_at_the_threshold_is_taken_and_one_below_is_not():
    one = np.array([True])
    assert at_threshold(np.array([0.9]), one, 1, 0.9)["net_value"] == 1
    assert at_threshold(np.array([0.8999]), one, 1, 0.9)["net_value"] == 0
    assert at_threshold(np.array([0.5]), ~one, 1, 0.5)["net_value"] == -1
    assert at_threshold(np.array([1.0]), ~one, 1, 0.8)["net_value"] == -4
    assert at_threshold(np.array([1.0]), ~one, 1, 0.9)["net_value"] == -9


def test_unanswered_fields_are_handed_off():
    found = at_threshold(np.array([1.0]), np.array([True]), 4, 0.5)
    assert (found["coverage"], found["accuracy"], found["net_value"]) == (0.25, 1.0, 0.25)
    assert at_threshold(np.zeros(0), np.zeros(0, bool), 0, 0.5)["coverage"] is None


@given(ANSWERS)
def test_errors_are_shares_and_coverage_falls_with_the_threshold(answers):
    confidence, right = columns(answers)
    found = report(confidence, right, confidence, confidence**2, len(answers))
    assert 0 <= found["ece"] <= 1
    coverage = [row["coverage"] for row in found["thresholds"]]
    assert coverage == sorted(coverage, reverse=True)


@given(ANSWERS, st.randoms())
def test_the_order_of_answers_does_not_matter(answers, shuffler):
    shuffled = list(answers)
    shuffler.shuffle(shuffled)
    one, other = (expected_calibration_error(bins(*columns(own))) for own in (answers, shuffled))
    assert one == pytest.approx(other)


def test_certain_and_right_is_perfect():
    ones = np.ones(5)
    found = report(ones, ones.astype(bool), ones, ones, 5)
    assert (found["ece"], found["brier"]) == (0.0, 0.0)
    assert {row["net_value"] for row in found["thresholds"]} == {1.0}


def test_nothing_answered_has_no_errors():
    empty = np.zeros(0)
    found = report(empty, empty.astype(bool), empty, empty, 3)
    assert (found["ece"], found["brier"], found["accuracy"], found["answered"]) == (None, None, None, 0)


def test_a_run_is_calibrated_over_its_answered_fields():
    rules = edition("0.2.1")
    sheets = load(Suite.open(SUITE_0_2, "0.2.1"), results_of("gappy"), rules).sheets()
    found = of_run(sheets, rules)
    own = found["benchmarks"]["25"]
    assert (own["fields"], own["answered"]) == (19, 10)
    assert own["accuracy"] == pytest.approx(0.7)
    assert found["benchmarks"]["64"]["answered"] == 0
    assert found["overall"]["fields"] == sum(entry["fields"] for entry in found["benchmarks"].values())
    assert of_run({}, rules) == {"bins": calibration.BINS, "overall": None, "benchmarks": {}}


def test_a_forecast_counts_as_the_more_probable_side():
    rules = edition("0.2.1")
    sheets = load(Suite.open(SUITE_0_2, "0.2.1"), results_of("near-perfect"), rules).sheets()
    own = of_run(sheets, rules)["benchmarks"]["48"]
    assert own["answered"] == 30 and own["accuracy"] > 0.8
