"""Habermas Machine from hand-made Parquet files in the form of the pinned one, which isn't at hand."""

import pytest
from recipe_sources import write_parquet

from suite_builder.recipes import habermas
from suite_builder.recipes.common import PLAIN

FILE = "hm_all_candidate_comparisons.parquet"
STATEMENTS = {"c1": "Ban it.", "c2": " Allow  it. ", "c3": "Tax it, says José."}
# By `printf r4c1 | sha256sum` and so on, the candidates of round r4 come in the order c3, c1, c2.
OPTIONS = {"option_0": "Tax it, says José.", "option_1": "Ban it.", "option_2": " Allow  it. "}
OPINIONS = {"o1": "I like it.", "o2": "I hate it.\n", "o3": "No view."}


def ranking(number, own, ranks, round_id="r4", statements=STATEMENTS, **change):
    """One participant's record; ranks: candidate id -> rank, in the order in which they stand there."""
    return {
        "metadata.id": f"m{number}",
        "metadata.version": "EVAL_COHORT_2",
        "metadata.status": "COMPLETED",
        "metadata.participant_id": f"p{number}",
        "round_id": round_id,
        "iteration_index": 0,
        "question.id": 42,
        "question.split": "OOD_TEST",
        "question.text": "Should it be banned?",
        "rankings.metadata.status": "COMPLETED",
        "rankings.candidate_ids": list(ranks),
        "rankings.numerical_ranks": list(ranks.values()),
        "candidates.metadata.id": list(statements),
        "candidates.text": list(statements.values()),
        "own_opinion.metadata.id": own,
        "own_opinion.text": OPINIONS[own],
        "other_opinions.metadata.id": [opinion for opinion in OPINIONS if opinion != own],
        "other_opinions.text": [text for opinion, text in OPINIONS.items() if opinion != own],
    } | change


def panel(round_id="r4", **change):
    """Three participants, of whom `change` changes all. Rank sums: c1 2, c2 4, c3 2."""
    return [
        ranking(1, "o2", {"c1": 0, "c2": 2, "c3": 1}, round_id, **change),
        ranking(2, "o3", {"c3": 1, "c2": 1, "c1": 0}, round_id, **change),
        ranking(3, "o1", {"c2": 1, "c1": 2, "c3": 0}, round_id, **change),
    ]


def build(folder, records):
    return list(habermas.rows({FILE: write_parquet(folder / "hm.parquet", records)}))


def built_rounds(folder, records):
    return [row["metadata"]["group_id"] for _track, row in build(folder, records)]


def test_row_in_full(tmp_path):
    [(track, row)] = build(tmp_path, panel())
    assert track == "Habermas-consensus"
    assert PLAIN(row) == (
        '{"id":"Habermas-consensus:r4","family":"Habermas-consensus","split":"OOD_TEST",'
        '"state":{"policy_question":"Should it be banned?",'
        '"participant_opinions":["I like it.","I hate it.\\n","No view."]},'
        '"questions":{"consensus":{"type":"choice","instructions":"Choose the consensus statement you predict this '
        'group would rank highest on average, given their expressed opinions. Each participant has equal weight. '
        'Assess the group\'s preferences, rather than your own policy preference.","criteria":{'
        '"option_0":"Tax it, says Jos\\u00e9.","option_1":"Ban it.","option_2":" Allow  it. "}}},'
        '"expected":{"consensus":"option_0"},"scoring":{"type":"human_group_rank",'
        '"summed_ranks":{"option_0":2,"option_1":2,"option_2":4},"accepted":["option_0","option_1"],"panel_size":3,'
        '"human_ranks":[{"option_0":1,"option_1":0,"option_2":2},{"option_0":1,"option_1":0,"option_2":1},'
        '{"option_0":0,"option_1":2,"option_2":1}],"scorer":"evaluation.adapters.habermas_consensus:score_choice"},'
        '"metadata":{"group_id":"r4","cohort":"EVAL_COHORT_2","question_id":42,"source_rows":["m1","m2","m3"],'
        '"source_sha256":"7cf8d5ce3fce8853b36f0ffe1158424f7813867e422e313db4df0a5f9e03e4a4",'
        '"source_revision":"7923b71966c14136077c78d7841bc9e1a182dfe0","protocol":"Initial iteration; complete human '
        "panel; minimum summed rank; exact ties accepted. Named consensus-selection adaptation, not the original "
        'end-to-end mediation experiment."}}'
    )


