"""Humicroedit: which of two edited news headlines people found funnier."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.csv_records import csv_records
from suite_builder.recipes.records import naming
from suite_builder.sources import pinned

CATALOG_ID = 21
STYLE = PLAIN

FILE = "semeval-2020-task-7-dataset/subtask-2/test.csv"
HEADER = ["id", *(f"{name}{side}" for side in (1, 2) for name in ("original", "edit", "grades", "meanGrade")), "label"]
TIE = "0"
MARK = re.compile("<[^<>]+/>")


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per pair that is not a tie, in file order.

    Raises:
        ValueError: another header, or a record that does not fit it; names the record.
    """
    for place, pair in csv_records(FILE, files[FILE], HEADER):
        if pair["label"] != TIE:
            with naming(place):
                row = _row(pair)
            yield "Humicroedit", row


def _row(pair: Mapping[str, str]) -> dict[str, Any]:
    headlines = {f"headline_{side}": _edited(pair[f"original{side}"], pair[f"edit{side}"]) for side in "12"}
    funnier = f"headline_{pair['label']}"
    if funnier not in headlines:
        raise ValueError(f"expected label 0, 1 or 2, found {pair['label']!r}")
    archive = pinned(CATALOG_ID, FILE).archive
    return {
        "id": f"Humicroedit:test:{pair['id']}",
        "family": "Humicroedit",
        "split": "test",
        "state": "",
        "questions": {"answer": choice("Which edited news headline is funnier?", headlines)},
        "expected": {"answer": funnier},
        "metadata": {
            "benchmark_number": CATALOG_ID,
            "source": archive.url,
            "source_file": archive.row_path,
            "source_sha256": archive.sha256,
            "member": FILE,
            "source_id": pair["id"],
            "primary_metric": "pairwise accuracy on non-ties, matching official score_task_2.py",
            "human_mean_grades": [float(pair["meanGrade1"]), float(pair["meanGrade2"])],
            "mapping": "replace exactly the marked token; no grades supplied to model",
        },
    }


def _edited(headline: str, word: str) -> str:
    """The headline with `word` in place of its one marked token."""
    parts = MARK.split(headline)
    if len(parts) != 2:
        raise ValueError(f"not exactly one marked token in {headline!r}")
    return word.join(parts)
