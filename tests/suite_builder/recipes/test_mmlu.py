"""MMLU from the real source, and from a hand-made Parquet file."""

import pytest
from recipe_sources import write_parquet

from suite_builder.recipes import mmlu
from suite_builder.recipes.common import PLAIN

FILE = "all/test-00000-of-00001.parquet"
SHA256 = "74a41822ce7d3def56e1682f958469c04642a5336a5ce912fa375fdb90fb25d7"
RECORDS = [
    {"question": " Is é 1?\nYes. ", "subject": "abstract_algebra", "choices": ["0", " 4", "2\t", "π"], "answer": 1},
    {"question": "Why?", "subject": "virology", "choices": ["a", "a", "b", "c"], "answer": 3},
    {"question": "Who?", "subject": "virology", "choices": ["a", "b", "c", "d"], "answer": 0},
]


def build(folder, records):
    return list(mmlu.rows({FILE: write_parquet(folder / "test.parquet", records)}))


def test_texts_stay_as_they_are_and_the_index_is_the_source_id(tmp_path):
    (track, first), (_, second), (_, third) = build(tmp_path, RECORDS)
    assert track == "MMLU"
    assert PLAIN(first) == (
        '{"id":"MMLU:test:0","benchmark":"MMLU","family":"MMLU","split":"test","state":{},"questions":{"q1":'
        '{"type":"choice","instructions":" Is \\u00e9 1?\\nYes. ",'
        '"criteria":{"A":"0","B":" 4","C":"2\\t","D":"\\u03c0"}}},"gold":{"q1":"B"},"expected":{"q1":"B"},'
        '"provenance":{"source_id":"0","subject":"abstract_algebra",'
        f'"source_file":"data/sources/mmlu/{FILE}","source_sha256":"{SHA256}"}}}}'
    )
    assert (second["id"], second["expected"]) == ("MMLU:test:1", {"q1": "D"})
    assert second["provenance"]["subject"] == "virology"
    assert (third["id"], third["gold"]) == ("MMLU:test:2", {"q1": "A"})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"answer": 4}, r"answer 4 is none of \[0, 1, 2, 3\]"),
        ({"answer": -1}, "answer -1 is none of"),
        ({"answer": None}, "answer None is none of"),
        ({"choices": ["a", "b", "c"]}, "expected 4 options, found 3"),
        ({"choices": ["a", "b", "c", None]}, "expected str, found None"),
        ({"question": None}, "expected str, found None"),
        ({"subject": None}, "expected str, found None"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=rf"^{FILE}, record 1: {message}"):
        build(tmp_path, [RECORDS[0], RECORDS[1] | change])


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(ValueError, match=rf"^{FILE}: no column subject$"):
        build(tmp_path, [{key: value for key, value in record.items() if key != "subject"} for record in RECORDS])
