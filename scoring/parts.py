"""Parts of a results file as columns. Knows nothing of the rows, so that reading need not wait for them.

Responses that have the types of the wire format become numbers, with one shape for all that name the same questions and
options. The others stay what they are.
"""

import math
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import to_builtins

from engines.results import result_blocks
from scoring.answers import CODES, OK, UNREADABLE
from scoring.decoding import Answer, Response, Result, decode_block

NO_SHAPE = -1
KINDS = ("choice", "noul")

# By question in the order of the response: its key, its type and its option keys.
Shape = tuple[tuple[str, ...], ...]


class Part(NamedTuple):
    """Results in file order, numbered from 0.

    run_id, payload_sha256, status, wall_ms: by result. shape: by result, its place in `shapes`, or NO_SHAPE.
    chosen: by question of the responses with a shape, the place of the chosen option. values: by option, its probability.
    odd: number -> response of the other ok results.
    """

    run_id: list[str]
    payload_sha256: list[str | None]
    status: np.ndarray
    wall_ms: np.ndarray
    shape: np.ndarray
    shapes: list[Shape]
    chosen: np.ndarray
    values: np.ndarray
    odd: dict[int, Any]


def read_part(path: Path, start: int = 0, stop: int | None = None) -> Part:
    """The results in a file or in a part of it, see `engines.results.result_blocks`.

    Raises:
        ResultsError: the file cannot be read, or a line is not a result row.
    """
    reader = _Reader()
    for position, block in result_blocks(path, start, stop):
        reader.take(decode_block(block, path, position))
    return reader.part()


class _Reader:
    """Takes in results, many at a time."""

    def __init__(self) -> None:
        self.run_id: list[str] = []
        self.payload_sha256: list[str | None] = []
        self.status: list[int] = []
        self.wall_ms: list[float] = []
        self.shape: list[int] = []
        self.chosen: list[int] = []
        self.values: list[np.ndarray] = [np.zeros(0)]
        self.odd: dict[int, Any] = {}
        self.codes = _Codes()

    def part(self) -> Part:
        """All that was taken in."""
        facts = np.array(self.status, np.int8), np.array(self.wall_ms, float), np.array(self.shape, np.int32)
        shapes = [shape for shape, code in self.codes.items() if code != NO_SHAPE]
        numbers = np.array(self.chosen, np.int32), np.concatenate(self.values)
        return Part(self.run_id, self.payload_sha256, *facts, shapes, *numbers, self.odd)

    def take(self, results: list[Result]) -> None:
        """Take in one batch."""
        first = len(self.run_id)
        status = [CODES[result.status] for result in results]
        self.run_id += [result.run_id for result in results]
        self.payload_sha256 += [result.payload_sha256 for result in results]
        self.wall_ms += [math.nan if result.total_wall_ms is None else result.total_wall_ms for result in results]
        self.status += status
        ok = [number for number, code in enumerate(status) if code == OK]
        shapes = self._take_answers([results[number].response for number in ok])
        if shapes is None:
            alone = ([results[number].response] for number in ok)
            shapes = [shape for response in alone for shape in self._take_answers(response) or [NO_SHAPE]]
        self.shape += [NO_SHAPE] * len(results)
        for number, shape in zip(ok, shapes, strict=True):
            self.shape[first + number] = shape
            if shape == NO_SHAPE:
                self.odd[first + number] = to_builtins(results[number].response)

    def _take_answers(self, responses: list[Any]) -> list[int] | None:
        """Take in responses; returns their shapes. Nothing is taken in and None returned when one of them has none."""
        if any(type(response) is not Response for response in responses):
            return None
        answers = list(chain.from_iterable([response.answers.values() for response in responses]))
        for answer in answers:
            if answer.type == "noul":
                _as_choice(answer)
        shapes = [_shape(response.answers) for response in responses]
        codes = [self.codes[shape] for shape in shapes]
        if NO_SHAPE in codes:
            return None
        places = chain.from_iterable(map(self.codes.places.__getitem__, codes))
        chosen = [own.get(answer.choice, UNREADABLE) for own, answer in zip(places, answers, strict=True)]
        if UNREADABLE in chosen:
            return None
        self.chosen += chosen
        values = chain.from_iterable([answer.probabilities.values() for answer in answers])
        self.values.append(np.fromiter(values, float))
        return codes


class _Codes(dict[Shape, int]):
    """Shape -> its number, counted from 0 as they are asked for; NO_SHAPE for scores and answers without probabilities.

    places: by number, by question: option key -> its place.
    """

    def __init__(self) -> None:
        self.places: list[list[dict[str, int]]] = []

    def __missing__(self, shape: Shape) -> int:
        plain = shape and all(kind in KINDS and keys for _name, kind, *keys in shape)
        self[shape] = len(self.places) if plain else NO_SHAPE
        if plain:
            self.places.append([{key: place for place, key in enumerate(keys)} for _name, _kind, *keys in shape])
        return self[shape]


def _shape(answers: dict[str, Answer]) -> Shape:
    return tuple([(name, answer.type, *(answer.probabilities or ())) for name, answer in answers.items()])


def _as_choice(answer: Answer) -> None:
    """Make a yes/no answer a choice between `false` and `true`, one without a number a choice between nothing."""
    p_true = answer.noul
    answer.probabilities = None if p_true is None else {"false": 1 - p_true, "true": p_true}
    answer.choice = None if p_true is None else str(p_true >= 0.5).lower()
