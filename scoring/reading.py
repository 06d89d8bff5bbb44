"""The answers of a results file: large files are read in parts by all cores."""

from collections.abc import Callable, Collection
from itertools import pairwise
from pathlib import Path

import numpy as np

from engines.results import result_blocks
from scoring.answers import ERROR, PROBABILITIES, Answers
from scoring.decoding import Fields, Key, Part, Reader, decode_all
from scoring.gold import Gold
from scoring.processes import Helpers

# How much more this process reads, as a share of a part: the helpers have to be told the rows first.
HEAD_START = 0.25


def ready() -> None:
    """Nothing: a process that can be asked this has loaded what reading needs."""


def read_answers(
    path: Path,
    gold: Gold,
    excluded: Collection[str] = (),
    helpers: Helpers = Helpers(),
    emit: Callable[[int], None] = lambda _lines: None,
) -> Answers:
    """Read a results file; the last result of a run id counts.

    Args:
        excluded: run ids that are known and not scored. helpers: processes that read a part of the file each.
        emit: takes how many more results are read.

    Raises:
        ResultsError: the file is missing or malformed.
    """
    key = Key.of(gold)
    if not helpers.count:
        return _joined(gold, [_read_part(path, 0, None, key, emit)], excluded)
    size, whole = path.stat().st_size, helpers.count + 1 + HEAD_START
    bounds = [0, *(int(size * (number + HEAD_START) / whole) for number in range(1, helpers.count + 2))]
    parts = [helpers.submit(True, _read_part, path, start, stop, key) for start, stop in pairwise(bounds[1:])]
    first = _read_part(path, 0, bounds[1], key, emit)
    rest = [part.result() for part in parts]
    emit(sum(len(part.position) + len(part.others) for part in rest))
    return _joined(gold, [first, *rest], excluded)


def _read_part(
    path: Path, start: int, stop: int | None, key: Key, emit: Callable[[int], None] = lambda _lines: None
) -> Part:
    reader = Reader(key)
    for block in result_blocks(path, start, stop):
        reader.read(decode_all(block, path))
        emit(len(block))
    return reader.part()


def _joined(gold: Gold, parts: list[Part], excluded: Collection[str]) -> Answers:
    """The last result of every request out of all parts, in file order."""
    answers = Answers.none(gold)
    offsets = np.cumsum([0, *(len(part.position) for part in parts)])
    position = np.concatenate([part.position for part in parts])
    status = np.concatenate([part.status for part in parts])
    last = np.full(len(gold), -1)
    last[position] = np.arange(len(position))  # of repeated positions, the last one stays
    told = last >= 0
    answers.status[told] = status[last[told]]
    answers.wall_ms[told] = np.concatenate([part.wall_ms for part in parts])[last[told]]
    fields = Fields(*map(np.concatenate, zip(*(part.fields for part in parts), strict=True)))
    result = np.concatenate([part.fields.result + offset for part, offset in zip(parts, offsets, strict=False)])
    result, own = result.astype(np.int64), fields.field.astype(np.int64)
    latest = last[gold.request[own]] == result
    for name in ("predicted", *PROBABILITIES):
        getattr(answers, name)[own[latest]] = getattr(fields, name)[latest]
    for part, offset in zip(parts, offsets, strict=False):
        for (number, place), text in part.strange.items():
            if last[gold.request[place]] == number + offset:
                answers.strange[place] = text
        for number, problem in part.problems.items():
            if last[part.position[number]] == number + offset:
                answers.problems[int(part.position[number])] = problem
    others = {run_id: told for part in parts for run_id, *told in part.others}
    for run_id, (other_status, wall_ms) in others.items():
        answers.others.add(run_id, other_status, wall_ms, excluded)
    answers.repeated = [gold.run_ids[place] for place in _repeated(position, status, result, fields)]
    return answers


def _repeated(position: np.ndarray, status: np.ndarray, result: np.ndarray, fields: Fields) -> list[int]:
    """Positions of requests that have a final result (any but an error) followed by another one that differs."""
    order = np.argsort(position, kind="stable")
    pairs = np.flatnonzero(np.diff(position[order]) == 0)
    pairs = pairs[status[order[pairs]] != ERROR]
    if not len(pairs):
        return []
    by_result = np.argsort(result, kind="stable")
    values = np.column_stack(fields[1:]).astype(float)[by_result]
    bounds = np.searchsorted(result[by_result], np.arange(len(position) + 1))

    def told(number: int) -> tuple:
        return status[number], values[bounds[number] : bounds[number + 1]].tobytes()

    differing = (order[place] for place in pairs if told(order[place]) != told(order[place + 1]))
    return list(dict.fromkeys(int(position[number]) for number in differing))
