"""Label file and row store of a suite: written once, keyed by the row files, read instead of them.

`index/rows.jsonl` holds all rows uncompressed, `index/labels.parquet` one record a row: the fields of `Label` and where the
row's line lies (`offset`, `length` in bytes). `index/key.json` names the row files that they were made from.
"""

import os
import tempfile
from collections.abc import Iterator
from dataclasses import fields
from functools import cached_property
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from suite_builder.errors import SuiteError
from suite_builder.rows import Label, Request, parse_lines
from suite_builder.suite import Suite, read_lines

FOLDER = "index"
LABELS = "labels.parquet"
ROWS = "rows.jsonl"
KEY = "key.json"
FORMAT = 1
ROWS_A_GROUP = 4096

_INTEGERS = {"catalog_id": pa.int32(), "proxy_tokens": pa.int32()}
SCHEMA = pa.schema(
    [(column.name, _INTEGERS.get(column.name, pa.string())) for column in fields(Label)]
    + [("offset", pa.int64()), ("length", pa.int32())]
)


class RowIndex:
    """Random access to the rows of a suite, and its labels. Positions count rows in file order from 0."""

    def __init__(self, folder: Path, temporary: tempfile.TemporaryDirectory | None = None):
        self.folder = folder
        self._temporary = temporary
        self._file = os.open(folder / ROWS, os.O_RDONLY)

    @classmethod
    def of(cls, suite: Suite) -> "RowIndex | None":
        """The suite's index when it has one made from its present row files, else None."""
        folder = suite.directory and suite.directory / FOLDER
        if not folder or not (folder / KEY).is_file():
            return None
        return cls(folder) if orjson.loads((folder / KEY).read_bytes()) == _key(suite) else None

    @classmethod
    def require(cls, suite: Suite) -> "RowIndex":
        """The suite's index, made now when it is missing: in the suite directory, or in a temporary folder when that is
        not writable or the suite is a loose rows file.

        Raises:
            SuiteError: a row is malformed, or there is no room for the row store.
        """
        existing = cls.of(suite)
        if existing:
            return existing
        if suite.directory and os.access(suite.directory, os.W_OK):
            build(suite, suite.directory / FOLDER)
            return cls(suite.directory / FOLDER)
        temporary = tempfile.TemporaryDirectory(prefix="di-tui-")
        build(suite, Path(temporary.name))
        return cls(Path(temporary.name), temporary)

    def labels(self) -> Iterator[Label]:
        """All labels in file order."""
        names = [column.name for column in fields(Label)]
        with pq.ParquetFile(self.folder / LABELS) as file:
            for batch in file.iter_batches(batch_size=ROWS_A_GROUP, columns=names):
                columns = [batch.column(name).to_pylist() for name in names]
                yield from map(Label, *columns)

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        table = pq.read_table(self.folder / LABELS, columns=["offset", "length"])
        return table["offset"].to_pylist(), table["length"].to_pylist()

    @cached_property
    def _positions(self) -> dict[str, int]:
        run_ids = pq.read_table(self.folder / LABELS, columns=["run_id"])["run_id"].to_pylist()
        return {run_id: position for position, run_id in enumerate(run_ids)}

    def request(self, position: int) -> Request:
        """The request at a position; safe to call from several threads."""
        offsets, lengths = self._places
        return Request.from_line(os.pread(self._file, lengths[position], offsets[position]))

    def find(self, run_id: str) -> Request:
        """The request with a run id.

        Raises:
            KeyError: no such row.
        """
        return self.request(self._positions[run_id])

    def close(self) -> None:
        os.close(self._file)
        if self._temporary:
            self._temporary.cleanup()


def build(suite: Suite, folder: Path) -> None:
    """Write label file and row store of a suite into `folder`; the key comes last, so a half-written index is never used.

    Raises:
        SuiteError: a row is malformed, a run id occurs twice, or the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / KEY).unlink(missing_ok=True)
        with (folder / ROWS).open("wb") as store, pq.ParquetWriter(folder / LABELS, SCHEMA, compression="zstd") as writer:
            _write(suite, store, writer)
        (folder / KEY).write_bytes(orjson.dumps(_key(suite)))
    except OSError as error:
        raise SuiteError(f"cannot write the row store in {folder}: {error.strerror or error}") from None


def _write(suite: Suite, store, writer: pq.ParquetWriter) -> None:
    pending, seen = [], set()
    for path in suite.files:
        for line, request in parse_lines(read_lines(path), str(path)):
            if request.run_id in seen:
                raise SuiteError(f"{path}: run id {request.run_id} occurs twice")
            seen.add(request.run_id)
            label = Label.from_request(request)
            record = {column.name: getattr(label, column.name) for column in fields(Label)}
            pending.append({**record, "offset": store.tell(), "length": len(line)})
            store.write(line)
            if len(pending) == ROWS_A_GROUP:
                writer.write_batch(pa.RecordBatch.from_pylist(pending, SCHEMA))
                pending.clear()
    if pending:
        writer.write_batch(pa.RecordBatch.from_pylist(pending, SCHEMA))


def _key(suite: Suite) -> dict:
    """What the index was made from. A recorded sha256 settles it; without one the file's size and time must do."""
    recorded = suite.manifest.get("files", {})
    return {
        "format": FORMAT,
        "files": [
            {
                "name": path.name,
                "sha256": recorded.get(path.name, {}).get("uncompressed_sha256"),
                "size": path.stat().st_size,
                "modified_ns": path.stat().st_mtime_ns,
            }
            for path in suite.files
        ],
    }
