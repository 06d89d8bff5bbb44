"""What ARC-Easy and ARC-Challenge share: grade-school science questions with three to five options."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import choice, knowledge_row, lettered, provenance
from suite_builder.recipes.records import naming, option_key, parquet_records, typed

COLUMNS = ("id", "question", "choices", "answerKey")


def arc_rows(catalog_id: int, name: str, files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per record of a part's test file. Options get letters, whatever the source labels them with.

    Raises:
        ValueError: a malformed record; names file and record.
    """
    path = f"{name}/test-00000-of-00001.parquet"
    for place, record in parquet_records(path, files[path], COLUMNS):
        with naming(place):
            source_id, question, *choices = typed(str, record["id"], record["question"], *record["choices"]["text"])
            options = lettered(choices)
            gold = option_key(options, record["choices"]["label"], record["answerKey"])
            source = provenance(catalog_id, path, source_id)
            yield name, knowledge_row(name, "test", source, choice(question, options), gold)
