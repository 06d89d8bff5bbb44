"""BPoMP: which of two limericks is the original and which a perturbed copy."""

import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice, numbered
from suite_builder.recipes.records import naming, places, typed
from suite_builder.rows import sha256_text
from suite_builder.sources import pinned

CATALOG_ID = 20
STYLE = PLAIN

TRACK = "BPoMP-original-limerick"
SEED = "20260918:{poem}:{variant}:{index}"
INSTRUCTIONS = (
    "Which candidate is the original released limerick? Judge rhyme, meter, and linguistic coherence. "
    "The original is not defined by subjective human preference."
)


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per pair of different texts, variant after variant; rows with the same original are one case.

    Raises:
        ValueError: a malformed file or pair; names file, variant and record.
    """
    for path in sorted(files):
        with naming(path):
            variants = json.loads(files[path].read_bytes())
            if not all(isinstance(pairs, list) for pairs in variants.values()):
                raise ValueError("expected a list of pairs for every variant")
        for variant, pairs in variants.items():
            for index, (place, pair) in enumerate(places(f"{path}, {variant}", pairs)):
                if isinstance(pair, list) and len(pair) >= 2 and pair[0] != pair[1]:
                    with naming(place):
                        row = _row(path, variant, index, typed(str, *pair[:2]))
                    yield TRACK, row


def _row(path: str, variant: str, index: int, pair: tuple[str, ...]) -> dict[str, Any]:
    poem, source, order = sha256_text(pair[0]), pinned(CATALOG_ID, path), [0, 1]
    random.Random(SEED.format(poem=poem, variant=variant, index=index)).shuffle(order)
    return {
        "id": f"BPoMP:original-limerick:{Path(path).stem}:{variant}:{index}",
        "family": TRACK,
        "split": "evaluation-only",
        "state": {"task": "BPoMP original-versus-perturbed discrimination"},
        "questions": {"answer": choice(INSTRUCTIONS, numbered([pair[place] for place in order]))},
        "expected": {"answer": f"option_{order.index(0)}"},
        "metadata": {
            "group_id": poem,
            "variant": variant,
            "provenance": {"source": source.row_path, "source_sha256": source.sha256, "source_index": index},
            "adaptation_scope": "Original-limerick discrimination; does not claim human preference labels.",
        },
    }
