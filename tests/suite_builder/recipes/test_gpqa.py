"""GPQA Diamond from a hand-made CSV file. The real texts must not be shown and are nowhere in this repository."""

import csv
import random

import pytest

from suite_builder.recipes import gpqa
from suite_builder.recipes.common import PLAIN

FILE = "dataset/gpqa_diamond.csv"
HEADER = [
    "Pre-Revision Question", "Pre-Revision Correct Answer", "Pre-Revision Incorrect Answer 1", "Question",
    "Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3", "Subdomain", "Canary String",
]
RECORDS = [
    ["old", "old", "old", ' Which, "exactly"?\nA é\r\nB \n', " right\n", "wrong 1", "wrong, 2", "", "Physics", ""],
    *(["", "", "", f"Which of {n}?", "same", "same", "b", "c", "", ""] for n in range(1, 12)),
]


def build(folder, header=HEADER, records=RECORDS, encoding="utf-8"):
    path = folder / "gpqa.csv"
    with path.open("w", encoding=encoding, newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *records])
    return list(gpqa.rows({FILE: path}))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_row_in_full_with_or_without_byte_order_mark(tmp_path, encoding):
    header, records = HEADER[3:], [record[3:] for record in RECORDS]
    track, row = build(tmp_path, header, records, encoding)[0]
    assert track == "GPQA-Diamond"
    assert PLAIN(row) == (
        '{"id":"GPQA-Diamond:test:0","family":"GPQA-Diamond","split":"test","state":"",'
        '"questions":{"answer":{"type":"choice","instructions":" Which, \\"exactly\\"?\\nA \\u00e9\\r\\nB \\n",'
        '"criteria":{"A":"wrong 1","B":"","C":"wrong, 2","D":" right\\n"}}},"expected":{"answer":"D"},'
        '"metadata":{"benchmark_number":25,"source_file":"data/sources/gpqa/dataset.zip",'
        '"source_sha256":"461ae7329f15a3e35f8184d2dac24b990f34fdf12f366ca4062d8e6638cd08dc","source_id":0,'
        '"member":"dataset/gpqa_diamond.csv","source":"https://github.com/idavidrein/gpqa",'
        '"shuffle_seed":"20260918:GPQA:<source-index>","source_option_indices":[1,3,2,0],"handling":"LOCAL EVALUATION '
        'ONLY; do not upload benchmark text or tokens to public artifacts","primary_metric":"accuracy"}}'
    )


def test_answers_are_shuffled_by_row_number_and_gold_is_the_place_of_the_first(tmp_path):
    rows = [row for _track, row in build(tmp_path)]
    assert [row["id"] for row in rows] == [f"GPQA-Diamond:test:{index}" for index in range(12)]
    golds = set()
    for index, row in enumerate(rows):
        order = [0, 1, 2, 3]
        random.Random(f"20260918:GPQA:{index}").shuffle(order)
        assert row["metadata"]["source_option_indices"] == order
        assert list(row["questions"]["answer"]["criteria"].values()) == [RECORDS[index][4 + place] for place in order]
        assert row["expected"] == {"answer": "ABCD"[order.index(0)]}
        golds.add(row["expected"]["answer"])
    assert golds == set("ABCD")


def test_a_missing_column_or_a_record_cut_short_is_named(tmp_path):
    with pytest.raises(ValueError, match=rf"^{FILE}, record 0: 'Incorrect Answer 3' is missing"):
        build(tmp_path, [name.replace("Answer 3", "Answer 4") for name in HEADER])
    with pytest.raises(ValueError, match=rf"^{FILE}, record 1: expected str, found None"):
        build(tmp_path, records=[RECORDS[0], RECORDS[1][:6]])
