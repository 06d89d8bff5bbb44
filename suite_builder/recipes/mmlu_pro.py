"""MMLU-Pro: exam questions with up to ten options."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import added_row, choice, lettered
from suite_builder.recipes.records import naming, option_key, parquet_records, typed
from suite_builder.sources import pinned

CATALOG_ID = 57

FILE = "data/test-00000-of-00001.parquet"
COLUMNS = ("question_id", "question", "options", "answer", "answer_index", "category", "src")
INSTRUCTIONS = "Which option is the correct answer?"


def rows(files: Mapping[str, Path]) -> Iterator[dict]:
    """One row per record of the test file.

    Raises:
        ValueError: a malformed record, or one whose answer is not the letter at its index; names file and record.
    """
    source_file = pinned(CATALOG_ID, FILE).row_path
    for place, record in parquet_records(FILE, files[FILE], COLUMNS):
        with naming(place):
            question, category, *texts = typed(str, record["question"], record["category"], *record["options"])
            options = lettered(texts)
            gold = option_key(options, range(len(options)), record["answer_index"])
            if record["answer"] != gold:
                raise ValueError(f"answer {record['answer']!r} is not the letter at its index, {gold!r}")
            yield added_row(
                CATALOG_ID, record["question_id"], category, question, choice(INSTRUCTIONS, options), gold,
                src=record["src"], source_file=source_file, source_split="test",
            )
