"""Result rows: how one is written, read back, and what a resumed run keeps.

`results.jsonl` is append-only: one JSON object per request and line, and the last complete line of a run id counts. A last
line without its line end is a torn write and never counts.
"""

import gzip
import json
import os
import sys
import time
import traceback
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from engines.base import Abstained, Answered, Outcome, Unsupported
from suite_builder.rows import Request

STATUSES = ("ok", "unsupported", "abstained", "error")
SECONDS_BETWEEN_SYNCS = 1.0
BLOCK = 1 << 18


class ResultsError(Exception):
    """A results file cannot be read or continued; the message names file and line and says what to do."""


@dataclass(frozen=True, slots=True)
class Timing:
    """When an engine call began and ended, and how many requests shared it."""

    started: datetime
    completed: datetime
    wall_ms: float
    batch_size: int = 1


def result_row(request: Request, engine: str, outcome: Outcome, timing: Timing, compact: bool = False) -> dict[str, Any]:
    """The result of one request in the published key order.

    Args:
        engine: the engine's name as the user gave it.
        compact: leave out payload and raw output.
    """
    row = {**request.evaluation, "started_utc": timing.started.isoformat(), "engine": engine}
    if not compact:
        row["payload"] = {"state": request.state, "questions": request.questions}
    row["status"] = status_of(outcome)
    if isinstance(outcome, Answered):
        row["response"] = outcome.response
        if not compact:
            row["raw_output"] = outcome.raw_output
    else:
        row.update(_failure(outcome, compact))
    row["completed_utc"] = timing.completed.isoformat()
    row["total_wall_ms"] = timing.wall_ms
    row["model_request_wall_ms"] = timing.wall_ms
    if isinstance(outcome, Answered):
        row["model_request_wall_ms"] = timing.wall_ms if outcome.model_ms is None else outcome.model_ms
        if outcome.http_ms is not None:
            row["http_wall_ms"] = outcome.http_ms
    if timing.batch_size > 1:
        row["batch_size"] = timing.batch_size
    return row


def status_of(outcome: Outcome) -> str:
    """`ok`, `unsupported`, `abstained` or `error`."""
    if isinstance(outcome, Answered):
        return "ok"
    if isinstance(outcome, Unsupported):
        return "unsupported"
    return "abstained" if isinstance(outcome, Abstained) else "error"


def _failure(outcome: Exception, compact: bool) -> dict[str, Any]:
    failure: dict[str, Any] = {"error": str(outcome) or type(outcome).__name__}
    if isinstance(outcome, Abstained):
        return failure if compact else {**failure, "raw_output": outcome.raw_output}
    if status_of(outcome) == "error":
        failure["exception"] = type(outcome).__name__
        failure["traceback"] = "".join(traceback.format_exception(outcome))
    return failure


def encode(row: dict[str, Any]) -> bytes:
    """One line of a results file, with its end."""
    return orjson.dumps(row, default=str, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)


def read_results(path: Path | str) -> Iterator[dict[str, Any]]:
    """Complete rows of a plain or gzip results file in file order; blank lines and a torn last line are skipped.

    Raises:
        ResultsError: no such file, or a line before the last is not a result row.
    """
    for position, line in result_lines(path):
        yield read_result(line, path, position)


def read_result(line: bytes, path: Path | str, position: int) -> dict[str, Any]:
    """One parsed result row of a file that is only read.

    NaN and Infinity, which are no JSON but which some writers put into answers, are read as those numbers: the answer is
    at fault then, and not the file.

    Raises:
        ResultsError: the line, which begins at byte `position`, is not a JSON object with a run id and a known status.
    """
    try:
        return _parse(line, orjson.loads)
    except ValueError:
        try:
            return _parse(line, json.loads)
        except ValueError as error:
            raise _malformed(path, _line_number(Path(path), position), error) from None


def parse_result(line: bytes, path: Path, number: int) -> dict[str, Any]:
    """One parsed result row of a file that is being continued.

    Raises:
        ResultsError: the line is not a JSON object with a run id and a known status.
    """
    try:
        return _parse(line, orjson.loads)
    except ValueError as error:
        raise _malformed(path, number, error) from None


def _parse(line: bytes, loads: Callable[[bytes], Any]) -> dict[str, Any]:
    """Raises:
    ValueError: says what is wrong with the line.
    """
    try:
        row = loads(line)
        if isinstance(row["run_id"], str) and row["status"] in STATUSES:
            return row
    except (ValueError, RecursionError) as error:  # both JSON modules raise a subclass of ValueError
        raise ValueError(f"not valid JSON ({error})") from None
    except (TypeError, KeyError):
        raise ValueError("not a result row (no run_id or status)") from None
    raise ValueError(f"status {row['status']!r} is none of {', '.join(STATUSES)}")


def _malformed(path: Path | str, number: int, problem: ValueError) -> ResultsError:
    return ResultsError(f"{path}, line {number}: {problem}; mend or delete that line, its request will be asked again")


