"""Metrics against hand-worked values, brute force and properties that follow from their definitions."""

import math
import random
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring import index, metrics

LABELS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), min_size=1, max_size=30)


def naive_f1(gold, predicted, label, missing=0):
    pairs = list(zip(gold, predicted, strict=True))
    hits = sum(truth == guess == label for truth, guess in pairs)
    wrong = sum((truth == label) != (guess == label) for truth, guess in pairs)
    return 2 * hits / (2 * hits + wrong + missing) if hits or wrong or missing else 0.0


def test_mean_is_exact_where_a_running_sum_is_not():
    values = [1e16, 1.0, -1e16]
    assert metrics.mean(values) == 1 / 3
    assert metrics.mean([]) is None


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=40))
def test_mean_is_the_nearest_number_to_the_exact_mean(values):
    assert metrics.mean(values) == float(sum(map(Fraction, values)) / len(values))


def test_numbers_and_arrays_of_draws_follow_the_same_rules():
    raws, chances = np.array([0.75, 0.4, 1.0, 0.12346]), np.array([0.5, 0.5, 1.0, 0.0])
    singly = [metrics.skill(raw, chance) for raw, chance in zip(raws.tolist(), chances.tolist(), strict=True)]
    assert metrics.skill(raws, chances) == pytest.approx(singly)
    assert metrics.rounded(raws) == pytest.approx([round(raw, 4) for raw in raws.tolist()])
    assert metrics.clip(np.array([-0.1, 0.5, 1.1])).tolist() == [0.0, 0.5, 1.0]


def test_what_is_not_drawn_is_left_out_of_a_mean_of_arrays():
    tracks = [np.array([0.5, np.nan, np.nan]), np.array([1.0, 1.0, np.nan])]
    assert metrics.middle(tracks).tolist() == [0.75, 1.0, 0.0]
    assert metrics.known(tracks[0], 7.0).tolist() == [0.5, 7.0, 7.0]


def test_macro_mean_counts_a_cluster_once():
    assert metrics.macro_mean([1, 1, 1, 0], ["big", "big", "big", "small"]) == 0.5


def test_weighted_mean_multiplies_shares_before_adding():
    values, weights = [0.3, 0.7, 0.1], [1.2, 1.0, 1.0]
    shares = [weight / (1.2 + 1.0 + 1.0) for weight in weights]
    assert metrics.weighted_mean(values, weights) == shares[0] * 0.3 + shares[1] * 0.7 + shares[2] * 0.1


@pytest.mark.parametrize(
    ("raw", "chance", "skill"), [(0.75, 0.5, 0.5), (0.4, 0.5, 0.0), (1.0, 0.25, 1.0), (0.5, 0.0, 0.5), (1.0, 1.0, 0.0)]
)
def test_skill_is_the_gain_over_chance_clipped(raw, chance, skill):
    assert metrics.skill(raw, chance) == skill


def test_p95_is_an_element_of_the_list():
    assert metrics.p95(list(range(100, 0, -1))) == 95
    assert metrics.p95([7.0]) == 7.0
    assert metrics.p95([]) is None


def test_median_of_nothing_is_none():
    assert metrics.median([3, 1, 2]) == 2
    assert metrics.median([]) is None


@given(LABELS)
def test_macro_f1_averages_over_observed_labels(pairs):
    gold, predicted = zip(*pairs, strict=True)
    expected = [naive_f1(gold, predicted, label) for label in {*gold, *predicted}]
    assert metrics.macro_f1(gold, predicted) == pytest.approx(sum(expected) / len(expected))


@given(LABELS, st.integers(0, 5))
def test_conservative_f1_adds_missing_fields_to_every_label_of_a_fixed_set(pairs, missing):
    gold, predicted = zip(*pairs, strict=True)
    expected = [naive_f1(gold, predicted, label, missing) for label in "abcd"]
    value = metrics.conservative_macro_f1(gold, predicted, "abcd", missing)
    assert value == pytest.approx(sum(expected) / 4)
    assert value <= metrics.conservative_macro_f1(gold, predicted, "abcd", 0)


@given(LABELS, st.randoms())
def test_f1_does_not_depend_on_row_order(pairs, shuffler):
    shuffled = list(pairs)
    shuffler.shuffle(shuffled)
    assert metrics.macro_f1(*zip(*pairs, strict=True)) == metrics.macro_f1(*zip(*shuffled, strict=True))


def test_review_without_any_yes_counts_one():
    assert metrics.review_f1(["no", "no"], ["no", "no"], "yes") == 1.0
    assert metrics.review_f1(["no", "no"], ["yes", "no"], "yes") == 0.0
    assert metrics.review_f1(["yes", "yes", "no"], ["yes", "no", "yes"], "yes") == 0.5


