"""A stratified sample of a suite: whole groups, the same ones for the same seed."""

import gzip
from collections.abc import Iterator
from pathlib import Path

from suite_builder.errors import SuiteError
from suite_builder.freeze import SELECTION_SEED, priority
from suite_builder.row_index import RowIndex
from suite_builder.suite import Suite


def sample(suite: Suite, out: Path, n: int = 100, seed: int = SELECTION_SEED, single_requests: bool = False) -> int:
    """Write at least `n` rows of a suite to a gzip rows file; returns how many.

    The published rule: per benchmark, groups in the order of the sha256 of `<seed>:<catalog_id>:<group_id>`; round the
    benchmarks by ascending id, one whole group a turn, until `n` rows are taken. Excluded rows are left out.

    Args:
        single_requests: take only the first row of a group.

    Raises:
        SuiteError: `n` is not positive, the suite has no rows, or `out` cannot be written.
    """
    if n < 1:
        raise SuiteError(f"a sample needs at least one row, not {n}")
    index = RowIndex.require(suite)
    try:
        taken: list[int] = []
        for positions in _turns(_groups(suite, index), seed):
            if len(taken) >= n:
                break
            taken += positions[:1] if single_requests else positions
        if not taken:
            raise SuiteError(f"{suite.name} has no rows to sample")
        _write(out, (index.line(position) for position in taken))
        return len(taken)
    finally:
        index.close()


def _groups(suite: Suite, index: RowIndex) -> dict[int, dict[str, list[int]]]:
    """Catalog id -> group id -> positions of its scoreable rows."""
    groups: dict[int, dict[str, list[int]]] = {}
    for position, label in enumerate(index.labels()):
        if suite.edition.reads(label) and label.run_id not in suite.excluded:
            groups.setdefault(label.catalog_id, {}).setdefault(label.group_id, []).append(position)
    return groups


def _turns(groups: dict[int, dict[str, list[int]]], seed: int) -> Iterator[list[int]]:
    queues = [
        iter(sorted(members.items(), key=lambda item, id=catalog_id: priority(id, item[0], seed)))
        for catalog_id, members in sorted(groups.items())
    ]
    while queues:
        turn = [(queue, next(queue, None)) for queue in queues]
        yield from (group[1] for _queue, group in turn if group)
        queues = [queue for queue, group in turn if group]


def _write(out: Path, lines: Iterator[bytes]) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with out.open("wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
            packed.writelines(lines)
    except OSError as error:
        raise SuiteError(f"cannot write {out}: {error.strerror}") from None
