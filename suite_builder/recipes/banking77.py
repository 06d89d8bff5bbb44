"""BANKING77: which of 77 banking intents a request has."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import PLAIN, choice, knowledge_row, numbered, provenance

CATALOG_ID = 4
STYLE = PLAIN

INSTRUCTIONS = "Classify the banking intent of this user request:\n{text}"


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per line of `test.csv`; the options in the order of `categories.json`."""
    options = numbered(json.loads(files["categories.json"].read_text("utf-8")))
    key_of = {label: key for key, label in options.items()}
    # Without newline translation: three texts begin with line feeds.
    with files["test.csv"].open(encoding="utf-8", newline="") as stream:
        for index, record in enumerate(csv.DictReader(stream)):
            question = choice(INSTRUCTIONS.format(text=record["text"]), options)
            source = provenance(CATALOG_ID, "test.csv", str(index))
            yield "BANKING77", knowledge_row("BANKING77", "test", source, question, key_of[record["category"]])
