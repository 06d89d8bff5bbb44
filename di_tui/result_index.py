"""Where in a results file the result of each request lies, so that any one is read at once. Knows nothing of rows or scores."""

import gzip
from pathlib import Path
from typing import Any

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder

from engines.results import read_result, result_lines


class _Name(Struct):
    """What is decoded of every line; the rest makes no objects."""

    run_id: str


_decode = Decoder(_Name).decode


class ResultIndex:
    """The last result of every run id in a results file, as the file was when this was made.

    Raises:
        ResultsError: the file is missing or malformed.
    """

    def __init__(self, path: Path):
        self._path = path
        self._places = {_run_id(line, path, place): place for place, line in result_lines(path)}

    def find(self, run_id: str) -> dict[str, Any] | None:
        """The result row of a request, None for one without a result; safe to call from several threads."""
        place = self._places.get(run_id)
        if place is None:
            return None
        with gzip.open(self._path) if self._path.suffix == ".gz" else self._path.open("rb") as file:
            file.seek(place)
            return read_result(file.readline(), self._path, place)


def _run_id(line: bytes, path: Path, place: int) -> str:
    try:
        return _decode(line).run_id
    except MsgspecError:
        return read_result(line, path, place)["run_id"]