def test_panels_come_by_round_id_and_a_string_question_id_stays_one(tmp_path):
    interleaved = [record for pair in zip(panel("rb"), panel("ra"), strict=True) for record in pair]
    first, second = (row for _track, row in build(tmp_path, [r | {"question.id": "q7"} for r in interleaved]))
    assert (first["id"], second["id"]) == ("Habermas-consensus:ra", "Habermas-consensus:rb")
    assert first["metadata"]["source_rows"] == ["m1", "m2", "m3"]
    assert first["metadata"]["question_id"] == "q7"


@pytest.mark.parametrize(
    "change",
    [
        {"metadata.version": "TRAIN_EVAL"},
        {"metadata.version": None},
        {"question.split": "TRAIN"},
        {"metadata.status": "ABANDONED"},
        {"rankings.metadata.status": "ABANDONED"},
        {"iteration_index": 1},
    ],
)
def test_records_outside_the_filter_are_not_read_and_leave_a_panel_incomplete(tmp_path, change):
    [first, *others] = panel("ra")
    assert built_rounds(tmp_path, [first | change, *others, *panel("rb")]) == ["rb"]
    assert built_rounds(tmp_path, [*panel("ra"), *panel("ra", **change), *panel("rb")]) == ["ra", "rb"]


def test_a_panel_with_an_opinion_twice_or_a_stranger_is_skipped(tmp_path):
    twice = [*panel("ra"), panel("ra")[0]]
    stranger = [*panel("rb"), panel("rb")[0] | {"own_opinion.metadata.id": "o4"}]
    assert built_rounds(tmp_path, twice + stranger + panel("rc")) == ["rc"]


@pytest.mark.parametrize(
    "statements",
    [
        {"c1": "Ban it.", "c2": "Ban\t it. ", "c3": "Tax it."},
        {"c1": "Ban it.", "c2": " \n", "c3": "Tax it."},
        {"c1": "Ban it.", "c2": None, "c3": "Tax it."},
        {"c1": "Ban it.", "c3": "Tax it."},
    ],
)
def test_a_panel_with_an_unclear_candidate_is_skipped(tmp_path, statements):
    assert built_rounds(tmp_path, panel("ra", statements=statements) + panel("rb")) == ["rb"]


@pytest.mark.parametrize(("count", "rounds"), [(1, ["rb"]), (2, ["ra", "rb"]), (255, ["ra", "rb"]), (256, ["rb"])])
def test_a_panel_has_2_to_255_candidates(tmp_path, count, rounds):
    ranks = {f"c{number}": 0 for number in range(count)}
    records = [ranking(n, own, ranks, "ra", {c: f"Text of {c}." for c in ranks}) for n, own in enumerate(OPINIONS)]
    assert built_rounds(tmp_path, records + panel("rb")) == rounds


def test_records_without_ranked_candidates_are_a_panel_that_is_skipped(tmp_path):
    absent = ("rankings.candidate_ids", "rankings.numerical_ranks", "candidates.metadata.id", "candidates.text")
    unranked = panel("ra", **dict.fromkeys(absent))
    assert built_rounds(tmp_path, unranked + panel("rb")) == ["rb"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"question.text": "Other?"}, "its participants were not shown the same"),
        ({"other_opinions.metadata.id": ["o1"]}, "its participants were not shown the same"),
        ({"candidates.text": ["Ban it.", "Allow it.", "No."]}, "its participants were not shown the same"),
        ({"rankings.numerical_ranks": [0, 1, 3]}, "expected a rank from 0 to 2"),
        ({"rankings.numerical_ranks": [0, 1]}, "expected a rank from 0 to 2"),
        ({"rankings.numerical_ranks": [0, None, 1]}, "expected int, found None"),
    ],
)
def test_a_panel_at_odds_with_itself_is_named(tmp_path, change, message):
    [first, *others] = panel()
    with pytest.raises(ValueError, match=f"^{FILE}, round r4: {message}"):
        build(tmp_path, [*others, first | change])


def test_two_whole_panels_of_a_round_are_an_error(tmp_path):
    other = {"d1": "Ban it.", "d2": "Allow it."}
    second = [ranking(n, own, {"d1": 0, "d2": 1}, statements=other) for n, own in enumerate(OPINIONS)]
    with pytest.raises(ValueError, match=f"^{FILE}, round r4: two of its panels are whole$"):
        build(tmp_path, panel() + second)


def test_a_missing_column_is_named(tmp_path):
    records = [{key: value for key, value in record.items() if key != "own_opinion.text"} for record in panel()]
    with pytest.raises(ValueError, match=f"^{FILE}: no column own_opinion.text$"):
        build(tmp_path, records)
