"""New Yorker from hand-made Parquet files in the form of the pinned one, which isn't at hand."""

import pytest
from added_examples import assert_example, example
from recipe_sources import write_parquet

from suite_builder.recipes import new_yorker
from suite_builder.rows import frozen_json

FILE = "matching/test-00000-of-00001.parquet"
RECORD = {
    "image": {"bytes": b"\xff\xd8", "path": None}, "contest_number": 7, "image_location": "a café",
    "image_description": " Two cups\ntalk. ", "image_uncanny_description": None, "entities": [], "questions": ["Why?"],
    "caption_choices": ["One", "Two", "“Three”", "Four", "One"], "from_description": "x", "label": "A",
    "n_tokens_label": 1, "instance_id": "f00d",
}
OTHER = RECORD | {
    "image_uncanny_description": "Cups can't talk.", "entities": ["https://example.org/Cup"], "label": "E",
}


def sources(folder, records):
    return {FILE: write_parquet(folder / "test.parquet", records, contest_number="int32")}


def build(folder, records):
    return list(new_yorker.rows(sources(folder, records)))


def test_the_published_example_gives_its_line(tmp_path):
    assert_example(new_yorker, sources(tmp_path, [example(64)["input"]]))


def test_rows_keep_file_order_texts_and_nulls(tmp_path):
    first, second = build(tmp_path, [RECORD, OTHER])
    assert frozen_json(first) == (
        '{"id":"64:f00d","benchmark":"New Yorker caption matching","family":"New Yorker caption matching",'
        '"split":"evaluation","state":{"scene":"a café","description":" Two cups\\ntalk. ","uncanny_description":null,'
        '"entities":[]},"questions":{"q":{"type":"choice","instructions":"Which caption was written for this cartoon?",'
        '"criteria":{"A":"One","B":"Two","C":"“Three”","D":"Four","E":"One"}}},"expected":{"q":"A"},'
        '"metadata":{"source_id":"f00d","group_id":"64:f00d","track":"matching-fold-0","contest_number":7},'
        '"scoring":{"type":"candidate_decisions","primary_field":"q"}}'
    )
    assert second["expected"] == {"q": "E"}
    assert second["state"]["entities"] == ["https://example.org/Cup"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"label": "F"}, "label 'F' is none of A, B, C, D, E"),
        ({"label": None}, "label None is none of"),
        ({"caption_choices": ["One", None]}, "expected str, found None"),
        ({"caption_choices": None}, ".*NoneType"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=f"^{FILE}, record 1: {message}"):
        build(tmp_path, [RECORD, OTHER | change])


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"^{FILE}: no column instance_id$"):
        build(tmp_path, [{key: value for key, value in RECORD.items() if key != "instance_id"}])
