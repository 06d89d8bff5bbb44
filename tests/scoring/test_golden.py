"""The golden sets: synthetic suites and models with the numbers that the published scorers give for them.

tests/fixtures/golden is a copy of ../shared/golden (random words); the board figures there are published ones.
"""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from scoring import documents, index
from scoring.answers import OK, Answers, Others
from scoring.editions import edition
from scoring.metrics import skill
from scoring.report import INDEX, SCORES, SUMMARY, score
from suite_builder.suite import Suite

GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden"
SUITES = {"0.1": "suite-0.1", "0.2": "suite-0.2", "0.2.1": "suite-0.2"}
RUNS = sorted((path.parent.name, path.name) for path in GOLDEN.glob("expected/*/*"))
BOARDS = ("0.2", "0.2.1")


def load(path):
    return json.loads(path.read_text("utf-8"))


def differences(expected, got, path=""):
    """Paths where `got` is not `expected`; keys that only `got` has are free."""
    if isinstance(expected, dict):
        if not isinstance(got, dict):
            return [f"{path}: {got!r} is no object"]
        missing = [f"{path}.{key}: missing" for key in expected.keys() - got.keys()]
        shared = expected.keys() & got.keys()
        return missing + [line for key in shared for line in differences(expected[key], got[key], f"{path}.{key}")]
    if isinstance(expected, list):
        if not isinstance(got, list) or len(expected) != len(got):
            return [f"{path}: {got!r}, not {expected!r}"]
        pairs = enumerate(zip(expected, got, strict=True))
        return [line for place, (one, other) in pairs for line in differences(one, other, f"{path}[{place}]")]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (expected, got))
    same = abs(expected - got) <= 1e-9 if numbers else type(expected) is type(got) and expected == got
    return [] if same else [f"{path}: {got!r}, not {expected!r}"]


@pytest.mark.parametrize(("edition_id", "run"), RUNS)
def test_score_files_equal_the_published_scorers(edition_id, run, tmp_path):
    model, _vs, other = run.partition("-vs-")
    results = GOLDEN / "results" / model / "results.jsonl.gz"
    reference = GOLDEN / "results" / other / "results.jsonl.gz" if other else None
    score(Suite.open(GOLDEN / SUITES[edition_id], edition_id), results, tmp_path, model, reference)
    expected = GOLDEN / "expected" / edition_id / run
    for name in (SUMMARY, INDEX, SCORES):
        assert differences(load(expected / name), load(tmp_path / name)) == []


@pytest.mark.parametrize("edition_id", SUITES)
def test_cuts_keep_the_published_rows(edition_id):
    kept = {}
    for label in Suite.open(GOLDEN / SUITES[edition_id], edition_id).labels(with_excluded=True):
        kept.setdefault(str(label.catalog_id), set()).add(label.run_id)
    for catalog_id, run_ids in load(GOLDEN / "subsets.json")[edition_id].items():
        assert kept[catalog_id] == set(run_ids)


def board_entrants():
    for edition_id in BOARDS:
        for name, entrant in load(GOLDEN / f"real-board-{edition_id}.json")["entrants"].items():
            yield pytest.param(edition_id, entrant, id=f"{edition_id}-{name}")


def value_of(rules, catalog_id, figures):
    """A benchmark's value from its native result; from the board's own figures where only all rows could give it."""
    if rules.value_rule(catalog_id) == "track":
        return index.Value(**figures["board"], chance=None, rule="track")
    result = figures["result"]
    chance = rules.chance[catalog_id]
    return index.native_value(
        rules.value_rule(catalog_id), result["score"], result["answered"], result["requests"], chance
    )


@pytest.mark.parametrize(("edition_id", "entrant"), board_entrants())
def test_published_board_figures_come_out(edition_id, entrant):
    rules = edition(edition_id)
    figures = {int(catalog_id): both for catalog_id, both in entrant["benchmarks"].items()}
    assert figures.keys() == set(rules.panel)
    values = {catalog_id: value_of(rules, catalog_id, both) for catalog_id, both in figures.items()}
    for catalog_id, value in values.items():
        assert value.raw == pytest.approx(figures[catalog_id]["board"]["raw"], abs=1.5e-4)
        assert value.skill == pytest.approx(figures[catalog_id]["board"]["skill"], abs=1.5e-4)
    assert index.build(rules, values).scores == pytest.approx(entrant["scores"], abs=0.01)


