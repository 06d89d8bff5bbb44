"""CLadder: yes or no questions of causal reasoning about made-up worlds."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice, knowledge_row
from suite_builder.recipes.records import naming, option_key, places
from suite_builder.sources import pinned

CATALOG_ID = 44
STYLE = PLAIN

QUESTIONS = "cladder-v1-q-balanced.json"
MODELS = "cladder-v1-meta-models.json"
OPTIONS = {"A": "yes", "B": "no"}


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per question, which follows the background of its model.

    Raises:
        ValueError: a malformed model or question, or one of an unknown model; names file and record.
    """
    background_of = {}
    for place, model in _records(MODELS, files):
        with naming(place):
            background_of[model["model_id"]] = model["background"]
    for place, record in _records(QUESTIONS, files):
        with naming(place):
            row = _row(record, background_of)
        yield "CLadder", row


def _records(path: str, files: Mapping[str, Path]) -> Iterator[tuple[str, Any]]:
    with naming(path):
        records = json.loads(files[path].read_bytes())
    return places(path, records)


def _row(record: Mapping[str, Any], background_of: Mapping[int, str]) -> dict[str, Any]:
    archive, source_id, meta = pinned(CATALOG_ID, QUESTIONS).archive, record["question_id"], record["meta"]
    text = "\n\n".join((background_of[meta["model_id"]], record["given_info"], record["question"]))
    question, gold = choice(text, OPTIONS), option_key(OPTIONS, list(OPTIONS.values()), record["answer"])
    return {
        **knowledge_row("CLadder", "balanced", {"source_id": source_id}, question, gold),
        "provenance": {
            "source_file": archive.row_path,
            "source_sha256": archive.sha256,
            "source_question_id": source_id,
            **{key: meta.get(key) for key in ("story_id", "graph_id", "query_type", "rung")},
        },
    }
