"""Rows as columns, from a label file and from the rows themselves."""

import random
import shutil

import numpy as np
import pytest
from golden import SUITE_0_2, golden_lines, results_of, write_lines

from scoring import processes
from scoring.columns import Columns
from scoring.editions import edition
from scoring.errors import ScoreError
from scoring.gold import NO_OPTION, Gold, distinct, option_key, spans
from scoring.matching import match
from scoring.reading import begin
from suite_builder.errors import SuiteError
from suite_builder.row_index import FOLDER, build
from suite_builder.suite import Suite

RULES = edition("0.2.1")
ARRAYS = ("form", "group", "starts", "asked", "options", "gold", "yes")


@pytest.fixture(scope="module")
def gold():
    return Gold.read(Suite.open(SUITE_0_2, "0.2.1"), RULES.benchmark)


def texts_of(gold, place):
    return gold.texts(place) if RULES.benchmark(int(gold.catalog_id[gold.request[place]])).by_label else None


def test_label_file_and_rows_give_the_same_columns(gold, tmp_path):
    suite = Suite.open(shutil.copytree(SUITE_0_2, tmp_path / "suite"), "0.2.1")
    build(suite, suite.directory / FOLDER)
    indexed = Gold.read(suite, RULES.benchmark)
    assert indexed.run_ids == gold.run_ids
    assert indexed.columns.payload_sha256 == gold.columns.payload_sha256
    assert {frozenset(form.names) for form in indexed.forms} == {frozenset(form.names) for form in gold.forms}
    for name in ARRAYS[1:]:
        assert np.array_equal(getattr(indexed, name), getattr(gold, name)), name
    for place in range(0, len(gold.asked), 7):
        position = int(gold.request[place])
        assert (indexed.name(place), texts_of(indexed, place)) == (gold.name(place), texts_of(gold, place))
        assert indexed.scoring(position) == gold.scoring(position)
    everything = np.arange(len(gold))
    assert indexed.facts(everything) == gold.facts(everything)


def test_rows_read_by_several_processes_are_in_order(tmp_path, monkeypatch):
    rows = golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz")[:120]
    noise = random.Random(1)
    padded = [row | {"state": {"noise": noise.randbytes(50_000).hex()}} for row in rows]
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", padded), "0.2.1")
    monkeypatch.setattr(processes, "BYTES_A_PROCESS", 10)
    monkeypatch.setattr(processes, "cores", lambda: 3)
    with processes.helpers(suite.files[0]) as helpers:
        assert helpers.count == 2
        shared = Gold.of(Columns.begin(suite, RULES.benchmark, helpers)(), RULES.benchmark)
    alone = Gold.read(suite, RULES.benchmark)
    assert shared.run_ids == alone.run_ids and len(alone) > 50
    for name in ARRAYS:
        assert np.array_equal(getattr(shared, name), getattr(alone, name)), name


def test_fields_are_the_scored_questions_with_their_gold_option(gold):
    rows = golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz") + golden_lines(SUITE_0_2 / "added-rows.jsonl.gz")
    by_id = {row["_evaluation"]["run_id"]: row for row in rows}
    for position, run_id in enumerate(gold.run_ids):
        row, catalog_id = by_id[run_id], int(gold.catalog_id[position])
        unscored = (row.get("scoring") or {}).get("unscored_fields", ())
        expected = ["verdict"] if catalog_id == 56 else [name for name in row["questions"] if name not in unscored]
        places = range(gold.starts[position], gold.starts[position + 1])
        assert [gold.name(place) for place in places] == expected
        for place in places:
            answer = option_key(row["expected"].get(gold.name(place)))
            right = gold.gold[place]
            assert (None if right == NO_OPTION else gold.key(place, right)) == answer


def test_groups_are_numbered_in_order_of_first_appearance_across_tracks(gold):
    known = {}
    for position in range(len(gold)):
        key = int(gold.catalog_id[position]), gold.columns.group_id[position]
        assert gold.group[position] == known.setdefault(key, len(known))


def test_some_requests_keep_their_fields(gold):
    positions = np.array([700, 3, 40])
    part = gold.take(positions, RULES.benchmark)
    assert part.run_ids == [gold.run_ids[place] for place in positions]
    assert [part.name(place) for place in range(len(part.asked))] == [gold.name(place) for place in gold.fields_of(positions)]
    assert np.array_equal(part.gold, gold.gold[gold.fields_of(positions)])


def test_a_run_id_that_occurs_twice_is_refused(tmp_path):
    rows = golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz")[:2]
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", [*rows, rows[0]]), "0.2.1")
    with pytest.raises(ScoreError, match="a run id occurs twice"):
        Gold.read(suite, RULES.benchmark)


def test_a_malformed_row_is_named_though_rows_are_read_ahead(tmp_path):
    content = write_lines(tmp_path / "rows.jsonl", golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz")[:3]).read_bytes()
    (tmp_path / "rows.jsonl").write_bytes(content + b"{oops\n")
    with pytest.raises(SuiteError, match="rows.jsonl, line 4: "):
        Gold.read(Suite.from_rows_file(tmp_path / "rows.jsonl", "0.2.1"), RULES.benchmark)
    with pytest.raises(SuiteError, match="cannot read"):
        Gold.read(Suite((tmp_path / "none.jsonl",), Suite.open(SUITE_0_2).edition), RULES.benchmark)


def test_a_suite_without_rows_is_empty(tmp_path):
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", []), "0.2.1")
    gold = Gold.read(suite, RULES.benchmark)
    assert (len(gold), len(gold.asked), gold.starts.tolist()) == (0, 0, [0])
    answers = match(gold, begin(results_of("gappy")).batches(1))
    assert len(answers.status) == 0 and answers.others.strangers > 0


@pytest.mark.parametrize(("answer", "key"), [(True, "true"), (False, "false"), (2, "2"), ("a", "a"), (None, None), ([], None)])
def test_gold_answers_name_option_keys(answer, key):
    assert option_key(answer) == key


def test_distinct_numbers_combinations_by_first_appearance():
    first, which = distinct(np.array([5, 5, 2, 5]), np.array([1, 0, 1, 1]))
    assert (first.tolist(), which.tolist()) == ([0, 1, 2], [0, 1, 2, 0])


def test_spans_of_no_length_are_left_out():
    assert spans(np.array([4, 9, 0]), np.array([2, 0, 3])).tolist() == [4, 5, 0, 1, 2]
