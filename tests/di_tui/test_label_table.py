"""Labels and confusions against the fields that they count, over golden runs."""

from collections import Counter

import numpy as np
import pytest
from golden_runs import golden_suite, scored_golden_run

from di_tui.label_table import label_table, latency_bins
from scoring.answers import OK
from scoring.editions import edition
from scoring.loading import load
from suite_builder.suite import Suite


@pytest.fixture(scope="module")
def sheets():
    rules = edition("0.2.1")
    suite = Suite.open(golden_suite(), rules.id)
    return load(suite, scored_golden_run("gappy") / "results.jsonl", rules).sheets()


def test_labels_count_every_answered_field_once(sheets):
    seen = 0
    for sheet in sheets.values():
        found = label_table(sheet)
        if found is None:
            continue
        seen += 1
        answered = (sheet.status == OK)[sheet.request] & (sheet.gold >= 0) & (sheet.predicted >= 0)
        assert found.fields == answered.sum()
        assert sum(label.gold for label in found.labels) == sum(label.predicted for label in found.labels) == found.fields
        wrong = sum(own.count for own in found.confusions)
        assert sum(label.hits for label in found.labels) + wrong == found.fields
        accepted_ties = sheet.cases.rule_of(sheet.catalog_id).accepts_ties
        assert accepted_ties or sum(label.hits for label in found.labels) == sheet.hit[answered].sum()
    assert seen > 20


def test_labels_are_words_where_option_keys_are_numbers(sheets):
    assert {label.name for label in label_table(sheets[41]).labels} == {"against", "favor", "neutral"}
    assert not label_table(sheets[41]).by_key
    assert {label.name for label in label_table(sheets[59]).labels} == {"false", "true"}


def test_options_that_are_others_in_every_row_are_told_apart_by_key(sheets):
    found = label_table(sheets[57])
    assert found.by_key
    assert {label.name for label in found.labels} <= set("ABCDEFGHIJ")


def test_precision_recall_and_f1_of_a_label(sheets):
    sheet = sheets[41]
    answered = (sheet.status == OK)[sheet.request]
    keys = Counter(zip((sheet.gold[answered]).tolist(), sheet.predicted[answered].tolist(), strict=True))
    against = next(label for label in label_table(sheet).labels if label.name == "against")
    gold = sum(count for pair, count in keys.items() if pair[0] == 0)
    hits, predicted = keys[0, 0], sum(count for pair, count in keys.items() if pair[1] == 0)
    assert (against.recall, against.precision) == (hits / gold, hits / predicted)
    assert against.f1 == pytest.approx(2 * hits / (gold + predicted))


@pytest.mark.parametrize("catalog_id", [2, 6, 36, 48])
def test_rankings_routes_and_forecasts_have_no_labels(sheets, catalog_id):
    assert label_table(sheets[catalog_id]) is None


def test_a_benchmark_without_any_answer_has_no_labels(sheets):
    assert label_table(sheets[4]) is None


def test_latency_bins_hold_every_time_and_touch_each_other():
    times = np.array([3.0, 5.0, 70.0, 70.0, 900.0, 12_000.0])
    bins = latency_bins(times)
    assert sum(own.count for own in bins) == len(times)
    assert (bins[0].low, bins[-1].high) == (3.0, 12_000.0)
    assert all(one.high == pytest.approx(two.low) for one, two in zip(bins, bins[1:], strict=False))


def test_equal_times_are_one_bin_and_none_are_no_bins():
    assert [own.count for own in latency_bins(np.full(9, 40.0))] == [9]
    assert latency_bins(np.array([])) == [] == latency_bins(np.array([0.0]))
