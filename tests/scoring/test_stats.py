"""Bootstrap intervals: what they are made of, and what must hold of them."""

import numpy as np
import pytest
from golden import SUITE_0_2, golden_lines, results_of, write_lines

from scoring import index, stats
from scoring.editions import edition
from scoring.estimates import Estimate
from scoring.estimators import LabelF1, Mean
from scoring.loading import load
from scoring.stats import Interval, draw, draw_all, interval, intervals, ranks_by_interval, resamples
from suite_builder.suite import Suite

RULES = edition("0.2.1")


def sheets_of(model):
    return load(Suite.open(SUITE_0_2, "0.2.1"), results_of(model), RULES).sheets()


@pytest.fixture(scope="module")
def middling():
    return sheets_of("middling")


def estimates_of(sheets):
    return {key: Estimate.of(RULES, key, sheets.get(key)) for key in RULES.panel}


def accuracy(hits):
    """An estimate whose value is the share of hits, each a group of its own."""
    hits, groups = np.asarray(hits, float), np.arange(len(hits))
    return Estimate("chance", True, 0.0, Mean(hits, groups), Mean(np.ones(len(hits)), groups))


def test_every_resample_draws_as_many_groups_as_there_are():
    (counts,) = resamples(4, 30, 50)
    assert counts.shape == (50, 30)
    assert (counts.sum(axis=1) == 30).all() and (counts >= 0).all()


def test_large_benchmarks_come_in_batches_and_give_the_same_number_of_draws(monkeypatch):
    monkeypatch.setattr(stats, "NUMBERS_A_BATCH", 70)
    assert [len(counts) for counts in resamples(4, 30, 5)] == [2, 2, 1]


