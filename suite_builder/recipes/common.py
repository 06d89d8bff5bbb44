"""What recipes share: styles of a normalized line and the two common shapes of a row."""

import json
from collections.abc import Sequence
from functools import partial
from string import ascii_uppercase
from typing import Any

from suite_builder.catalog import benchmarks
from suite_builder.sources import pinned

_compact = partial(json.JSONEncoder, separators=(",", ":"), allow_nan=False)

# Styles of a normalized line: row -> JSON text.
PLAIN = _compact().encode
SORTED = _compact(sort_keys=True).encode
SORTED_RAW = _compact(sort_keys=True, ensure_ascii=False).encode


def choice(instructions: str, criteria: dict[str, Any]) -> dict[str, Any]:
    """A choice question."""
    return {"type": "choice", "instructions": instructions, "criteria": criteria}


def lettered(texts: Sequence[str]) -> dict[str, str]:
    """Options `A`, `B`, ... in order, 26 at most."""
    return dict(zip(ascii_uppercase[: len(texts)], texts, strict=True))


def numbered(texts: Sequence[str]) -> dict[str, str]:
    """Options `option_0`, `option_1`, ... in order."""
    return {f"option_{place}": text for place, text in enumerate(texts)}


def provenance(catalog_id: int, path: str, source_id: str) -> dict[str, str]:
    """Where a row comes from: its id in the pinned source file at `path`, and that file's path and sha256."""
    file = pinned(catalog_id, path)
    return {"source_id": source_id, "source_file": file.row_path, "source_sha256": file.sha256}


def knowledge_row(name: str, split: str, source: dict[str, str], question: dict[str, Any], gold: str) -> dict[str, Any]:
    """A base row with one question, no state and no metadata; `source` is its provenance."""
    return {
        "id": f"{name}:{split}:{source['source_id']}",
        "benchmark": name,
        "family": name,
        "split": split,
        "state": {},
        "questions": {"q1": question},
        "gold": {"q1": gold},
        "expected": {"q1": gold},
        "provenance": source,
    }


def added_row(
    catalog_id: int, source_id: Any, track: str, state: Any, question: dict[str, Any], gold: str, **metadata: Any
) -> dict[str, Any]:
    """A row of an added benchmark with one question, without its `_evaluation`."""
    name, row_id = benchmarks()[catalog_id].dataset, f"{catalog_id}:{source_id}"
    return {
        "id": row_id,
        "benchmark": name,
        "family": name,
        "split": "evaluation",
        "state": state,
        "questions": {"q": question},
        "expected": {"q": gold},
        "metadata": {"source_id": source_id, "group_id": row_id, "track": track, **metadata},
        "scoring": {"type": "candidate_decisions", "primary_field": "q"},
    }
