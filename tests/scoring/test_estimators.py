"""Estimators: the value on a resample is the exact value of the items drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.estimators import LabelF1, MacroMean, Mean

GROUPS = 4


@st.composite
def resamples(draw):
    """Items' groups (every group has some), and how often each group is drawn, at least one of them."""
    groups = list(range(GROUPS)) + draw(st.lists(st.integers(0, GROUPS - 1), max_size=12))
    counts = draw(st.lists(st.integers(0, 3), min_size=GROUPS, max_size=GROUPS).filter(sum))
    return np.array(groups), np.array(counts)


def expanded(groups, counts):
    """Places of the items of the drawn groups, and for each which copy of its group it belongs to."""
    places, copies = [], []
    for group, count in enumerate(counts):
        for copy in range(count):
            own = np.flatnonzero(groups == group)
            places += own.tolist()
            copies += [(group, copy)] * len(own)
    return np.array(places, int), copies


def on(estimator, counts):
    return estimator.resampled(np.array([counts, np.ones(GROUPS)], float))[0]


def numbers(data, count, low, high):
    return np.array(data.draw(st.lists(st.integers(low, high), min_size=count, max_size=count)))


@given(resamples(), st.data())
def test_mean_of_a_resample_is_the_mean_of_what_was_drawn(drawn, data):
    groups, counts = drawn
    values = numbers(data, len(groups), 0, 5) / 4
    places, _copies = expanded(groups, counts)
    assert on(Mean(values, groups), counts) == pytest.approx(Mean(values[places], groups[places]).value())


@given(resamples(), st.data())
def test_f1_of_a_resample_is_the_f1_of_what_was_drawn(drawn, data):
    groups, counts = drawn
    gold, predicted = numbers(data, len(groups), 0, 2), numbers(data, len(groups), 0, 3)
    missing = numbers(data, 5, 0, GROUPS - 1)
    places, _copies = expanded(groups, counts)
    absent = expanded(missing, counts)[0]
    for labels in (None, np.array([0, 2, 3])):
        usual = LabelF1(gold, predicted, groups, labels)
        assert on(usual, counts) == pytest.approx(LabelF1(gold[places], predicted[places], groups[places], labels).value())
    fixed = LabelF1(gold, predicted, groups, np.array([0, 1, 2, 3]), missing)
    again = LabelF1(gold[places], predicted[places], groups[places], np.array([0, 1, 2, 3]), missing[absent])
    assert on(fixed, counts) == pytest.approx(again.value())


@given(resamples(), st.data())
def test_macro_mean_of_a_resample_is_that_of_what_was_drawn(drawn, data):
    groups, counts = drawn
    values, clusters = numbers(data, len(groups), 0, 1), numbers(data, len(groups), 0, 2)
    places, copies = expanded(groups, counts)
    within = {cluster for cluster in clusters if len(set(groups[clusters == cluster])) == 1}
    names = [(cluster, copy if cluster in within else None) for cluster, copy in zip(clusters[places], copies, strict=True)]
    numbered = np.array([sorted(set(names), key=str).index(name) for name in names])
    expected = MacroMean(values[places], groups[places], numbered).value()
    assert on(MacroMean(values, groups, clusters), counts) == pytest.approx(expected)


@given(resamples(), st.data())
def test_every_group_drawn_once_gives_the_value(drawn, data):
    groups, _counts = drawn
    values, labels = numbers(data, len(groups), 0, 1), numbers(data, len(groups), 0, 3)
    once = np.ones((1, GROUPS))
    for estimator in (Mean(values, groups), MacroMean(values, groups, labels), LabelF1(labels, values, groups)):
        assert estimator.resampled(once) == pytest.approx([estimator.value()])


def test_a_resample_without_any_item_is_nan():
    counts = np.array([[1.0, 0.0]])
    items = np.array([0.5]), np.array([1])
    assert np.isnan(Mean(*items).resampled(counts)).all()
    assert np.isnan(MacroMean(*items, np.array([0])).resampled(counts)).all()
    assert np.isnan(LabelF1(np.array([0]), np.array([0]), np.array([1])).resampled(counts)).all()


def test_estimators_of_nothing_have_no_value():
    empty = np.zeros(0), np.zeros(0, int)
    counts = np.ones((3, 2))
    for estimator in (Mean(*empty), MacroMean(*empty, np.zeros(0, int)), LabelF1(*[np.zeros(0, int)] * 3)):
        assert estimator.value() is None
        assert np.isnan(estimator.resampled(counts)).all()


def test_a_mean_is_exact_where_a_running_sum_is_not():
    assert Mean(np.array([1e16, 1.0, -1e16]), np.zeros(3, int)).value() == 1 / 3
