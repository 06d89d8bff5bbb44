"""Records of a CSV source file one by one, where the header says exactly which cells a record has."""

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from suite_builder.recipes.records import naming, places


def csv_records(path: str, file: Path, header: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """(place, record) of a CSV file, without a byte order mark if it has one; `path` is its name in errors.

    Raises:
        ValueError: another header, or a record with more or fewer cells.
    """
    with file.open(encoding="utf-8-sig", newline="") as stream:
        lines = csv.reader(stream)
        if (found := next(lines, [])) != list(header):
            raise ValueError(f"{path}: expected the header {','.join(header)}, found {','.join(found)}")
        for place, cells in places(path, lines):
            with naming(place):
                if len(cells) != len(header):
                    raise ValueError(f"expected {len(header)} cells, found {len(cells)}")
            yield place, dict(zip(header, cells))
