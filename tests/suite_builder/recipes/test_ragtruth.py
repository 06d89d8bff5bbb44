"""RAGTruth from hand-made files in the form of the pinned ones, which aren't at hand."""

import pytest
from added_examples import assert_example, example
from recipe_sources import write_lines

from suite_builder.recipes import ragtruth
from suite_builder.rows import frozen_json

RESPONSES, TASKS = "dataset/response.jsonl", "dataset/source_info.jsonl"
TASK = {
    "source_id": "9", "task_type": "Summary", "source": "made-up", "source_info": "Text.",
    "prompt": "Sum up:\u2028Text.",
}
DATA_TASK = TASK | {"source_id": "10", "task_type": "Data2txt", "source_info": {"name": "x"}}
RESPONSE = {
    "id": "3", "source_id": "9", "model": "made-up-7b", "temperature": 1.0, "labels": [], "split": "test",
    "quality": "truncated", "response": "A\u2028B\u0085",
}


def label(kind, **more):
    return {"start": 0, "end": 1, "text": "A", "meta": "", "label_type": kind, **more}


def sources(folder, responses, tasks):
    # With raw line separators of Unicode, which do not end a record.
    return {
        RESPONSES: write_lines(folder / "response.jsonl", map(frozen_json, responses)),
        TASKS: write_lines(folder / "source_info.jsonl", map(frozen_json, tasks)),
    }


def build(folder, responses, tasks=(TASK, DATA_TASK)):
    return list(ragtruth.rows(sources(folder, responses, tasks)))


def test_the_published_example_gives_its_line(tmp_path):
    record = example(59)["input"]
    assert_example(ragtruth, sources(tmp_path, [record["response"]], [record["source_info"]]))


def test_row_of_a_response_without_labels_in_full(tmp_path):
    [row] = build(tmp_path, [RESPONSE])
    assert frozen_json(row) == (
        '{"id":"59:3","benchmark":"RAGTruth response-level hallucination",'
        '"family":"RAGTruth response-level hallucination","split":"evaluation",'
        '"state":{"prompt":"Sum up:\u2028Text.","response":"A\u2028B\u0085"},"questions":{"q":{"type":"noul",'
        '"instructions":"The response contains content that is not supported by the context in the prompt.",'
        '"criteria":{"true":"The response contains content that is not supported by the context in the prompt.",'
        '"false":"All content of the response is supported by the context in the prompt."}}},"expected":{"q":false},'
        '"metadata":{"source_id":"3","group_id":"59:3","track":"Summary","source_task_id":"9",'
        '"responder_model":"made-up-7b","quality":"truncated","label_types":[]},'
        '"scoring":{"type":"candidate_decisions","primary_field":"q"}}'
    )


def test_rows_are_the_test_responses_in_file_order_and_any_label_counts(tmp_path):
    rows = build(
        tmp_path,
        [
            RESPONSE | {"id": "12", "source_id": "10", "labels": [label("Subtle", implicit_true=True)]},
            RESPONSE | {"id": "11", "split": "train"},
            RESPONSE | {"id": "10", "labels": [label("b"), label("B"), label("b"), label("a")]},
        ],
    )
    assert [(row["id"], row["metadata"]["track"], row["expected"], row["metadata"]["label_types"]) for row in rows] == [
        ("59:12", "Data2txt", {"q": True}, ["Subtle"]),
        ("59:10", "Summary", {"q": True}, ["B", "a", "b"]),
    ]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"source_id": "8"}, f"source '8' is not in {TASKS}"),
        ({"labels": None}, ".*NoneType"),
        ({"labels": [{"start": 0}]}, "'label_type' is missing"),
    ],
)
def test_a_malformed_response_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=f"^{RESPONSES}, record 1: {message}"):
        build(tmp_path, [RESPONSE, RESPONSE | change])


def test_a_missing_field_is_named(tmp_path):
    with pytest.raises(ValueError, match=f"^{RESPONSES}, record 0: 'split' is missing$"):
        build(tmp_path, [{key: value for key, value in RESPONSE.items() if key != "split"}])
    with pytest.raises(ValueError, match=f"^{TASKS}, record 1: 'prompt' is missing$"):
        build(tmp_path, [RESPONSE], [TASK, {key: value for key, value in TASK.items() if key != "prompt"}])
