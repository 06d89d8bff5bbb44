"""Editions as data: panels, weights and chance levels are the published ones."""

import json
from pathlib import Path

import pytest

from scoring.editions import edition, frozen_chance
from suite_builder.catalog import benchmarks
from suite_builder.errors import SuiteError

RECIPES = Path(__file__).parents[2].parent / "shared" / "recipes"
EDITIONS = ("0.1", "0.2", "0.2.1", "0.3")
IN_CATALOG = EDITIONS[:3]
needs_recipes = pytest.mark.skipif(not RECIPES.is_dir(), reason="needs ../shared/recipes")


def recipe(name):
    return json.loads((RECIPES / name).read_text("utf-8"))


def test_default_edition_is_0_2_1():
    assert edition().id == "0.2.1"


def test_editions_are_found_by_release_name():
    assert edition("release-v2") is edition("0.2")


def test_unknown_edition_is_refused_by_name():
    with pytest.raises(SuiteError, match="0.9"):
        edition("0.9")


@pytest.mark.parametrize(("edition_id", "counted"), [("0.1", 19), ("0.2", 40), ("0.2.1", 38), ("0.3", 37)])
def test_panel_counts_every_benchmark_once(edition_id, counted):
    panel = edition(edition_id).panel
    assert len(panel) == len(set(panel)) == counted


@pytest.mark.parametrize("edition_id", EDITIONS)
def test_panel_and_shown_benchmarks_are_the_suites_and_have_a_chance_level(edition_id):
    rules = edition(edition_id)
    assert not set(rules.panel) & set(rules.shown)
    for catalog_id in (*rules.panel, *rules.shown):
        assert catalog_id in benchmarks()
        assert catalog_id in rules.chance


def test_area_weights_of_0_2_1_follow_from_the_rule():
    assert [round(share, 6) for share in edition("0.2.1").shares()] == [0.258494, 0.258494, 0.200229, 0.182783, 0.1]


def test_area_weights_of_0_3_are_fixed_whatever_the_number_of_benchmarks():
    rules = edition("0.3")
    assert rules.shares() == [0.258494, 0.258494, 0.200229, 0.182783, 0.1]
    assert sum(rules.shares()) == pytest.approx(1)
    assert [len(area.benchmarks) for area in rules.areas] == [11, 9, 6, 5, 6]


def test_0_3_drops_the_forecasts_and_moves_winogrande_to_knowledge():
    earlier, rules = edition("0.2.1"), edition("0.3")
    assert set(earlier.panel) - set(rules.panel) == {48}
    assert set(rules.panel) < set(earlier.panel)
    assert 28 in rules.areas[0].benchmarks
    assert earlier.gold - rules.gold == {48}
    assert {key: level for key, level in earlier.chance.items() if key != 48} == rules.chance


def test_a_part_of_an_edition_lets_the_rest_stand_for_what_is_missing():
    rules = edition("0.2.1").only({25, 57, 9})
    assert [area.benchmarks for area in rules.areas] == [(25, 57), (9,)]
    assert sum(rules.shares()) == pytest.approx(1)
    assert rules.shares()[0] / rules.shares()[1] == pytest.approx(0.258494 / 0.182783, rel=1e-5)


@pytest.mark.parametrize("edition_id", ["0.1", "0.2"])
def test_areas_of_the_first_editions_weigh_the_same(edition_id):
    assert edition(edition_id).shares() == pytest.approx([0.2] * 5)


def test_gold_weights_apply_inside_areas_of_0_2_1():
    rules = edition("0.2.1")
    weights = {area.id: dict(zip(area.benchmarks, rules.weights(area), strict=True)) for area in rules.areas}
    assert weights["tools"] == {1: 1.2, 2: 1.0, 3: 1.2, 9: 1.0, 62: 1.0}


def test_acos_is_scored_by_review_from_0_2_1_on():
    metrics = [edition(edition_id).benchmark(38).metric for edition_id in EDITIONS]
    assert metrics == ["case exact accuracy", "case exact accuracy", "per-review F1", "per-review F1"]


@needs_recipes
@pytest.mark.parametrize("edition_id", IN_CATALOG)
def test_panel_agrees_with_the_published_catalog(edition_id):
    rules = edition(edition_id)
    areas = {catalog_id: area.label for area in rules.areas for catalog_id in area.benchmarks}
    for entry in recipe("catalog.json")["benchmarks"]:
        counted = bool(entry["in_index"].get(edition_id))
        assert (entry["id"] in rules.panel) == counted
        if counted:
            assert areas[entry["id"]] == entry["area"][edition_id]
            assert rules.chance[entry["id"]] == pytest.approx(published_chance(entry, edition_id), abs=1e-12)
        if edition_id == "0.2.1" and counted:
            assert (entry["id"] in rules.gold) == entry["gold"]


def published_chance(entry, edition_id):
    """40 has a chance only by track; its headline track stands for it."""
    if entry["chance"][edition_id] is None:
        return recipe("chance-levels.json")["benchmarks"]["40"]["tracks"]["iSarcasmEval-A-En"]["value"]
    return entry["chance"][edition_id]


@needs_recipes
def test_panel_identity_agrees_with_the_published_editions():
    for edition_id, published in recipe("editions.json")["editions"].items():
        rules = edition(edition_id)
        assert (rules.panel_id, rules.headline) == (published["panel_id"], published["headline"])
        if "not_in_index" in published:
            assert sorted(rules.shown) == published["not_in_index"]


@needs_recipes
def test_frozen_chance_levels_are_the_published_ones_at_full_precision():
    published = recipe("chance-levels.json")["benchmarks"]
    for catalog_id, tracks in frozen_chance().items():
        levels = published[str(catalog_id)]
        for track, value in tracks.items():
            source = levels["primary"] if track == "all" else levels["tracks"][track]
            assert value == source["value"]