def test_resamples_depend_on_seed_and_benchmark_only():
    first, again = (next(resamples(4, 30, 5)) for _time in range(2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, next(resamples(5, 30, 5)))
    assert not np.array_equal(first, next(resamples(4, 30, 5, seed=1)))


def test_an_interval_leaves_a_fortieth_of_the_draws_on_both_sides():
    draws = np.arange(1.0, 1001.0)
    assert interval(draws, 500.5) == pytest.approx((25.975, 975.025))


def test_an_interval_shifts_where_the_draws_are_biased():
    draws = np.random.default_rng(0).normal(-0.3, 1, 40000)
    assert interval(draws, 0.0) == pytest.approx((0.3 - 1.96, 0.3 + 1.96), abs=0.1)


def test_a_value_at_the_end_of_its_draws_keeps_plain_percentiles():
    draws = np.concatenate([np.zeros(600), np.linspace(0.001, 0.4, 400)])
    assert interval(draws, 0.0) == pytest.approx(tuple(np.quantile(draws, (0.025, 0.975))))
    assert interval(np.ones(50), 1.0) == Interval(1.0, 1.0)


def test_intervals_do_not_depend_on_the_scale_of_ties():
    hits = [1, 0] * 40
    low, high = interval(draw([accuracy(hits)], 25, 80)[0].raw, 0.5)
    assert low == pytest.approx(1 - high, abs=0.02)


def test_linked_requests_are_drawn_together(middling):
    sheet = middling[30]
    assert len(sheet) == 34 and sheet.groups == 17
    estimate = Estimate.of(RULES, 30, sheet)
    (counts,) = resamples(30, sheet.groups, 20)
    tracks = [track.raw.resampled(counts) for track in estimate.tracks.tracks]
    assert draw([estimate], 30, sheet.groups, 20)[0].raw == pytest.approx(np.mean(tracks, axis=0), abs=1e-4)


def test_rules_of_the_index_apply_to_every_draw(middling):
    for catalog_id in (4, 25, 30, 48, 57):
        value = draw([Estimate.of(RULES, catalog_id, middling[catalog_id])], catalog_id, middling[catalog_id].groups, 50)[0]
        assert ((0 <= value.raw) & (value.raw <= 1) & (0 <= value.skill) & (value.skill <= 1)).all()
        if catalog_id in (25, 57):
            chance = RULES.chance[catalog_id]
            assert value.skill == pytest.approx(np.clip((value.raw - chance) / (1 - chance), 0, 1), abs=1e-4)
            assert value.raw == pytest.approx(np.round(value.raw, 4))


def test_unanswered_requests_lower_every_draw():
    sheets = sheets_of("gappy")
    value = draw([Estimate.of(RULES, 57, sheets[57])], 57, sheets[57].groups, 200)[0]
    assert value.coverage.std() > 0
    assert (value.raw <= value.coverage + 1e-4).all()


def test_benchmarks_without_cases_are_the_same_in_every_draw():
    (value,) = draw([Estimate("track", True, 0.25)], 24, 0, 7)
    assert value.raw.tolist() == [0.0] * 7


@pytest.mark.parametrize("model", ["middling", "gappy", "partial-groups", "random", "near-perfect"])
def test_every_benchmark_area_and_score_has_an_interval_around_its_value(model):
    sheets = sheets_of(model)
    estimates = estimates_of(sheets)
    values = {key: estimate.published() for key, estimate in estimates.items()}
    (drawn,) = draw_all([estimates], {key: sheet.groups for key, sheet in sheets.items()}, 200)
    found = intervals(RULES, values, drawn)
    assert found.benchmarks.keys() == set(RULES.panel)
    for key, own in found.benchmarks.items():
        assert own["raw"].low - 1e-9 <= values[key].raw <= own["raw"].high + 1e-9
    built = index.build(RULES, values)
    for area in built.areas:
        assert found.areas[area.area.id]["skill"].low <= area.skill <= found.areas[area.area.id]["skill"].high
    for name, score in built.scores.items():
        assert found.scores[name].low < score < found.scores[name].high


def test_runs_are_drawn_alike_so_that_the_same_run_differs_nowhere(middling):
    estimates = estimates_of(middling)
    one, other = draw_all([estimates, dict(estimates)], {key: sheet.groups for key, sheet in middling.items()}, 20)
    for key in estimates:
        assert np.array_equal(one[key].raw, other[key].raw)


def test_paired_intervals_are_narrower_than_unpaired_ones_on_correlated_runs():
    chance = np.random.default_rng(3)
    first = chance.random(400) < 0.6
    second = np.where(chance.random(400) < 0.1, ~first, first)
    one, other = draw([accuracy(first), accuracy(second)], 25, 400)
    paired = interval(other.raw - one.raw, second.mean() - first.mean())
    alone = draw([accuracy(second)], 26, 400)[0]
    unpaired = interval(alone.raw - one.raw, second.mean() - first.mean())
    assert paired.high - paired.low < 0.7 * (unpaired.high - unpaired.low)


def test_macro_f1_intervals_allow_for_the_bias_of_its_draws():
    chance = np.random.default_rng(5)
    gold = chance.integers(0, 77, 3080)
    predicted = np.where(chance.random(3080) < 0.7, gold, chance.integers(0, 77, 3080))
    score = LabelF1(gold, predicted, np.arange(3080))
    draws = np.concatenate([score.resampled(counts) for counts in resamples(4, 3080, 300)])
    assert draws.mean() < score.value()
    low, high = interval(draws, score.value())
    assert high - score.value() > np.quantile(draws, 0.975) - score.value()


def test_more_draws_of_the_same_seed_begin_with_the_same_ones():
    few, more = (draw([accuracy([1, 0, 1, 1])], 25, 4, number)[0].raw for number in (10, 20))
    assert np.array_equal(few, more[:10])


def test_ranks_count_those_whose_whole_interval_lies_above():
    scores = {
        "C": (55.0, Interval(50, 59.9)),
        "A": (62.0, Interval(60, 64)),
        "D": (45.0, Interval(40, 49)),
        "B": (60.5, Interval(58, 63)),
    }
    places = ranks_by_interval(scores)
    assert [(place.name, place.rank, place.tied) for place in places] == [
        ("A", 1, True), ("B", 1, True), ("C", 2, False), ("D", 4, False),
    ]


def test_coverage_never_falls_when_more_is_answered(tmp_path):
    rows = golden_lines(results_of("near-perfect"))
    before: dict[int, float] = {}
    for count in (0, 200, 450, 800, len(rows)):
        path = write_lines(tmp_path / f"{count}.jsonl", rows[:count])
        sheets = load(Suite.open(SUITE_0_2, "0.2.1"), path, RULES).sheets()
        coverage = {key: estimate.published().coverage for key, estimate in estimates_of(sheets).items()}
        assert all(coverage[key] >= share for key, share in before.items())
        before = coverage
    assert set(before.values()) == {1.0}