@pytest.mark.parametrize("edition_id", BOARDS)
def test_skill_follows_from_raw_and_published_chance(edition_id):
    rules = edition(edition_id)
    fixed_chance = rules.track_scored - {2, 6, 30, 36}
    for entrant in load(GOLDEN / f"real-board-{edition_id}.json")["entrants"].values():
        for catalog_id in fixed_chance:
            board = entrant["benchmarks"][str(catalog_id)]["board"]
            assert skill(board["raw"], rules.chance[catalog_id]) == pytest.approx(board["skill"], abs=1.5e-4)


# Edition 0.3: the published public index of eleven entrants, and the complete score files of two of them.

BOARD_0_3 = load(GOLDEN / "real-board-0.3.json")["entrants"]
SCORE_SETS = ("real-jebadiah-27b-v2-1", "real-jebadiah-9b-v2-1")


@pytest.mark.parametrize("entrant", BOARD_0_3.values(), ids=BOARD_0_3)
def test_the_public_index_of_0_3_follows_from_its_benchmarks(entrant):
    rules = edition("0.3")
    figures = {int(catalog_id): values for catalog_id, values in entrant["benchmarks"].items()}
    assert figures.keys() == set(rules.panel)
    values = {catalog_id: index.Value(**own, chance=None, rule="") for catalog_id, own in figures.items()}
    assert index.build(rules, values).scores["balanced_skill"] == pytest.approx(entrant["public_index"], abs=0.01)


@pytest.mark.parametrize("entrant", BOARD_0_3.values(), ids=BOARD_0_3)
def test_skills_of_0_3_follow_from_raw_values_and_chance(entrant):
    rules = edition("0.3")
    for catalog_id in set(rules.panel) - {2, 30, 36}:
        own = entrant["benchmarks"][str(catalog_id)]
        if (catalog_id, own["raw"]) != (39, 0.9608):  # the one published pair that does not fit the formula
            assert skill(own["raw"], rules.chance[catalog_id]) == pytest.approx(own["skill"], abs=1.5e-4)


@pytest.mark.parametrize("name", SCORE_SETS)
def test_complete_score_files_of_0_3_follow_from_their_own_benchmark_values(name):
    rules = edition("0.3")
    summary, indexed, scores = (load(GOLDEN / f"{name}-{kind}.json") for kind in ("benchmark-summary", "index", "scores"))
    entries = {entry["catalog_id"]: entry for entry in summary["benchmarks"]}
    values = {}
    for catalog_id in (*rules.panel, *rules.shown):
        entry, shown = entries[catalog_id], indexed["benchmarks"][str(catalog_id)]
        if rules.value_rule(catalog_id) == "track":
            own = (shown[key] for key in ("raw", "skill", "coverage", "random"))
            values[catalog_id] = index.Value(*own, "track", tracks=shown["tracks"])
        else:
            chance = rules.chance[catalog_id]
            rule, counts = rules.value_rule(catalog_id), (entry["answered"], entry["requests"])
            values[catalog_id] = index.native_value(rule, entry["score"], *counts, chance)
    got = documents.index_document(rules, values, index.build(rules, values), {})
    assert differences(indexed, got) == []
    answers = stand_in_answers(summary, scores)
    got = documents.scores_document(rules, {"engine": "x", **summary}, answers, summary["benchmarks"], values, got)
    expected = {key: value for key, value in scores.items() if key != "generated_utc"}
    assert differences(expected, got) == []
    assert documents.summary(rules, "x", answers, [])["counts"] == summary["counts"]


def stand_in_answers(summary, scores):
    """As many ok answers as the edition counts, and the other results of the run."""
    counted = scores["completed"]
    others = Others(counts=Counter(ok=summary["counts"]["ok"] - counted))
    empty = np.zeros(0)
    return Answers(np.full(counted, OK), np.full(counted, np.nan), *[empty] * 5, others=others)
