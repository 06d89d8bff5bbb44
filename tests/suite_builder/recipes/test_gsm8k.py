"""GSM8K from the real source, and from hand-made files in both releases."""

import pytest
from recipe_sources import assert_published, real_files, write_json_lines, write_parquet

from suite_builder.recipes import gsm8k
from suite_builder.recipes.common import PLAIN

PARQUET, JSON_LINES = "main/test-00000-of-00001.parquet", "grade_school_math/data/test.jsonl"
SHA256 = "ee7b8da9e381df27b9e3f7758a159ab2bdaa4dbaa910546cbbc47e0cb44e4f59"
PROBLEMS = [
    {"question": "Janet’s ducks?\n", "answer": "She has <<9*2=18>>18.\n#### 18"},
    {"question": "Cost?", "answer": "#### 1\n#### 1,200.50"},
    {"question": "Left?", "answer": "None.\n####  -7 "},
    {"question": "Two?", "answer": "#### 2"},
]


def parquet(folder, records=PROBLEMS):
    return {PARQUET: write_parquet(folder / "p", records)}


def json_lines(folder, records=PROBLEMS):
    return {JSON_LINES: write_json_lines(folder / "j", records)}


def options(row):
    return list(row["questions"]["answer"]["criteria"].values())


@pytest.mark.parametrize("path", [PARQUET, JSON_LINES])
def test_rows_of_either_real_source_are_the_published_ones(shared, tmp_path, monkeypatch, path):
    monkeypatch.setattr("recipe_sources.real_files", lambda *place: {path: real_files(*place)[path]})
    assert_published(gsm8k, shared, tmp_path)


@pytest.mark.parametrize("make", [parquet, json_lines])
def test_row_in_full_from_either_release(tmp_path, make):
    track, row = next(gsm8k.rows(make(tmp_path)))
    assert track == "GSM8K-4choice"
    assert PLAIN(row) == (
        '{"id":"GSM8K-4:test:0","family":"GSM8K-4","split":"test","state":{"question":"Janet\\u2019s ducks?\\n",'
        '"task":"GSM8K deterministic 4-choice numeric selection"},"questions":{"answer":{"type":"choice",'
        '"instructions":"Choose the numeric answer to the problem in state. Do not provide reasoning. This is a named '
        'multiple-choice adaptation of GSM8K.",'
        '"criteria":{"option_0":"23","option_1":"17","option_2":"18","option_3":"20"}}},'
        '"expected":{"answer":"option_2"},"metadata":{"group_id":"GSM8K:0",'
        f'"provenance":{{"source":"data/sources/gsm8k/{PARQUET}","source_sha256":"{SHA256}","source_id":0,'
        '"seed":20260917},"adaptation_scope":"Deterministic numeric multiple-choice selection; native GSM8K '
        'exact-answer score is not claimed.","gold_numeric":"18"}}'
    )


def test_both_tracks_hold_every_problem_and_share_its_wrong_options(tmp_path):
    pairs = list(gsm8k.rows(parquet(tmp_path)))
    assert [(track, row["id"]) for track, row in pairs] == [
        *(("GSM8K-4choice", f"GSM8K-4:test:{index}") for index in range(4)),
        *(("GSM8K-10choice", f"GSM8K-10:test:{index}") for index in range(4)),
    ]
    rows = [row for _track, row in pairs]
    for few, many in zip(rows[:4], rows[4:]):
        assert (len(options(few)), len(options(many))) == (4, 10)
        assert set(options(few)) < set(options(many))
        assert few["metadata"] == many["metadata"]
        assert many["state"]["task"] == "GSM8K deterministic 10-choice numeric selection"
        for row in (few, many):
            assert row["questions"]["answer"]["criteria"][row["expected"]["answer"]] == row["metadata"]["gold_numeric"]


def test_numbers_are_exact_and_halves_are_cut_off_towards_zero(tmp_path):
    rows = [row for track, row in gsm8k.rows(parquet(tmp_path)) if track == "GSM8K-10choice"]
    assert [row["metadata"]["gold_numeric"] for row in rows] == ["18", "1200.5", "-7", "2"]
    possible = [
        {"8", "13", "16", "17", "19", "20", "23", "28", "36", "180", "9", "18"},
        {
            "1190.5", "1195.5", "1198.5", "1199.5", "1201.5", "1202.5", "1205.5", "1210.5", "2401", "12005", "600",
            "1200.5",
        },
        {"-17", "-12", "-9", "-8", "-6", "-5", "-2", "3", "-14", "-70", "-3", "-7"},
    ]
    assert all(set(options(row)) < expected for row, expected in zip(rows, possible))
    assert set(options(rows[3])) == {"-8", "-3", "0", "1", "3", "4", "7", "12", "20", "2"}


@pytest.mark.parametrize("make, path", [(parquet, PARQUET), (json_lines, JSON_LINES)])
@pytest.mark.parametrize(
    "answer, message",
    [
        ("It is 5.", "expected an answer that ends in #### and a number, found 'It is 5.'"),
        ("#### five", "expected an answer that ends in #### and a number"),
        ("#### 0", "the answer 0 leaves only 8 wrong options"),
        (None, "expected str, found None"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, make, path, answer, message):
    with pytest.raises(ValueError, match=rf"^{path}, record 1: {message}"):
        list(gsm8k.rows(make(tmp_path, [PROBLEMS[0], {"question": "?", "answer": answer}])))


def test_a_missing_column_is_named(tmp_path):
    records = [{"question": "?", "solution": "#### 5"}]
    with pytest.raises(ValueError, match=rf"^{PARQUET}: no column answer$"):
        list(gsm8k.rows(parquet(tmp_path, records)))
    with pytest.raises(ValueError, match=rf"^{JSON_LINES}, record 0: 'answer' is missing$"):
        list(gsm8k.rows(json_lines(tmp_path, records)))
