"""The scored rows of a suite as one column a fact: from its label file, or else from the rows by all cores."""

import queue
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import fields
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import orjson

from scoring.processes import Helpers
from suite_builder.catalog import benchmarks as catalog
from suite_builder.editions import Edition
from suite_builder.errors import SuiteError
from suite_builder.rows import Label, RawRow, parse_lines
from suite_builder.suite import Suite, read_blocks

if TYPE_CHECKING:
    import pyarrow as pa

BLOCKS_AHEAD = 3


class LabelRule(Protocol):
    """What the columns must know of a benchmark. by_label: answers are counted by their label texts."""

    by_label: bool


class Texts(Protocol):
    """Texts by place."""

    def __getitem__(self, place: int) -> str: ...


class Coded(NamedTuple):
    """A text a request: its place among the distinct ones."""

    codes: np.ndarray
    values: Texts

    def __getitem__(self, position: int) -> str:
        return self.values[self.codes[position]]


class Columns(NamedTuple):
    """What `Label` tells of every request; the JSON texts are parsed by `Gold`."""

    run_id: list[str]
    payload_sha256: list[str]
    catalog_id: np.ndarray
    dataset: Coded
    track: Coded
    group_id: Coded
    questions_json: Coded
    texts_json: Coded
    gold_json: Coded
    scoring_json: Coded
    facts_json: Coded

    @classmethod
    def read(cls, suite: Suite, rule_of: Callable[[int], LabelRule], helpers: Helpers = Helpers()) -> "Columns":
        """The rows that the suite's edition scores.

        Args:
            rule_of: catalog id -> rule of the benchmark. helpers: processes that take some of the work.

        Raises:
            SuiteError: a malformed or unreadable row.
        """
        from suite_builder.row_index import RowIndex  # brings pyarrow, which helpers do without

        index = RowIndex.of(suite)
        if index is None:
            by_label = frozenset(catalog_id for catalog_id in catalog() if rule_of(catalog_id).by_label)
            return _of_rows(suite, by_label, helpers)
        try:
            table = index.columns(cls._fields)
        finally:
            index.close()
        columns = _columns(table)
        return columns.take(_kept(suite, columns))

    def take(self, positions: np.ndarray) -> "Columns":
        """The requests at these positions."""
        unique = ([column[position] for position in positions.tolist()] for column in (self.run_id, self.payload_sha256))
        texts = (Coded(column.codes[positions], column.values) for column in self[3:])
        return Columns(*unique, self.catalog_id[positions], *texts)


class Row(NamedTuple):
    """A request as cuts look at it."""

    run_id: str
    catalog_id: int
    group_id: str
    scoring_json: str

    @property
    def scoring(self) -> dict | None:
        return orjson.loads(self.scoring_json)


def _of_rows(suite: Suite, by_label: frozenset[int], helpers: Helpers) -> Columns:
    import pyarrow as pa

    blocks = [block for path in suite.files for block in _read(suite, path, by_label, helpers)]
    return _columns(pa.Table.from_batches(blocks) if blocks else None)


def _read(suite: Suite, path: Path, by_label: frozenset[int], helpers: Helpers) -> "Iterator[pa.RecordBatch]":
    """What `_read_block` makes of the blocks of a file, in order. Helpers do it as long as they have little to do."""
    given: deque[tuple[Future, bytes]] = deque()
    facts = str(path), suite.edition, suite.excluded, by_label
    lines = 0
    for block in chain(_ahead(read_blocks(path)), [b""]):
        busy = sum(not future.done() for future, _block in given)
        given.append((helpers.submit(busy < BLOCKS_AHEAD * helpers.count, _read_block, block, *facts), block))
        while given and (given[0][0].done() or not block):
            future, own = given.popleft()
            if isinstance(future.exception(), SuiteError):
                _read_block(own, *facts, first=lines + 1)  # fails again, now with the number of the line in the file
            made, count = future.result()
            lines += count
            yield made


