"""GPQA Diamond: graduate-level questions in biology, physics and chemistry with four options."""

import csv
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice, lettered
from suite_builder.recipes.records import naming, places, typed
from suite_builder.sources import pinned

CATALOG_ID = 25
STYLE = PLAIN

FILE = "dataset/gpqa_diamond.csv"
ANSWERS = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
SEED = "20260918:GPQA:{}"


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per record; its four answers are shuffled.

    Raises:
        ValueError: a column is missing or a record is cut short; names the record.
    """
    with files[FILE].open(encoding="utf-8-sig", newline="") as stream:
        for index, (place, record) in enumerate(places(FILE, csv.DictReader(stream))):
            with naming(place):
                question, *answers = typed(str, *(record[column] for column in ("Question", *ANSWERS)))
            yield "GPQA-Diamond", _row(index, question, answers)


def _row(index: int, question: str, answers: list[str]) -> dict[str, Any]:
    order, archive = [0, 1, 2, 3], pinned(CATALOG_ID, FILE).archive
    random.Random(SEED.format(index)).shuffle(order)
    options = lettered([answers[place] for place in order])
    return {
        "id": f"GPQA-Diamond:test:{index}",
        "family": "GPQA-Diamond",
        "split": "test",
        "state": "",
        "questions": {"answer": choice(question, options)},
        "expected": {"answer": list(options)[order.index(0)]},
        "metadata": {
            "benchmark_number": CATALOG_ID,
            "source_file": archive.row_path,
            "source_sha256": archive.sha256,
            "source_id": index,
            "member": FILE,
            "source": "https://github.com/idavidrein/gpqa",
            "shuffle_seed": SEED.format("<source-index>"),
            "source_option_indices": order,
            "handling": "LOCAL EVALUATION ONLY; do not upload benchmark text or tokens to public artifacts",
            "primary_metric": "accuracy",
        },
    }
