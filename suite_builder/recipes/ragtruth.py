"""RAGTruth: whether a response holds anything that the context in its prompt does not support."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import added_row
from suite_builder.recipes.records import json_lines, naming, typed

CATALOG_ID = 59

RESPONSES = "dataset/response.jsonl"
TASKS = "dataset/source_info.jsonl"
HALLUCINATED = "The response contains content that is not supported by the context in the prompt."
QUESTION = {
    "type": "noul",
    "instructions": HALLUCINATED,
    "criteria": {
        "true": HALLUCINATED,
        "false": "All content of the response is supported by the context in the prompt.",
    },
}


def rows(files: Mapping[str, Path]) -> Iterator[dict]:
    """One row per response of the test split; any label makes it hallucinated.

    Raises:
        ValueError: a malformed record, or a response to an unknown prompt; names file and record.
    """
    tasks = {}
    for place, task in json_lines(TASKS, files[TASKS]):
        with naming(place):
            tasks[task["source_id"]] = typed(str, task["task_type"], task["prompt"])
    for place, record in json_lines(RESPONSES, files[RESPONSES]):
        with naming(place):
            if record["split"] != "test":
                continue
            task_id, labels = record["source_id"], record["labels"]
            if task_id not in tasks:
                raise ValueError(f"source {task_id!r} is not in {TASKS}")
            task_type, prompt = tasks[task_id]
            state = {"prompt": prompt, "response": record["response"]}
            yield added_row(
                CATALOG_ID, record["id"], task_type, state, QUESTION, bool(labels),
                source_task_id=task_id, responder_model=record["model"], quality=record["quality"],
                label_types=sorted({label["label_type"] for label in labels}),
            )
