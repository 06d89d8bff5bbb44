"""ContractNLI: what a non-disclosure agreement says about each of 17 hypotheses."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.records import naming, places, typed
from suite_builder.sources import sources

CATALOG_ID = 11
STYLE = PLAIN

FILE = "contract-nli/test.json"
INSTRUCTIONS = "Classify the relationship between the contract and this hypothesis:\n{}"
CRITERIA = {
    "Entailment": "The contract entails the hypothesis.",
    "Contradiction": "The contract contradicts the hypothesis.",
    "NotMentioned": "The hypothesis is neither entailed nor contradicted by the contract.",
}


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per document, with one question per hypothesis in the order of the file's `labels`.

    Raises:
        ValueError: a malformed document; names file and document.
    """
    with naming(FILE):
        data = json.loads(files[FILE].read_bytes())
        documents = data["documents"]
        questions = {
            key: choice(INSTRUCTIONS.format(*typed(str, label["hypothesis"])), CRITERIA)
            for key, label in data["labels"].items()
        }
    for place, document in places(FILE, documents):
        with naming(place):
            yield "ContractNLI", _row(document, questions)


def _row(document: Mapping[str, Any], questions: dict[str, dict]) -> dict[str, Any]:
    [text], [number] = typed(str, document["text"]), typed(int, document["id"])
    return {
        "id": f"ContractNLI:test:{number}",
        "family": "ContractNLI",
        "split": "test",
        "state": text,
        "questions": questions,
        "expected": _choices(document["annotation_sets"], questions),
        "metadata": _metadata(number),
    }


def _choices(annotation_sets: list[dict], questions: Mapping[str, dict]) -> dict[str, str]:
    """Hypothesis key -> relation, in the order of the document's own annotations."""
    if len(annotation_sets) != 1:
        raise ValueError(f"expected one annotation set, found {len(annotation_sets)}")
    choices = {key: annotation["choice"] for key, annotation in annotation_sets[0]["annotations"].items()}
    if choices.keys() != questions.keys():
        raise ValueError(f"annotations and hypotheses differ in {sorted(choices.keys() ^ questions.keys())}")
    if unknown := set(choices.values()) - set(CRITERIA):
        raise ValueError(f"unknown relations {sorted(unknown)}")
    return choices


def _metadata(document_id: int) -> dict[str, Any]:
    [source] = sources()[CATALOG_ID]
    archive = source.files[0].archive
    return {
        "benchmark_number": 11,
        "source": "https://stanfordnlp.github.io/contract-nli/",
        "source_revision": source.revision,
        "source_file": archive.row_path,
        "source_sha256": archive.sha256,
        "member": FILE,
        "track": "native NLI classification; evidence extraction not scored",
        "primary_metric": "label macro-F1 and hypothesis accuracy; document exact-match separately",
        "source_id": document_id,
    }
