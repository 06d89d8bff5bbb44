"""VAST from a hand-made CSV file with the columns that count; the pinned one is not at hand."""

import csv
import hashlib

import pytest

from suite_builder.recipes import vast
from suite_builder.recipes.common import PLAIN

FILE = "data/VAST/vast_test.csv"
HEADER = ["author", "post", "new_topic", "label", "new_id", "topic", "topic_str", "seen?"]
RECORDS = [
    ["a", 'Say "no", é.\r\nAgain. ', "unused", "0", "7297", "['unused']", " home schooling", "0"],
    ["b", "\nYes.", "unused", "1", "22857", "[]", "cars", "1"],
    ["c", "", "unused", "2", "x-1", "[]", "", "1"],
]


def build(folder, records, header=HEADER):
    path = folder / "vast_test.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *records])
    return hashlib.sha256(path.read_bytes()).hexdigest(), list(vast.rows({FILE: path}))


def test_row_in_full(tmp_path):
    sha256, [(track, row)] = build(tmp_path, RECORDS[:1])
    assert track == "VAST"
    assert PLAIN(row) == (
        '{"id":"VAST:test:7297","benchmark":"VAST","family":"VAST","split":"test","state":{},"questions":{"q1":'
        '{"type":"choice","instructions":"Topic:  home schooling\\nPost: Say \\"no\\", \\u00e9.\\r\\nAgain. \\n'
        'Determine the stance of the post toward the topic.","criteria":{"A":"against","B":"favor","C":"neutral"}}},'
        '"gold":{"q1":"A"},"expected":{"q1":"A"},"provenance":{"source_id":"7297",'
        '"source_file":"artifacts/benchmark-suite/raw/vast/data/VAST/vast_test.csv",'
        f'"source_sha256":"{sha256}","source_label":"0"}}}}'
    )


def test_every_record_gives_a_row_in_file_order_and_labels_stay_text(tmp_path):
    _sha256, pairs = build(tmp_path, RECORDS)
    assert [(row["id"], row["gold"]["q1"], row["provenance"]["source_label"]) for _track, row in pairs] == [
        ("VAST:test:7297", "A", "0"), ("VAST:test:22857", "B", "1"), ("VAST:test:x-1", "C", "2"),
    ]
    assert pairs[2][1]["questions"]["q1"]["instructions"].startswith("Topic: \nPost: \nDetermine")


@pytest.mark.parametrize(
    "record, message",
    [
        (["a", "p", "t", "3", "1", "[]", "t", "0"], "label '3' is none of 0, 1, 2"),
        (["a", "p", "t", "1", "1", "[]", "t"], "more or fewer cells than the header"),
        (["a", "p", "t", "1", "1", "[]", "t", "0", "x"], "more or fewer cells than the header"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, record, message):
    with pytest.raises(ValueError, match=f"^{FILE}, record 1: {message}$"):
        build(tmp_path, [RECORDS[0], record])


def test_a_reduced_copy_with_other_columns_is_refused(tmp_path):
    with pytest.raises(ValueError, match=f"^{FILE}: no column label, new_id, post, topic_str$"):
        build(tmp_path, [["p", "t", "AGAINST", "1"]], ["Tweet", "Target 1", "Stance 1", "seen?"])
