"""CLINC150+OOS: which of 150 intents a request to an assistant has, or none of them."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import PLAIN, choice, knowledge_row, numbered, provenance
from suite_builder.recipes.records import naming, option_key, places, typed

CATALOG_ID = 5
STYLE = PLAIN

FILE = "data_full.json"
INSTRUCTIONS = "Classify the intent of this user request, or choose out of scope if none applies:\n{text}"
OUT_OF_SCOPE = "oos"
OUT_OF_SCOPE_TEXT = "out of scope: none of the listed intents"


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per record of `test`, then of `oos_test`; the options are the intents of `train` and out of scope.

    Raises:
        ValueError: a malformed record; names file, split and record.
    """
    with naming(FILE):
        data = json.loads(files[FILE].read_bytes())
    labels = sorted({OUT_OF_SCOPE} | {label for _place, _text, label in _records(data, "train")})
    options = numbered([OUT_OF_SCOPE_TEXT if label == OUT_OF_SCOPE else label.replace("_", " ") for label in labels])
    for split in ("test", "oos_test"):
        for index, (place, text, label) in enumerate(_records(data, split)):
            with naming(place):
                gold = option_key(options, labels, label)
            source = provenance(CATALOG_ID, FILE, str(index)) | {"label_names": labels}
            question = choice(INSTRUCTIONS.format(text=text), options)
            yield "CLINC150+OOS", knowledge_row("CLINC150+OOS", split, source, question, gold)


def _records(data: Mapping[str, list], split: str) -> Iterator[tuple[str, str, str]]:
    """(place, text, label) of the records of a split."""
    with naming(FILE):
        records = data[split]
    for place, record in places(f"{FILE}, {split}", records):
        with naming(place):
            text, label = typed(str, *record)
        yield place, text, label
