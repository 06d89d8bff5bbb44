"""When2Call from the authors' judge subset, which has the form of the pinned file, and from hand-made records."""

import pytest
from added_examples import assert_example, example
from recipe_sources import sha256, write_json_lines, write_lines

from suite_builder.catalog import benchmarks
from suite_builder.freeze import added_lines
from suite_builder.recipes import when2call
from suite_builder.rows import frozen_json
from suite_builder.tokens import cl100k_counter

FILE = "test/when2call_test_mcq.jsonl"
# Recorded when the recipe was first written down; a regression check, not a published figure.
SUBSET_SHA256 = "b9a2d351bf40e49737b5fd12fa04f0c3efb6a205259ff1644f6825a917f5f1d8"
ANSWERS = {"direct": "It's 5 °C.", "tool_call": '{"name": "w"}', "request_for_info": "Where?", "cannot_answer": "No."}
RECORD = {
    "uuid": "u-1", "source": "made-up", "source_id": "s_1", "question": "Weather?", "correct_answer": "cannot_answer",
    "answers": ANSWERS, "target_tool": None, "tools": [], "orig_tools": ["{}"],
}


def build(folder, records):
    return list(when2call.rows({FILE: write_json_lines(folder / "mcq.jsonl", records)}))


def test_rows_of_the_real_subset_are_the_recorded_ones(shared, tmp_path):
    sources = shared / "sources"
    files = {FILE: sources / "62" / "data" / "test" / "when2call_test_llm_judge.jsonl"}
    count = cl100k_counter(sources / "2" / "cl100k_base.tiktoken")
    frozen = write_lines(tmp_path / "frozen.jsonl", added_lines(benchmarks()[62], when2call.rows(files), count))
    assert (frozen.stat().st_size, sha256(frozen)) == (1_333_804, SUBSET_SHA256)


def test_the_published_example_gives_its_line(tmp_path):
    assert_example(when2call, {FILE: write_json_lines(tmp_path / "mcq.jsonl", [example(62)["input"]])})


def test_row_without_tools_in_full(tmp_path):
    [row] = build(tmp_path, [RECORD])
    assert frozen_json(row) == (
        '{"id":"62:u-1","benchmark":"When2Call MCQ","family":"When2Call MCQ","split":"evaluation",'
        '"state":{"tools":[],"question":"Weather?"},"questions":{"q":{"type":"choice","instructions":"Which response '
        'should the assistant give to the user\'s question, given the available tools?","criteria":{"A":"It\'s 5 °C.",'
        '"B":"{\\"name\\": \\"w\\"}","C":"Where?","D":"No."}}},"expected":{"q":"D"},"metadata":{"source_id":"u-1",'
        '"group_id":"62:u-1","track":"cannot_answer","answer_key_map":{"A":"direct","B":"tool_call",'
        '"C":"request_for_info","D":"cannot_answer"},"source":"made-up","bfcl_source_id":"s_1"},'
        '"scoring":{"type":"candidate_decisions","primary_field":"q"}}'
    )


def test_tool_schemas_come_out_as_python_writes_them(tmp_path):
    tool = '{"b": 0.10, "a": 1e-5, "c": 1.0, "n": 12345678901234567890123, "b": 1E3, "t": "\\u00e9\\/"}'
    [row] = build(tmp_path, [RECORD | {"tools": [tool, "[]"]}])
    assert frozen_json(row["state"]["tools"]) == (
        '[{"b":1000.0,"a":1e-05,"c":1.0,"n":12345678901234567890123,"t":"é/"},[]]'
    )


@pytest.mark.parametrize(
    "change, message",
    [
        ({"answers": dict(reversed(ANSWERS.items()))}, "expected the answers direct, .*, found cannot_answer, "),
        ({"answers": ANSWERS | {"other": "x"}}, "expected the answers .*, other$"),
        ({"answers": ANSWERS | {"direct": None}}, "expected str, found None"),
        ({"correct_answer": "A"}, "answer 'A' is none of "),
        ({"tools": ["{"]}, "Expecting property name"),
        ({"tools": [{"name": "w"}]}, ".*dict"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=f"^{FILE}, record 1: {message}"):
        build(tmp_path, [RECORD, RECORD | change])


def test_a_missing_field_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"^{FILE}, record 0: 'uuid' is missing$"):
        build(tmp_path, [{key: value for key, value in RECORD.items() if key != "uuid"}])
