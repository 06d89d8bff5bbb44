"""FinEntity: the sentiment of financial news towards the entities it names."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.records import naming, places, typed
from suite_builder.sources import pinned, sources

CATALOG_ID = 39
STYLE = PLAIN

FILE = "data/FinEntity.json"
CRITERIA = {tag: tag for tag in ("Negative", "Neutral", "Positive")}
INSTRUCTIONS = (
    "Classify the sentiment toward the supplied financial entity span. The entity span is given explicitly as "
    "{start}:{end} ({value}); do not extract or alter it. Choose exactly one of Negative, Neutral, or Positive."
)

Span = tuple[int, int, str]  # start, end, the text between


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per document, a question per annotation.

    Raises:
        ValueError: a document or annotation without the expected fields; names the document.
    """
    with naming(FILE):
        documents = json.loads(files[FILE].read_bytes())
    for index, (place, document) in enumerate(places(FILE, documents)):
        with naming(place):
            row = _row(index, document, len(documents))
        yield "FinEntity-entity-given", row


def _row(index: int, document: Mapping[str, Any], document_count: int) -> dict[str, Any]:
    (content,) = typed(str, document["content"])
    notes = [_note(annotation) for annotation in document["annotations"]]
    tags: dict[Span, set[str]] = {}
    for span, tag in notes:
        tags.setdefault(span, set()).add(tag)
    questions, expected = {}, {}
    for place, (span, tag) in enumerate(notes):
        if len(tags[span]) == 1:  # otherwise annotations contradict each other
            start, end, value = span
            key = f"entity_{place:04}_{start}_{end}"
            questions[key] = choice(INSTRUCTIONS.format(start=start, end=end, value=value), CRITERIA)
            expected[key] = tag
    source = pinned(CATALOG_ID, FILE)
    return {
        "id": f"FinEntity:entity-given:{index:04}",
        "family": "FinEntity-entity-given",
        "split": "evaluation-only",
        "state": {"document": content, "task": "FinEntity entity-given sentiment"},
        "questions": questions,
        "expected": expected,
        "metadata": {
            "provenance": {
                "source": source.row_path,
                "sha256": source.sha256,
                "revision": sources()[CATALOG_ID][0].revision,
                "document_index": index,
            },
            "adaptation_scope": "Entity-given sentiment classification; entity extraction is not claimed.",
            "asserted_label_mapping": {tag: tag.lower() for tag in CRITERIA},
            "counts": {
                "source_documents": document_count,
                "entities_in_document": len(notes),
                "entities_emitted": len(questions),
            },
            "exclusions": [
                {"document_index": index, "span": span, "labels": sorted(found)}
                for span, found in tags.items()
                if len(found) > 1
            ],
        },
    }


def _note(annotation: Mapping[str, Any]) -> tuple[Span, str]:
    """(span, tag) of an annotation."""
    start, end = typed(int, annotation["start"], annotation["end"])
    value, tag = typed(str, annotation["value"], annotation["tag"])
    if tag not in CRITERIA:
        raise ValueError(f"tag {tag!r} is none of {', '.join(CRITERIA)}")
    return (start, end, value), tag
