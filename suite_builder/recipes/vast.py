"""VAST: the stance of a post towards a topic."""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.arrivals import sha256_of
from suite_builder.recipes.common import PLAIN, choice, knowledge_row, lettered
from suite_builder.recipes.records import naming, places
from suite_builder.sources import pinned

CATALOG_ID = 41
STYLE = PLAIN

FILE = "data/VAST/vast_test.csv"
COLUMNS = ("new_id", "topic_str", "post", "label")
INSTRUCTIONS = "Topic: {topic}\nPost: {post}\nDetermine the stance of the post toward the topic."
OPTIONS = lettered(("against", "favor", "neutral"))
KEY_OF = dict(zip("012", OPTIONS, strict=True))


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per record.

    Raises:
        ValueError: a column is missing, or a malformed record; names file and record.
    """
    source = pinned(CATALOG_ID, FILE)
    provenance = {"source_file": source.row_path, "source_sha256": source.sha256 or sha256_of(files[FILE])}
    with files[FILE].open(encoding="utf-8", newline="") as stream:
        records = csv.DictReader(stream)
        if missing := set(COLUMNS).difference(records.fieldnames or ()):
            raise ValueError(f"{FILE}: no column {', '.join(sorted(missing))}")
        for place, record in places(FILE, records):
            with naming(place):
                row = _row(record, provenance)
            yield "VAST", row


def _row(record: Mapping[str, str], provenance: Mapping[str, str]) -> dict[str, Any]:
    if None in record or None in record.values():
        raise ValueError("more or fewer cells than the header")
    label = record["label"]
    if label not in KEY_OF:
        raise ValueError(f"label {label!r} is none of {', '.join(KEY_OF)}")
    question = choice(INSTRUCTIONS.format(topic=record["topic_str"], post=record["post"]), OPTIONS)
    source = {"source_id": record["new_id"], **provenance, "source_label": label}
    return knowledge_row("VAST", "test", source, question, KEY_OF[label])
