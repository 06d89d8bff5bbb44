"""The scored rows of a suite as one column a fact: from its label file, or else from the rows by all cores."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
import orjson

from scoring.processes import Helpers
from suite_builder.catalog import benchmarks as catalog
from suite_builder.suite import Suite

if TYPE_CHECKING:
    import pyarrow as pa

    from suite_builder.row_index import RowIndex


class LabelRule(Protocol):
    """What the columns must know of a benchmark. by_label: answers are counted by their label texts."""

    by_label: bool


class Coded(NamedTuple):
    """A text a request: its place among the distinct ones."""

    codes: np.ndarray
    values: Sequence[str]

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
    def begin(cls, suite: Suite, rule_of: Callable[[int], LabelRule], helpers: Helpers = Helpers()) -> "Callable[[], Columns]":
        """Let helpers begin to read the rows that the suite's edition scores; what is returned gives the columns.

        Args:
            rule_of: catalog id -> rule of the benchmark. helpers: processes that take some of the work.

        Raises:
            SuiteError: when the columns are asked for: a malformed or unreadable row.
        """
        # Both bring pyarrow, which helpers that read results do without.
        from scoring import row_shares
        from suite_builder.row_index import RowIndex

        index = RowIndex.of(suite)
        if index is None:
            by_label = frozenset(catalog_id for catalog_id in catalog() if rule_of(catalog_id).by_label)
            rows = row_shares.begin(suite, by_label, helpers)
            return lambda: _columns(rows())
        return lambda: _of_index(suite, index)

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


def _of_index(suite: Suite, index: "RowIndex") -> Columns:
    try:
        columns = _columns(index.columns(Columns._fields))
    finally:
        index.close()
    return columns.take(_kept(suite, columns))


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


class _StoredTexts(Sequence[str]):
    """Texts that become Python texts when they are asked for."""

    def __init__(self, column: "pa.ChunkedArray"):
        self.column = column

    def __len__(self) -> int:
        return len(self.column)

    def __getitem__(self, place: int) -> str:
        return self.column[int(place)].as_py()


def objects(column: "pa.Array | pa.ChunkedArray") -> list:
    """The same as `to_pylist`, which takes ten times as long and keeps other threads waiting."""
    return column.to_numpy(zero_copy_only=False).tolist()


def _kept(suite: Suite, columns: Columns) -> np.ndarray:
    """Positions of the rows that the edition reads and that are not excluded."""
    kept = np.array([run_id not in suite.excluded for run_id in columns.run_id], bool)
    for position in np.flatnonzero(kept & np.isin(columns.catalog_id, list(suite.edition.cuts))).tolist():
        row = columns.run_id[position], int(columns.catalog_id[position]), columns.group_id[position]
        kept[position] = suite.edition.reads(Row(*row, columns.scoring_json[position]))
    return np.flatnonzero(kept)
