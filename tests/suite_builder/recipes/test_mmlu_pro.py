"""MMLU-Pro from hand-made Parquet files in the form of the pinned one, which isn't at hand."""

import pytest
from added_examples import assert_example, example
from recipe_sources import write_parquet

from suite_builder.recipes import mmlu_pro
from suite_builder.rows import frozen_json

FILE = "data/test-00000-of-00001.parquet"
RECORD = {
    "question_id": 77, "question": " What is ½?\n", "options": list("0123456789"), "answer": "J", "answer_index": 9,
    "cot_content": "", "category": "computer science", "src": "made-up",
}
SHORT = RECORD | {"question_id": 70, "options": ["N/A", " é ", "a"], "answer": "B", "answer_index": 1}


def sources(folder, records):
    return {FILE: write_parquet(folder / "test.parquet", records)}


def build(folder, records):
    return list(mmlu_pro.rows(sources(folder, records)))


def test_the_published_example_gives_its_line(tmp_path):
    assert_example(mmlu_pro, sources(tmp_path, [example(57)["input"]]))


def test_rows_keep_file_order_texts_and_the_integer_id(tmp_path):
    first, second = build(tmp_path, [RECORD, SHORT])
    assert frozen_json(first) == (
        '{"id":"57:77","benchmark":"MMLU-Pro","family":"MMLU-Pro","split":"evaluation","state":" What is ½?\\n",'
        '"questions":{"q":{"type":"choice","instructions":"Which option is the correct answer?","criteria":'
        '{"A":"0","B":"1","C":"2","D":"3","E":"4","F":"5","G":"6","H":"7","I":"8","J":"9"}}},"expected":{"q":"J"},'
        '"metadata":{"source_id":77,"group_id":"57:77","track":"computer science","src":"made-up","source_file":'
        '"artifacts/benchmark-suite/raw/mmlu_pro/data/test-00000-of-00001.parquet","source_split":"test"},'
        '"scoring":{"type":"candidate_decisions","primary_field":"q"}}'
    )
    assert (second["id"], second["expected"]) == ("57:70", {"q": "B"})
    assert second["questions"]["q"]["criteria"] == {"A": "N/A", "B": " é ", "C": "a"}


@pytest.mark.parametrize(
    "change, message",
    [
        ({"answer": "C"}, "answer 'C' is not the letter at its index, 'B'"),
        ({"answer_index": 3}, r"answer 3 is none of \[0, 1, 2\]"),
        ({"answer_index": -2}, "answer -2 is none of"),
        ({"options": ["a", None, "b"]}, "expected str, found None"),
        ({"question": None}, "expected str, found None"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=f"^{FILE}, record 1: {message}"):
        build(tmp_path, [RECORD, SHORT | change])


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"^{FILE}: no column src$"):
        build(tmp_path, [{key: value for key, value in RECORD.items() if key != "src"}])
