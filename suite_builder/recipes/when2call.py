"""When2Call: whether an assistant with given tools should answer, call a tool, ask back or say that it cannot."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import added_row, choice, lettered
from suite_builder.recipes.records import json_lines, naming, option_key, typed

CATALOG_ID = 62

FILE = "test/when2call_test_mcq.jsonl"
KINDS = ("direct", "tool_call", "request_for_info", "cannot_answer")
KIND_OF = lettered(KINDS)
INSTRUCTIONS = "Which response should the assistant give to the user's question, given the available tools?"


def rows(files: Mapping[str, Path]) -> Iterator[dict]:
    """One row per line; the options are its four answers in the order of their kinds.

    Raises:
        ValueError: a malformed record, or one with other kinds of answers; names file and record.
    """
    for place, record in json_lines(FILE, files[FILE]):
        with naming(place):
            answers, correct = record["answers"], record["correct_answer"]
            if tuple(answers) != KINDS:
                raise ValueError(f"expected the answers {', '.join(KINDS)}, found {', '.join(answers)}")
            options = lettered(typed(str, *answers.values()))
            # The standard parser on purpose: numbers and repeated keys of the schemas come out as published.
            state = {"tools": [json.loads(tool) for tool in record["tools"]], "question": record["question"]}
            yield added_row(
                CATALOG_ID, record["uuid"], correct, state, choice(INSTRUCTIONS, options),
                option_key(options, KINDS, correct),
                answer_key_map=KIND_OF, source=record["source"], bfcl_source_id=record["source_id"],
            )
