"""HLE: the multiple-choice questions of Humanity's Last Exam that come without a picture."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from suite_builder.recipes.common import PLAIN, choice, knowledge_row, lettered, provenance
from suite_builder.recipes.records import naming, parquet_records
from suite_builder.sources import sources

CATALOG_ID = 45
STYLE = PLAIN

FILE = "data/test-00000-of-00001.parquet"
COLUMNS = ("id", "question", "image", "image_preview", "answer", "answer_type", "raw_subject", "category")
MULTIPLE_CHOICE = "multipleChoice"

STEM_END = "Answer Choices:"
MARKER = re.compile(rf"^\s*{STEM_END}\s*$", re.MULTILINE | re.IGNORECASE)
# The white space after the full stop may hold line ends: then the head of the option stands on a later line.
HEADER = re.compile(r"^\s*([A-Z])\.\s*(.*)$", re.MULTILINE)


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per multiple-choice record without a picture whose options can be read and hold the answer.

    Raises:
        ValueError: the file is not Parquet, a column is missing or a value has the wrong type; names the record.
    """
    for place, record in parquet_records(FILE, files[FILE], COLUMNS):
        if record["image"] or record["image_preview"] or record["answer_type"] != MULTIPLE_CHOICE:
            continue
        with naming(place):
            options, gold = read_options(record["question"]), str(record["answer"]).strip().upper()
        if gold in options:
            yield "HLE-text-MC", _row(record, options, gold)


def read_options(question: str) -> dict[str, str]:
    """Options by letter, as they are listed after the marker line; none when they are not A, B, and so on in order."""
    marker = MARKER.search(question)
    listed = question[marker.end() :] if marker else ""
    headers = list(HEADER.finditer(listed))
    ends = [header.start() for header in headers[1:]] + [len(listed)]
    values = [
        "\n".join(part for part in (header[2].strip(), listed[header.end() : end].strip()) if part)
        for header, end in zip(headers, ends, strict=False)
    ]
    in_order = "".join(header[1] for header in headers) == ascii_uppercase[: len(headers)]
    return lettered(values) if in_order and len(values) > 1 and all(values) else {}


def _row(record: Mapping[str, Any], options: Mapping[str, str], gold: str) -> dict[str, Any]:
    source = provenance(CATALOG_ID, FILE, str(record["id"]))
    stem = record["question"].partition(STEM_END)[0].strip()
    # Signature and etag are what the Hub client notes beside a file that it downloads.
    source |= {
        "source_cache_signature": sources()[CATALOG_ID][0].revision,
        "source_cache_etag": source["source_sha256"],
        "answer_type": record["answer_type"],
        "raw_subject": record["raw_subject"],
        "category": record["category"],
    }
    return knowledge_row("HLE-text-MC", "test", source, choice(stem, options), gold)
