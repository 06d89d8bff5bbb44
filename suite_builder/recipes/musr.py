"""MuSR: multistep reasoning over murder mysteries, object placements and team allocations."""

import ast
import csv
import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from suite_builder.recipes.common import PLAIN, choice, knowledge_row, lettered, provenance

CATALOG_ID = 32
STYLE = PLAIN

STEMS = ("murder_mystery", "object_placements", "team_allocation")


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per question, from the pinned JSON files or from the CSV files of the equal release."""
    for stem in STEMS:
        pinned_path = f"datasets/{stem}.json"
        if pinned_path in files:
            items = _json_items(files[pinned_path])
        else:
            items = _csv_items(files[f"TAUR-Lab-MuSR/{stem}.csv"])
        for i, (context, questions) in enumerate(items):
            for j, (text, choices, answer) in enumerate(questions):
                options = lettered(choices)
                source = provenance(CATALOG_ID, pinned_path, f"{stem}:{i}:{j}")
                question = choice(f"{context}\n\n{text}", options)
                yield "MuSR", knowledge_row("MuSR", "test", source, question, list(options)[answer])


def _json_items(path: Path) -> Iterator[tuple[str, list[tuple]]]:
    """(context, [(question, choices, index of the answer)]) of every item."""
    for item in json.loads(path.read_text("utf-8")):
        yield item["context"], [itemgetter("question", "choices", "answer")(asked) for asked in item["questions"]]


def _csv_items(path: Path) -> Iterator[tuple[str, list[tuple]]]:
    """The same from one CSV line per question; consecutive lines with the same narrative are one item."""
    with path.open(encoding="utf-8", newline="") as stream:
        for context, records in groupby(csv.DictReader(stream), itemgetter("narrative")):
            yield context, [
                (record["question"], ast.literal_eval(record["choices"]), int(record["answer_index"]))
                for record in records
            ]
