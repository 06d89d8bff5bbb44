"""WinoGrande: which of two names or things fills the blank of a sentence."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import PLAIN, choice, knowledge_row, lettered, provenance
from suite_builder.recipes.records import naming, option_key, parquet_records, typed

CATALOG_ID = 28
STYLE = PLAIN

FILE = "winogrande_xl/validation-00000-of-00001.parquet"
COLUMNS = ("sentence", "option1", "option2", "answer")
INSTRUCTIONS = "Which option correctly fills the blank?\n{sentence}"


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per record of the validation file.

    Raises:
        ValueError: a malformed record; names file and record.
    """
    for index, (place, record) in enumerate(parquet_records(FILE, files[FILE], COLUMNS)):
        with naming(place):
            sentence, *choices = typed(str, record["sentence"], record["option1"], record["option2"])
            options = lettered(choices)
            gold = option_key(options, ("1", "2"), record["answer"])
            question = choice(INSTRUCTIONS.format(sentence=sentence), options)
            source = provenance(CATALOG_ID, FILE, str(index))
            yield "WinoGrande", knowledge_row("WinoGrande", "validation", source, question, gold)
