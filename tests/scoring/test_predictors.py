"""Predictors of known worth: always right, and guessing."""

import copy
import random

import pytest
from golden import SUITE_0_2, golden_lines, write_lines

from engines import wire
from scoring.editions import edition
from scoring.report import score
from suite_builder.suite import Suite

COPIES = 12
FROM_CHANCE = (1, 3, 9, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 34, 43, 44, 45, 50, 57, 58, 61, 62, 64)


def golden_rows():
    return golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz") + golden_lines(SUITE_0_2 / "added-rows.jsonl.gz")


def result(row, weigh):
    """A result whose probabilities are in proportion to what `weigh(row, question, keys)` gives."""
    answers = {}
    for name, question in row["questions"].items():
        weights = weigh(row, name, [option.key for option in wire.options(question)])
        answers[name] = wire.answer(question, [weight / sum(weights) for weight in weights])
    return {**row["_evaluation"], "status": "ok", "response": {"answers": answers}}


def always_right(row, name, keys):
    """All on the gold option; documents by their relevance."""
    block = row.get("scoring") or {}
    if "qrels" in block:
        relevance = block["qrels"].get(block["field_to_document"][name], 0)
        return [1 + relevance, 9 - relevance] if keys == ["yes", "no"] else [9 - relevance, 1 + relevance]
    gold = row["expected"].get(name)
    gold = str(gold).lower() if isinstance(gold, bool) else gold
    return [float(key == gold or gold not in keys) for key in keys]


def test_a_perfect_predictor_has_every_skill_that_can_be_had(tmp_path):
    rows = golden_rows()
    path = write_lines(tmp_path / "results.jsonl", [result(row, always_right) for row in rows])
    scored = score(Suite.open(SUITE_0_2, "0.2.1"), path, tmp_path, "perfect", draws=0)
    found = {int(key): own["skill"] for key, own in scored.index["benchmarks"].items()}
    # No ranking reaches documents that were not retrieved; a label of 37 that no row has counts as 0.
    limited = {2, 36, 37}
    assert {key for key, value in found.items() if value < 1} <= limited
    assert all(found[key] > 0.5 for key in limited)
    assert scored.scores["calibration"]["overall"]["ece"] == 0
    assert scored.index["index"] > 95


@pytest.fixture(scope="module")
def guessed(tmp_path_factory):
    """The golden suite many times over, and uniform guesses."""
    folder, chance, rows = tmp_path_factory.mktemp("guessed"), random.Random(7), []
    for number in range(COPIES):
        for row in copy.deepcopy(golden_rows()):
            facts = row["_evaluation"]
            facts["run_id"], facts["group_id"] = f"{facts['run_id']}:{number}", f"{facts['group_id']}:{number}"
            rows.append(row)
    suite = Suite.from_rows_file(write_lines(folder / "rows.jsonl", rows), "0.2.1")
    results = [result(row, lambda _row, _name, keys: [chance.random() for _key in keys]) for row in rows]
    return score(suite, write_lines(folder / "results.jsonl", results), folder, "guesses", draws=0)


def test_guessing_scores_as_chance_levels_of_the_rows_say(guessed):
    rules = edition("0.2.1")
    for catalog_id in set(FROM_CHANCE) - {9}:
        own = guessed.scores["benchmarks"][str(catalog_id)]
        raw = own.get("index_raw", own["score"]) if catalog_id in (*rules.panel, *rules.shown) else own["score"]
        assert raw == pytest.approx(own["chance_on_rows"], abs=0.08), catalog_id


def test_guessing_is_worth_about_nothing(guessed):
    skills = [own["skill"] for key, own in guessed.index["benchmarks"].items() if int(key) in FROM_CHANCE]
    assert sum(skills) / len(skills) < 0.03