def test_binary_f1_without_positives_is_zero():
    assert metrics.binary_f1(["no"], ["no"], "yes") == 0.0


def test_ranking_ties_go_by_document_id():
    assert metrics.rank({"b": 0.5, "a": 0.5, "c": 0.9}, ["b", "c", "a", "unscored"]) == ["c", "a", "b", "unscored"]


def test_ndcg_has_gain_two_to_the_relevance_less_one_and_an_ideal_over_all_judgments():
    qrels = {"a": 2, "b": 1, "elsewhere": 1}
    dcg = 1 / math.log2(2) + 3 / math.log2(3)
    ideal = 3 / math.log2(2) + 1 / math.log2(3) + 1 / math.log2(4)
    assert metrics.ndcg(["b", "a", "x"], qrels) == pytest.approx(dcg / ideal)


def test_ndcg_looks_at_ten_documents():
    ranking = [f"d{place}" for place in range(11)]
    assert metrics.ndcg(ranking, {"d10": 1}) == 0.0
    assert metrics.ndcg(ranking, {"d9": 1}) == pytest.approx(1 / math.log2(11))


def test_a_query_without_relevant_documents_has_no_ndcg_and_no_recall():
    assert metrics.ndcg(["a"], {"a": 0}) is None
    assert metrics.recall(["a"], {}) is None
    assert metrics.expected_ndcg(["a"], {}) == 0.0
    assert metrics.reciprocal_rank(["a"], {}) == 0.0


def test_expected_ndcg_is_the_mean_over_all_orders():
    documents, qrels = ["a", "b", "c", "d"], {"a": 2, "c": 1, "elsewhere": 3}
    orders = [metrics.ndcg(order, qrels) for order in permutations(documents)]
    assert metrics.expected_ndcg(documents, qrels) == pytest.approx(sum(orders) / len(orders))


def test_expected_ndcg_of_more_than_ten_documents_is_the_mean_over_random_orders():
    documents, qrels = [f"d{place}" for place in range(14)], {"d3": 1, "d8": 2}
    shuffler = random.Random(1)
    draws = [metrics.ndcg(shuffler.sample(documents, len(documents)), qrels) for _ in range(20000)]
    assert metrics.expected_ndcg(documents, qrels) == pytest.approx(sum(draws) / len(draws), abs=0.01)


def test_reciprocal_rank_and_recall_count_relevance_above_zero():
    qrels = {"a": 0, "b": 1, "elsewhere": 2}
    assert metrics.reciprocal_rank(["a", "b"], qrels) == 0.5
    assert metrics.recall(["a", "b"], qrels) == 0.5


def test_retrieval_order_falls_from_one():
    assert metrics.retrieval_probabilities(["a", "b", "c"]) == {"a": 1.0, "b": 0.75, "c": 0.5}


def test_brier_and_log_loss_of_sure_forecasts():
    assert metrics.brier(0.8, True) == pytest.approx(0.04)
    assert metrics.log_loss(1.0, True) == pytest.approx(0.0, abs=1e-14)
    assert metrics.log_loss(1, False) == pytest.approx(-math.log(1e-15), rel=1e-2)
    assert metrics.log_loss(1e-300, True) == -math.log(1e-15)


ROUTES = {"cheap": {"quality": 0.5, "cost_usd": 0.01}, "good": {"quality": 1.0, "cost_usd": 0.1}}


def test_routing_weighs_cost_only_with_a_penalty():
    assert metrics.routing(ROUTES, "good", 0.0) == {
        "quality": 1.0, "cost_usd": 0.1, "utility": 1.0, "oracle_optimal": True, "utility_regret": 0.0,
    }
    costly = metrics.routing(ROUTES, "good", 10.0)
    assert costly["utility"] == pytest.approx(0.0)
    assert not costly["oracle_optimal"]
    assert costly["utility_regret"] == pytest.approx(0.4)


def test_regrets_are_zero_for_the_best_option():
    assert metrics.value_regret({"e2e4": 0.75, "a2a3": 0.25}, "a2a3") == 0.5
    assert metrics.rank_regret({"x": 4, "y": 8, "z": 6}, "y", panel_size=4) == 0.5
    assert metrics.rank_regret({"x": 4, "y": 8, "z": 6}, "x", panel_size=4) == 0.0


def test_ranks_open_only_beyond_the_tie_width_of_the_one_above():
    places = index.ranks({"d": 49.5, "a": 50.5, "c": 50.0, "b": 50.25})
    assert [(place.name, place.rank, place.tied) for place in places] == [
        ("a", 1, True), ("b", 1, True), ("c", 1, True), ("d", 4, False),
    ]


def test_a_gap_of_the_tie_width_in_decimals_is_a_tie():
    assert {place.rank for place in index.ranks({"a": 57.89, "b": 57.64})} == {1}
