"""What the score browser lists, against the expected files of the golden runs."""

import orjson
import pytest
from golden import GOLDEN

from di_tui.score_view import NOT_COUNTED, ORDERS, Order, View, area_scores, index_interval, measure
from di_tui.widgets.score_rows import score_rows
from scoring.editions import edition
from suite_builder.editions import editions

GOLDEN_EDITIONS = ("0.1", "0.2", "0.2.1")


def scores_of(name, model="middling"):
    return orjson.loads((GOLDEN / "expected" / name / model / "scores.json").read_bytes())


def benchmarks_of(name, model="middling"):
    return [own for area in area_scores(scores_of(name, model), edition(name)) for own in area.benchmarks]


@pytest.mark.parametrize("name", GOLDEN_EDITIONS)
def test_every_benchmark_with_rows_is_listed_once_and_weights_sum_to_1(name):
    listed = benchmarks_of(name)
    present = [int(key) for key, entry in scores_of(name)["benchmarks"].items() if entry["requests"]]
    assert sorted(own.catalog_id for own in listed) == sorted(present)
    assert sum(own.weight for own in listed) == pytest.approx(1)
    assert {own.catalog_id for own in listed if own.gold} == set(edition(name).gold)


@pytest.mark.parametrize("name", GOLDEN_EDITIONS)
def test_the_index_is_the_weighted_mean_of_what_is_listed(name):
    rules = edition(name)
    total = sum(own.weight * getattr(own, measure(rules)) for own in benchmarks_of(name))
    assert 100 * total == pytest.approx(scores_of(name)["decision_index"], abs=0.02)


def test_values_of_the_index_stand_beside_counts_and_native_scores():
    own = next(own for own in benchmarks_of("0.2.1", "gappy") if own.catalog_id == 44)
    entry = scores_of("0.2.1", "gappy")["benchmarks"]["44"]
    assert (own.raw, own.skill, own.chance) == (entry["index_raw"], entry["index_skill"], entry["chance"])
    assert (own.requests, own.answered) == (entry["requests"], entry["answered"])
    assert sum(own.counts.values()) == own.requests


def test_tracks_come_from_lists_and_from_native_reports():
    tracks = {own.catalog_id: own.tracks for own in benchmarks_of("0.2.1")}
    assert [track.name for track in tracks[40] if track.headline] == ["A · English"]
    assert [track.name for track in tracks[6]] == ["RouterBench-0shot", "RouterBench-5shot"]
    assert tracks[6][0].requests and tracks[44] == ()


def test_a_benchmark_that_an_edition_only_shows_has_its_native_value():
    own = next(own for own in benchmarks_of("0.1") if own.catalog_id == 48)
    assert (own.area, own.weight, own.skill, own.raw) == (NOT_COUNTED, 0, None, scores_of("0.1")["benchmarks"]["48"]["score"])


def test_scores_without_resamples_have_no_interval():
    assert index_interval(scores_of("0.2.1"), edition("0.2.1")) is None
    assert all(own.interval is None for own in benchmarks_of("0.2.1"))


@pytest.mark.parametrize("column", ORDERS)
def test_every_order_keeps_all_benchmarks_and_turns_round_with_unknown_values_last(column):
    listed = benchmarks_of("0.1")
    value, descends = ORDERS[column]
    for turned in (False, True):
        ordered = Order(column, turned).apply(listed)
        assert sorted(own.catalog_id for own in ordered) == sorted(own.catalog_id for own in listed)
        known = [value(own) for own in ordered if value(own) is not None]
        assert known == sorted(known, reverse=descends != turned)
        assert all(value(own) is None for own in ordered[len(known) :])


def test_choosing_a_column_three_times_comes_back_to_the_areas():
    once = Order().chosen("skill")
    assert (once.column, once.descends) == ("skill", True)
    assert not once.chosen("skill").descends
    assert once.chosen("skill").chosen("skill") == Order()
    assert once.chosen("raw") == Order("raw")


FOUND = {"cladder": {44}, "#44": {44}, "english": {40}, "TOOLS & AUTO": {1, 2, 3, 9, 62}, "zz": set()}


@pytest.mark.parametrize("text, found", FOUND.items())
def test_a_text_finds_names_numbers_tracks_and_areas(text, found):
    view = View(text=text)
    assert {own.catalog_id for own in benchmarks_of("0.2.1") if view.shows(own)} == found


def test_rows_are_areas_with_benchmarks_below_and_fold_and_open():
    areas = area_scores(scores_of("0.2.1"), edition("0.2.1"))
    keys = [row.key for row in score_rows(areas, View(), "skill")]
    assert keys[:3] == ["knowledge", 25, 30]
    folded = [row.key for row in score_rows(areas, View(folded=frozenset({"knowledge"})), "skill")]
    assert folded[:3] == ["knowledge", "language", 11]
    opened = [row.key for row in score_rows(areas, View(opened=frozenset({30})), "skill")]
    assert opened[2:6] == [30, (30, "GSM8K-4choice"), (30, "GSM8K-10choice"), 31]
    flat = [row.key for row in score_rows(areas, View(Order("name")), "skill")]
    assert set(flat) == {key for key in keys if isinstance(key, int)}


def test_a_filter_shows_what_is_below_a_folded_area():
    areas = area_scores(scores_of("0.2.1"), edition("0.2.1"))
    view = View(text="cladder", folded=frozenset({"knowledge"}))
    assert [row.key for row in score_rows(areas, view, "skill")] == ["knowledge", 44]


def test_every_edition_can_be_listed():
    assert set(GOLDEN_EDITIONS) < set(editions())
    for name in editions():
        assert measure(edition(name)) == ("raw" if name == "0.1" else "skill")
