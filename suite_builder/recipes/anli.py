"""ANLI: whether a premise entails a hypothesis, in three rounds of adversarially written pairs."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import PLAIN, choice, knowledge_row, lettered
from suite_builder.recipes.records import json_lines, naming, option_key, parquet_records, typed
from suite_builder.sources import pinned

CATALOG_ID = 12
STYLE = PLAIN

INSTRUCTIONS = "Classify the relationship between the premise and hypothesis.\nPremise: {}\nHypothesis: {}"
LABELS = ("entailment", "neutral", "contradiction")
OPTIONS = lettered(LABELS)


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per record of a round's test file, from the pinned Parquet files or from those of the original release.

    Raises:
        ValueError: a malformed record; names file and record.
    """
    for number in (1, 2, 3):
        split = f"test_r{number}"
        pinned_path, original_path = f"plain_text/{split}-00000-of-00001.parquet", f"anli_v1.0/R{number}/test.jsonl"
        if pinned_path in files:
            premise_field, labels = "premise", (0, 1, 2)
            records = parquet_records(pinned_path, files[pinned_path], ("uid", "premise", "hypothesis", "label"))
        else:
            premise_field, labels = "context", ("e", "n", "c")
            records = json_lines(original_path, files[original_path])
        for place, record in records:
            with naming(place):
                uid, premise, hypothesis = typed(str, record["uid"], record[premise_field], record["hypothesis"])
                gold = option_key(OPTIONS, labels, record["label"])
                source = {
                    "source_id": uid,
                    "source_file": pinned(CATALOG_ID, pinned_path).row_path,
                    "label_names": {str(label): name for label, name in enumerate(LABELS)},
                }
                question = choice(INSTRUCTIONS.format(premise, hypothesis), OPTIONS)
                yield "ANLI", knowledge_row("ANLI", split, source, question, gold)