def result_lines(path: Path | str) -> Iterator[tuple[int, bytes]]:
    """Complete lines that are not blank, each with the byte that it begins at (of the unpacked content).

    Raises:
        ResultsError: no such file, or it cannot be read.
    """
    for position, block in result_blocks(path):
        for line in BytesIO(block):
            if not line.isspace():
                yield position, line
            position += len(line)


def result_blocks(path: Path | str, start: int = 0, stop: int | None = None) -> Iterator[tuple[int, memoryview]]:
    """Complete lines, many at a time, with the byte that the first one begins at. The next block overwrites the memory.

    Args:
        start, stop: where lines begin (see `result_parts`), to read a plain file in parts.

    Raises:
        ResultsError: no such file, or it cannot be read.
    """
    path = Path(path)
    buffer, kept, left = bytearray(BLOCK), 0, sys.maxsize if stop is None else stop - start
    with _read_errors(path), gzip.open(path) if path.suffix == ".gz" else path.open("rb", buffering=0) as stream:
        stream.seek(start)
        while count := stream.readinto(memoryview(buffer)[kept : kept + left]):
            end, left = kept + count, left - count
            whole = buffer.rfind(b"\n", kept, end) + 1
            if whole:
                yield start, memoryview(buffer)[:whole]
            start, kept = start + whole, end - whole
            target = buffer if kept < len(buffer) else bytearray(2 * kept)
            target[:kept] = buffer[whole:end]
            buffer = target


def result_parts(path: Path, size: int) -> list[tuple[int, int]]:
    """Where parts of a plain file begin and end: whole lines, of about `size` bytes together.

    Raises:
        ResultsError: no such file, or it cannot be read.
    """
    with _read_errors(path), path.open("rb") as stream:
        bounds, total = [0], os.fstat(stream.fileno()).st_size
        while bounds[-1] < total:
            stream.seek(bounds[-1] + size)
            stream.readline()
            bounds.append(min(stream.tell(), total))
    return list(pairwise(bounds))


@contextmanager
def _read_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise ResultsError(f"no results in {path}; start a run with `di-tui run`") from None
    except (OSError, EOFError, zlib.error) as error:
        raise ResultsError(f"cannot read {path}: {error}") from None


def _line_number(path: Path, position: int) -> int:
    """Number of the line that begins at a byte."""
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
        number = 1
        while position > 0:
            position -= len(stream.readline())
            number += 1
        return number


class Checkpoint:
    """The results file of a run that is being written.

    Opening it cuts off a torn last line and reads what is already there.

    finished: run id -> payload_sha256 of every request with a final result (any status but `error`).
    failed: run ids whose latest result is an `error`; they are asked again.
    """

    def __init__(self, path: Path):
        """Raises:
        ResultsError: the file cannot be opened for writing, or holds a malformed line before its end.
        """
        self.path = path
        self.finished: dict[str, str | None] = {}
        self.failed: set[str] = set()
        self._synced = time.monotonic()
        try:
            self._descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            os.ftruncate(self._descriptor, self._read_back())
        except OSError as error:
            raise ResultsError(f"cannot write {path}: {error.strerror}") from None

    def _read_back(self) -> int:
        """Take in every complete line; return where the last one ends."""
        end, position, broken = 0, 0, None
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                position += len(line)
                if broken:
                    raise broken
                if not line.endswith(b"\n"):
                    break
                if not line.isspace():
                    try:
                        self._take(parse_result(line, self.path, number))
                    except ResultsError as error:
                        # Only a last line may be broken: a power loss can leave one whose blocks never reached the disk.
                        broken = error
                        continue
                end = position
        return end

    def _take(self, row: dict[str, Any]) -> None:
        run_id = row["run_id"]
        if row["status"] == "error":
            self.failed.add(run_id)
            self.finished.pop(run_id, None)
        else:
            self.finished[run_id] = row.get("payload_sha256")
            self.failed.discard(run_id)

    def append(self, lines: Sequence[bytes]) -> None:
        """Hand whole lines to the operating system, which keeps them if this process is killed; force them to the disk at
        most once a second.

        Raises:
            ResultsError: the disk is full; what was half written is cut off again.
        """
        end = os.fstat(self._descriptor).st_size
        remaining = memoryview(b"".join(lines))
        try:
            while remaining:
                remaining = remaining[os.write(self._descriptor, remaining) :]
        except OSError as error:
            os.ftruncate(self._descriptor, end)
            raise ResultsError(
                f"cannot write {self.path}: {error.strerror}; results so far are safe, free some space and run again"
            ) from None
        if time.monotonic() - self._synced >= SECONDS_BETWEEN_SYNCS:
            self.sync()

    def sync(self) -> None:
        """Force written results to the disk."""
        os.fsync(self._descriptor)
        self._synced = time.monotonic()

    def close(self) -> None:
        self.sync()
        os.close(self._descriptor)


def utc_now() -> datetime:
    return datetime.now(UTC)
