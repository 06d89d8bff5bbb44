"""New Yorker: which of five captions was written for a cartoon, from a description of it."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import added_row, choice, lettered
from suite_builder.recipes.records import naming, parquet_records, typed

CATALOG_ID = 64

FILE = "matching/test-00000-of-00001.parquet"
STATE = {
    "scene": "image_location",
    "description": "image_description",
    "uncanny_description": "image_uncanny_description",
    "entities": "entities",
}
COLUMNS = ("contest_number", *STATE.values(), "caption_choices", "label", "instance_id")
TRACK = "matching-fold-0"
INSTRUCTIONS = "Which caption was written for this cartoon?"


def rows(files: Mapping[str, Path]) -> Iterator[dict]:
    """One row per record of the test file; the picture is not read.

    Raises:
        ValueError: a malformed record, or one whose label is no caption's letter; names file and record.
    """
    for place, record in parquet_records(FILE, files[FILE], COLUMNS):
        with naming(place):
            options = lettered(typed(str, *record["caption_choices"]))
            if record["label"] not in options:
                raise ValueError(f"label {record['label']!r} is none of {', '.join(options)}")
            state = {key: record[column] for key, column in STATE.items()}
            yield added_row(
                CATALOG_ID, record["instance_id"], TRACK, state, choice(INSTRUCTIONS, options), record["label"],
                contest_number=record["contest_number"],
            )
