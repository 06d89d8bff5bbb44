"""Tables as text for other programs: CSV and Markdown."""

import csv
import io
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import orjson


def print_json(document: Any) -> None:
    """Print a document as indented JSON."""
    sys.stdout.write(json_text(document))


def print_csv(records: Sequence[Mapping[str, Any]]) -> None:
    """Print records as CSV."""
    sys.stdout.write(csv_text(records))


def print_markdown(records: Sequence[Mapping[str, Any]]) -> None:
    """Print records as a Markdown table."""
    sys.stdout.write(markdown_text(records))


def json_text(document: Any) -> str:
    """A document as indented JSON."""
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()


def csv_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Records with the same keys as CSV; what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]) if records else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def markdown_text(records: Sequence[Mapping[str, Any]]) -> str:
    """Records with the same keys as a Markdown table; numbers stand on the right."""
    if not records:
        return ""
    header = list(records[0])
    numeric = [any(isinstance(record[key], int | float) for record in records) for key in header]
    lines = [header, ["---:" if right else "---" for right in numeric]]
    lines += [[_cell(record[key]) for key in header] for record in records]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    text = f"{value:.4f}" if isinstance(value, float) else str(value)
    return text.replace("|", "\\|")
