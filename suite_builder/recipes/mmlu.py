"""MMLU: multiple-choice exam questions of 57 subjects."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import PLAIN, choice, knowledge_row, lettered, provenance
from suite_builder.recipes.records import naming, option_key, parquet_records, typed

CATALOG_ID = 24
STYLE = PLAIN

FILE = "all/test-00000-of-00001.parquet"
COLUMNS = ("question", "subject", "choices", "answer")


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per record of the test file.

    Raises:
        ValueError: a malformed record; names file and record.
    """
    for index, (place, record) in enumerate(parquet_records(FILE, files[FILE], COLUMNS)):
        with naming(place):
            question, subject, *choices = typed(str, record["question"], record["subject"], *record["choices"])
            options = lettered(choices)
            gold = option_key(options, range(4), record["answer"])
            source = {"source_id": str(index), "subject": subject} | provenance(CATALOG_ID, FILE, str(index))
            yield "MMLU", knowledge_row("MMLU", "test", source, choice(question, options), gold)
