"""Label file and row store of a suite: written once, keyed by the row files, read instead of them.

`index/rows.jsonl` holds all rows uncompressed, `index/labels.parquet` one record a row: the fields of `Label` and where the
row's line lies (`offset`, `length` in bytes). `index/key.json` holds the sha256 of the rows and names the files that they
were in.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from suite_builder.errors import SuiteError
from suite_builder.rows import Label, RawRow, Request, parse_lines
from suite_builder.suite import Suite, file_stem, read_lines

FOLDER = "index"
LABELS = "labels.parquet"
ROWS = "rows.jsonl"
KEY = "key.json"
FORMAT = 2
ROWS_A_GROUP = 4096
UNIQUE = ("run_id", "payload_sha256")

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
        self._key = orjson.loads((folder / KEY).read_bytes())
        self._file = os.open(folder / ROWS, os.O_RDONLY)

    @classmethod
    def of(cls, suite: Suite) -> "RowIndex | None":
        """The suite's index when it has one made from its present row files, else None."""
        folder = suite.directory and suite.directory / FOLDER
        if not folder or not (folder / KEY).is_file():
            return None
        index = cls(folder)
        if index._key["made_from"] == _made_from(suite):
            return index
        index.close()
        return None

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

    @property
    def content_sha256(self) -> dict[str, str]:
        """Row file stem -> sha256 of its uncompressed content."""
        return self._key["content_sha256"]

    def labels(self) -> Iterator[Label]:
        """All labels in file order."""
        names = [column.name for column in fields(Label)]
        with pq.ParquetFile(self.folder / LABELS) as file:
            for batch in file.iter_batches(batch_size=ROWS_A_GROUP, columns=names):
                columns = [batch.column(name).to_numpy(zero_copy_only=False).tolist() for name in names]
                yield from map(Label, *columns)

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Columns of all labels in file order, by name of a `Label` field; texts that may repeat are dictionary columns,
        whose chunks have dictionaries of their own."""
        repeated = [name for name in names if SCHEMA.field(name).type == pa.string() and name not in UNIQUE]
        with pq.ParquetFile(self.folder / LABELS, read_dictionary=repeated) as file:
            return file.read(list(names))

    @cached_property
    def _places(self) -> tuple[list[int], list[int]]:
        table = pq.read_table(self.folder / LABELS, columns=["offset", "length"])
        return table["offset"].to_numpy().tolist(), table["length"].to_numpy().tolist()

    @cached_property
    def _positions(self) -> dict[str, int]:
        run_ids = pq.read_table(self.folder / LABELS, columns=["run_id"])["run_id"].to_numpy().tolist()
        return {run_id: position for position, run_id in enumerate(run_ids)}

    def line(self, position: int) -> bytes:
        """The line of the row at a position, with its end; safe to call from several threads."""
        offsets, lengths = self._places
        return os.pread(self._file, lengths[position], offsets[position])

    def request(self, position: int) -> Request:
        """The request at a position; safe to call from several threads."""
        return Request.from_line(self.line(position))

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
            content_sha256 = _write(suite, store, writer)
        key = {"made_from": _made_from(suite), "content_sha256": content_sha256}
        (folder / KEY).write_bytes(orjson.dumps(key, option=orjson.OPT_INDENT_2))
    except OSError as error:
        raise SuiteError(f"cannot write the row store in {folder}: {error.strerror or error}") from None


def _write(suite: Suite, store: BinaryIO, writer: pq.ParquetWriter) -> dict[str, str]:
    """Write every row; returns the content sha256 of each row file."""
    names = SCHEMA.names[:-2]
    pending, seen, digests = [], set(), {}
    for path in suite.files:
        digest = hashlib.sha256()
        for line, row in parse_lines(read_lines(path), str(path), RawRow.from_line):
            label = row.label()
            if label.run_id in seen:
                raise SuiteError(f"{path}: run id {label.run_id} occurs twice")
            seen.add(label.run_id)
            digest.update(line)
            pending.append((*(getattr(label, name) for name in names), store.tell(), len(line)))
            store.write(line)
            if len(pending) == ROWS_A_GROUP:
                writer.write_batch(_batch(pending))
                pending.clear()
        digests[file_stem(path)] = digest.hexdigest()
    writer.write_batch(_batch(pending))
    return digests


def _batch(records: list[tuple]) -> pa.RecordBatch:
    columns = zip(*records, strict=True) if records else ((),) * len(SCHEMA)
    arrays = [pa.array(column, kind.type) for column, kind in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _made_from(suite: Suite) -> dict:
    """The row files as they are now, by size and time: hashing them would cost as much as making the index anew."""
    states = {path.name: path.stat() for path in suite.files}
    files = {name: {"size": state.st_size, "modified_ns": state.st_mtime_ns} for name, state in states.items()}
    return {"format": FORMAT, "files": files}
