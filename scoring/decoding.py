"""Result lines as `Result`, a block of lines at a time."""

from io import BytesIO
from pathlib import Path
from typing import Any, Literal

from msgspec import MsgspecError, Struct, json

from engines.results import STATUSES, read_result
from scoring.single_answers import is_number


class Answer(Struct, gc=False, omit_defaults=True):
    """One answer by the types of the wire format."""

    type: str
    choice: str | None = None
    probabilities: dict[str, float] | None = None
    noul: float | None = None
    score: float | None = None


class Response(Struct, gc=False):
    """Answers by question."""

    answers: dict[str, Answer]


class Result(Struct, gc=False):
    """What a result row tells scoring. The rest of its line makes no objects, but must be JSON all the same.

    response: a `Response` where it has the types of one; else what is there instead.
    """

    run_id: str
    status: str
    payload_sha256: str | None = None
    total_wall_ms: float | None = None
    response: Any = None


class _GoodResult(Result, gc=False):
    status: Literal[STATUSES]
    response: Response | None = None


_decoder = json.Decoder(_GoodResult)


def decode_block(block: memoryview, path: Path, position: int) -> list[Result]:
    """The result rows in whole lines of a file, which begin at a byte.

    Raises:
        ResultsError: a line is not a result row.
    """
    try:
        return _decoder.decode_lines(block)
    except MsgspecError:
        rows = []
        for line in BytesIO(block):
            if not line.isspace():
                rows.append(_decode(line, path, position))
            position += len(line)
        return rows


def _decode(line: bytes, path: Path, position: int) -> Result:
    try:
        return _decoder.decode(line)
    except MsgspecError:
        row = read_result(line, path, position)
    wall_ms = row.get("total_wall_ms")
    told = row.get("payload_sha256"), float(wall_ms) if is_number(wall_ms) else None, row.get("response")
    return Result(row["run_id"], row["status"], *told)