def _read_block(
    block: bytes, name: str, edition: Edition, excluded: Collection[str], by_label: frozenset[int], first: int = 1
) -> "tuple[pa.RecordBatch, int]":
    """Label fields of the scored rows among some lines, and how many lines there are.

    Args:
        first: the number of the first line in its file.
    """
    import pyarrow as pa

    rows = [row for _line, row in parse_lines(BytesIO(block), name, RawRow.from_line, first)]
    records = [row.label_fields(row.catalog_id in by_label) for row in rows if _scores(edition, excluded, row)]
    kinds = [(column.name, pa.int64() if column.type in (int, "int") else pa.string()) for column in fields(Label)]
    columns = zip(*records, strict=True) if records else [()] * len(kinds)
    return pa.RecordBatch.from_arrays(list(map(pa.array, columns, dict(kinds).values())), schema=pa.schema(kinds)), len(rows)


def _columns(table: "pa.Table | None") -> Columns:
    """Columns from a table; None has no requests."""
    if not table:
        return Columns([], [], np.zeros(0, int), *[Coded(np.zeros(0, int), [])] * len(Columns._fields[3:]))
    unique = (objects(table[name]) for name in Columns._fields[:2])
    texts = (_coded_by_chunk(table[name]) if name == "texts_json" else _coded(table[name]) for name in Columns._fields[3:])
    return Columns(*unique, table["catalog_id"].to_numpy(), *texts)


def _coded(column: "pa.ChunkedArray") -> Coded:
    coded = column.dictionary_encode().combine_chunks()
    return Coded(coded.indices.to_numpy(), objects(coded.dictionary))


def _coded_by_chunk(column: "pa.ChunkedArray") -> Coded:
    """The same in a quarter of the time for many long texts of which few are asked for: a text that occurs in several chunks
    has a code in each of them."""
    import pyarrow as pa

    chunks = column.dictionary_encode().chunks
    first = np.cumsum([0, *(len(chunk.dictionary) for chunk in chunks)])
    codes = [chunk.indices.to_numpy() + start for chunk, start in zip(chunks, first, strict=False)]
    return Coded(np.concatenate(codes), _StoredTexts(pa.chunked_array([chunk.dictionary for chunk in chunks])))


class _StoredTexts:
    """Texts that become Python texts when they are asked for."""

    def __init__(self, column: "pa.ChunkedArray"):
        self.column = column

    def __getitem__(self, place: int) -> str:
        return self.column[int(place)].as_py()


def objects(column: "pa.Array | pa.ChunkedArray") -> list:
    """The same as `to_pylist`, which takes ten times as long and keeps other threads waiting."""
    return column.to_numpy(zero_copy_only=False).tolist()


def _ahead(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The same blocks, read by a thread of its own: unpacking gzip leaves the interpreter free."""
    ahead: queue.Queue = queue.Queue(maxsize=BLOCKS_AHEAD)
    left = threading.Event()

    def read() -> None:
        try:
            for block in blocks:
                ahead.put(block)
                if left.is_set():
                    return
            ahead.put(None)
        except Exception as error:
            ahead.put(error)

    threading.Thread(target=read, daemon=True).start()
    try:
        while (block := ahead.get()) is not None:
            if isinstance(block, Exception):
                raise block
            yield block
    finally:
        left.set()
        while not ahead.empty():  # lets a reader go that waits for room
            ahead.get()


def _kept(suite: Suite, columns: Columns) -> np.ndarray:
    """Positions of the rows that the edition reads and that are not excluded."""
    kept = np.array([run_id not in suite.excluded for run_id in columns.run_id], bool)
    for position in np.flatnonzero(np.isin(columns.catalog_id, list(suite.edition.cuts))).tolist():
        row = columns.run_id[position], int(columns.catalog_id[position]), columns.group_id[position]
        kept[position] = _scores(suite.edition, suite.excluded, Row(*row, columns.scoring_json[position]))
    return np.flatnonzero(kept)


def _scores(edition: Edition, excluded: Collection[str], row: Row | RawRow) -> bool:
    return row.run_id not in excluded and (row.catalog_id not in edition.cuts or edition.reads(row))
