"""ANLI from the real source, and from hand-made files of both of its releases."""

import pytest
from recipe_sources import write_json_lines, write_parquet

from suite_builder.recipes import anli
from suite_builder.recipes.common import PLAIN

# Round -> (uid, premise, hypothesis, label).
PAIRS = {
    1: [("7f-1", "Zoë sang.\nTwice. ", " She {sang}", 0), ("7f-2", "Rain.", "Sun.", 2)],
    2: [("80-1", "A\u2028b", "It may.", 1)],
    3: [("c5-1", "Snow.", "Snow?", 2)],
}


def parquet_path(number):
    return f"plain_text/test_r{number}-00000-of-00001.parquet"


def parquet_file(folder, number, pairs, **change):
    records = [
        {"uid": uid, "premise": premise, "hypothesis": hypothesis, "label": label, "reason": ""} | change
        for uid, premise, hypothesis, label in pairs
    ]
    return {parquet_path(number): write_parquet(folder / f"{number}.parquet", records)}


def json_lines_file(folder, number, pairs, **change):
    records = [
        {"uid": uid, "context": premise, "hypothesis": hypothesis, "label": "enc"[label], "tag": "t"} | change
        for uid, premise, hypothesis, label in pairs
    ]
    return {f"anli_v1.0/R{number}/test.jsonl": write_json_lines(folder / f"{number}.jsonl", records)}


def all_files(make, folder):
    return {path: file for number, pairs in PAIRS.items() for path, file in make(folder, number, pairs).items()}


@pytest.mark.parametrize("make", [parquet_file, json_lines_file])
def test_either_release_gives_the_same_rows_naming_the_pinned_one(tmp_path, make):
    pairs = list(anli.rows(all_files(make, tmp_path)))
    assert {track for track, _row in pairs} == {"ANLI"}
    rows = [row for _track, row in pairs]
    assert PLAIN(rows[0]) == (
        '{"id":"ANLI:test_r1:7f-1","benchmark":"ANLI","family":"ANLI","split":"test_r1","state":{},"questions":{"q1":'
        '{"type":"choice","instructions":"Classify the relationship between the premise and hypothesis.\\n'
        'Premise: Zo\\u00eb sang.\\nTwice. \\nHypothesis:  She {sang}",'
        '"criteria":{"A":"entailment","B":"neutral","C":"contradiction"}}},"gold":{"q1":"A"},"expected":{"q1":"A"},'
        '"provenance":{"source_id":"7f-1","source_file":"raw/anli/plain_text/test_r1-00000-of-00001.parquet",'
        '"label_names":{"0":"entailment","1":"neutral","2":"contradiction"}}}'
    )
    assert [(row["id"], row["split"], row["gold"]["q1"]) for row in rows[1:]] == [
        ("ANLI:test_r1:7f-2", "test_r1", "C"),
        ("ANLI:test_r2:80-1", "test_r2", "B"),
        ("ANLI:test_r3:c5-1", "test_r3", "C"),
    ]
    assert rows[2]["provenance"]["source_file"] == "raw/anli/plain_text/test_r2-00000-of-00001.parquet"


@pytest.mark.parametrize(
    "make, place, label",
    [
        (parquet_file, parquet_path(2), 3),
        (parquet_file, parquet_path(2), -1),
        (parquet_file, parquet_path(2), None),
        (json_lines_file, "anli_v1.0/R2/test.jsonl", "entailment"),
        (json_lines_file, "anli_v1.0/R2/test.jsonl", 0),
    ],
)
def test_an_unknown_label_is_named_with_its_record(tmp_path, make, place, label):
    files = all_files(make, tmp_path) | make(tmp_path, 2, PAIRS[2], label=label)
    with pytest.raises(ValueError, match=rf"^{place}, record 0: answer {label!r} is none of"):
        list(anli.rows(files))


@pytest.mark.parametrize("field", ["uid", "context", "hypothesis"])
def test_a_record_without_text_is_named(tmp_path, field):
    files = all_files(json_lines_file, tmp_path) | json_lines_file(tmp_path, 3, PAIRS[3], **{field: None})
    with pytest.raises(ValueError, match=r"^anli_v1.0/R3/test.jsonl, record 0: expected str, found None"):
        list(anli.rows(files))


def test_a_release_with_other_fields_is_refused(tmp_path):
    parquet = write_parquet(tmp_path / "p", [{"uid": "1", "context": "x", "hypothesis": "y", "label": 0}])
    with pytest.raises(ValueError, match=rf"^{parquet_path(1)}: no column premise$"):
        list(anli.rows({parquet_path(1): parquet}))
    lines = write_json_lines(tmp_path / "l", [{"uid": "1", "premise": "x", "hypothesis": "y", "label": "e"}])
    with pytest.raises(ValueError, match=r"^anli_v1.0/R1/test.jsonl, record 0: 'context' is missing$"):
        list(anli.rows({"anli_v1.0/R1/test.jsonl": lines}))
