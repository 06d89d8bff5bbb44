"""Label fields of the scored rows of a suite out of its row files, read by several processes.

Every process unpacks the files and parses its share of the blocks: handing blocks from one to another takes longer than
unpacking them twice.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import fields
from io import BytesIO
from itertools import repeat
from pathlib import Path

import pyarrow as pa

from scoring.processes import Helpers
from suite_builder.editions import Edition
from suite_builder.errors import SuiteError
from suite_builder.row_index import UNIQUE
from suite_builder.rows import Label, RawRow, parse_lines
from suite_builder.suite import Suite, read_blocks, read_lines

# This process begins before its helpers have started up: so many times it takes a block of each of them once.
HEAD_START = 8


def begin(suite: Suite, by_label: Collection[int], helpers: Helpers) -> Callable[[], pa.Table | None]:
    """Let helpers begin with their shares; what is returned reads the rest and gives all rows in order, None without any.

    Args:
        by_label: benchmarks whose answers are counted by their label texts; those of the others are left out.

    Raises:
        SuiteError: when the rows are asked for: one is malformed or unreadable.
    """
    facts = suite.files, suite.edition, suite.excluded, by_label, helpers.count + 1
    begun = [helpers.executor.submit(read_share, *facts, share) for share in range(helpers.count)]

    def rows() -> pa.Table | None:
        try:
            own = read_share(*facts, helpers.count)
            shares = [*(share.result() for share in begun), own]
        except (ValueError, SuiteError):
            _name_malformed(suite)
            raise
        left = list(map(iter, shares))
        batches = [next(left[_taker(number, len(left))]) for number in range(sum(map(len, shares)))]
        return pa.Table.from_batches(batches) if batches else None

    return rows


def read_share(
    files: tuple[Path, ...], edition: Edition, excluded: Collection[str], by_label: Collection[int], processes: int, share: int
) -> list[pa.RecordBatch]:
    """A batch of label fields for each block of a share.

    Raises:
        ValueError: a malformed row. SuiteError: a file cannot be read.
    """
    blocks = (block for path in files for block in read_blocks(path))
    own = (block for number, block in enumerate(blocks) if _taker(number, processes) == share)
    return [_batch(map(RawRow.from_line, BytesIO(block)), edition, excluded, by_label) for block in own]


def _taker(number: int, processes: int) -> int:
    """Which process parses a block; the last one is the one that asks for the rows."""
    turn, share = divmod(number, processes)
    return share if turn % HEAD_START else processes - 1


def _batch(rows: Iterator[RawRow], edition: Edition, excluded: Collection[str], by_label: Collection[int]) -> pa.RecordBatch:
    scored = (row for row in rows if row.run_id not in excluded and edition.reads(row))
    records = [row.label_fields(row.catalog_id in by_label) for row in scored]
    names = [column.name for column in fields(Label)]
    columns = zip(*records, strict=True) if records else repeat((), len(names))
    kinds = (pa.int64() if column.type in (int, "int") else pa.string() for column in fields(Label))
    arrays = dict(zip(names, map(pa.array, columns, kinds), strict=True))
    coded = [array if name in UNIQUE or array.type == pa.int64() else array.dictionary_encode() for name, array in arrays.items()]
    return pa.RecordBatch.from_arrays(coded, names)


def _name_malformed(suite: Suite) -> None:
    """Raises:
    SuiteError: names the first malformed row by file and line.
    """
    for path in suite.files:
        for _row in parse_lines(read_lines(path), str(path), RawRow.from_line):
            pass
