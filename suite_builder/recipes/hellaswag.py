"""HellaSwag: which of four endings continues a text."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import PLAIN, choice, knowledge_row, lettered, provenance
from suite_builder.recipes.records import naming, option_key, parquet_records, typed

CATALOG_ID = 29
STYLE = PLAIN

FILE = "data/validation-00000-of-00001.parquet"
COLUMNS = ("ind", "ctx", "endings", "label")
INSTRUCTIONS = "Which continuation is most plausible?\n{context}"


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per record of the validation file; runs of white space become one space, at the ends none.

    Raises:
        ValueError: a malformed record; names file and record.
    """
    for index, (place, record) in enumerate(parquet_records(FILE, files[FILE], COLUMNS)):
        with naming(place):
            [ind] = typed(int, record["ind"])
            context, *endings = (" ".join(text.split()) for text in typed(str, record["ctx"], *record["endings"]))
            options = lettered(endings)
            gold = option_key(options, ("0", "1", "2", "3"), record["label"])
            question = choice(INSTRUCTIONS.format(context=context), options)
            source = provenance(CATALOG_ID, FILE, f"{index}:{ind}")
            yield "HellaSwag", knowledge_row("HellaSwag", "validation", source, question, gold)
