"""Small JSON files of the work folder: replaced atomically, and as good as missing when they are damaged."""

from pathlib import Path
from typing import Any

import orjson

from suite_builder.assemble import write_bytes


def read_json(path: Path) -> dict[str, Any]:
    """Content of a JSON file, empty when it is missing or damaged."""
    try:
        return orjson.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON file; what JSON does not know is written as its text.

    Raises:
        SuiteError: the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, orjson.dumps(value, default=str))
