"""SATA-Bench: select all that apply, one yes or no per option."""

import hashlib
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.records import json_lines, naming
from suite_builder.sources import pinned, sources

CATALOG_ID = 33
STYLE = PLAIN

FILE = "src/satabench/methods/data/sata_bench_final_2025.json"
SEED = "20260918:SATA:{}"
INSTRUCTIONS = "Question: {question}\nDoes this candidate correctly answer the question?\nCandidate: {candidate}"
CRITERIA = {"no": "No", "yes": "Yes"}


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per line; its options are shuffled.

    Raises:
        ValueError: a malformed line; names the record.
    """
    sha256 = hashlib.sha256(files[FILE].read_bytes()).hexdigest()
    for index, (place, record) in enumerate(json_lines(FILE, files[FILE])):
        with naming(place):
            row = _row(index, record, sha256)
        yield "SATA-Bench", row


def _row(index: int, record: Mapping[str, Any], sha256: str) -> dict[str, Any]:
    question, choices = record["question"], list(enumerate(record["choices"]))
    if not all(isinstance(truth, bool) for _place, (_text, truth) in choices):
        raise ValueError("expected every choice to be a text and true or false")
    random.Random(SEED.format(index)).shuffle(choices)
    options = {f"option_{place}": option for place, option in enumerate(choices)}
    return {
        "id": f"SATA-Bench:test:{index}",
        "family": "SATA-Bench",
        "split": "test",
        "state": {
            "paragraph": record["paragraph"],
            "question": question,
            "options": [text for _origin, (text, _truth) in choices],
        },
        "questions": {
            key: choice(INSTRUCTIONS.format(question=question, candidate=text), CRITERIA)
            for key, (_origin, (text, _truth)) in options.items()
        },
        "expected": {key: "yes" if truth else "no" for key, (_origin, (_text, truth)) in options.items()},
        "metadata": {
            "benchmark_number": CATALOG_ID,
            "source_file": pinned(CATALOG_ID, FILE).row_path,
            "source_sha256": sha256,
            "source_revision": sources()[CATALOG_ID][0].revision,
            "source_id": index,
            "source_subset": record.get("dataset"),
            "source_option_indices": {key: origin for key, (origin, _choice) in options.items()},
            "source": "https://github.com/sata-bench/sata-bench",
            "mapping": "select-all to independent binary choices; exact set is scoring unit",
            "primary_metric": "request exact-set accuracy",
            "shuffle_seed": SEED.format("<source-index>"),
            "gold_rule": (
                "choices[i][1], matching upstream sata_prompt_provider.py; "
                "legacy answer letters refer to a different permutation"
            ),
        },
    }
