"""Humicroedit from the real source, and from a hand-made CSV file."""

import csv

import pytest

from suite_builder.recipes import humicroedit
from suite_builder.recipes.common import PLAIN

FILE = "semeval-2020-task-7-dataset/subtask-2/test.csv"
HEADER = "id,original1,edit1,grades1,meanGrade1,original2,edit2,grades2,meanGrade2,label".split(",")
FIRST = [
    "704-2704", '" Trump  <Aides/> Are n’t Happy . "', "\\1 {x}", "32110", "1.4", "<Cats/> sleep", "Élan", "11000",
    "0.4",
]
SECOND = ["2-3", "A < b , <c d/>", "e", "33333", "3.0", "Is 2 > <1/> ?", "x/>", "33330", "2.4"]
ARCHIVE_SHA256 = "12a6cbf28c8b698ad80be42a65ac867b57e4c71662eedab607805e167ba791ab"


def build(folder, *records, header=HEADER, **dialect):
    file = folder / "test.csv"
    with file.open("w", encoding=dialect.pop("encoding", "utf-8"), newline="") as stream:
        csv.writer(stream, **{"lineterminator": "\n"} | dialect).writerows([header, *records])
    return [row for _track, row in humicroedit.rows({FILE: file})]


def test_the_marked_token_gives_way_to_the_literal_edit(tmp_path):
    first, second = build(tmp_path, [*FIRST, "1"], [*SECOND, "2"])
    assert PLAIN(first) == (
        '{"id":"Humicroedit:test:704-2704","family":"Humicroedit","split":"test","state":"","questions":{"answer":'
        '{"type":"choice","instructions":"Which edited news headline is funnier?","criteria":{'
        '"headline_1":"\\" Trump  \\\\1 {x} Are n\\u2019t Happy . \\"","headline_2":"\\u00c9lan sleep"}}},'
        '"expected":{"answer":"headline_1"},"metadata":{"benchmark_number":21,'
        '"source":"https://cs.rochester.edu/u/nhossain/semeval-2020-task-7-dataset.zip",'
        '"source_file":"artifacts/benchmark-suite/raw/downloads/humicroedit-full.zip",'
        f'"source_sha256":"{ARCHIVE_SHA256}","member":"{FILE}","source_id":"704-2704",'
        '"primary_metric":"pairwise accuracy on non-ties, matching official score_task_2.py",'
        '"human_mean_grades":[1.4,0.4],"mapping":"replace exactly the marked token; no grades supplied to model"}}'
    )
    assert second["questions"]["answer"]["criteria"] == {"headline_1": "A < b , e", "headline_2": "Is 2 > x/> ?"}
    assert second["expected"] == {"answer": "headline_2"}
    assert PLAIN(second["metadata"]["human_mean_grades"]) == "[3.0,2.4]"


def test_ties_are_left_out(tmp_path):
    [row] = build(tmp_path, [*FIRST, "0"], [*SECOND, "1"], [*FIRST, "0"])
    assert row["id"] == "Humicroedit:test:2-3"


def test_byte_order_mark_and_carriage_returns_change_nothing(tmp_path):
    records = [[*FIRST, "1"], [*SECOND, "2"]]
    assert build(tmp_path, *records, encoding="utf-8-sig", lineterminator="\r\n") == build(tmp_path, *records)


@pytest.mark.parametrize(
    "place, cell, message",
    [
        (9, "3", "expected label 0, 1 or 2, found '3'"),
        (9, "", "expected label 0, 1 or 2, found ''"),
        (1, "no mark", "not exactly one marked token in 'no mark'"),
        (5, "<a/> and <b/>", "not exactly one marked token"),
        (5, "empty </>", "not exactly one marked token"),
        (4, "high", "could not convert string to float: 'high'"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, place, cell, message):
    bad = [*FIRST, "1"]
    bad[place] = cell
    with pytest.raises(ValueError, match=rf"^{FILE}, record 1: {message}"):
        build(tmp_path, [*FIRST, "0"], bad)


def test_a_record_of_another_length_is_named(tmp_path):
    with pytest.raises(ValueError, match=rf"^{FILE}, record 0: expected 10 cells, found 9"):
        build(tmp_path, FIRST)


def test_another_header_is_refused(tmp_path):
    with pytest.raises(ValueError, match=rf"^{FILE}: expected the header id,original1,.*, found id,original,"):
        build(tmp_path, header=["id", "original", "edit"])
