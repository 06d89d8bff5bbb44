"""Results held against the rows: the answer to every request out of all parts of a results file."""

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from engines.wire import SUM_TOLERANCE
from scoring.answers import ERROR, OK, PROBABILITIES, STRANGE, Answers
from scoring.gold import NO_OPTION, Form, Gold, Ragged, distinct
from scoring.parts import NO_SHAPE, Part, Shape
from scoring.single_answers import answers_of, invalid, read_answer

UNKNOWN = -1
# A sum of probabilities that is this near to a bound is added up again, exactly.
ROUNDING = 1e-9
OTHER_PAYLOAD = "payload_sha256 differs from the row's"


class Fields(NamedTuple):
    """Answers by field: the number of the result that each comes from, the field, and the values of `Answers`."""

    result: np.ndarray
    field: np.ndarray
    predicted: np.ndarray
    p_gold: np.ndarray
    p_prediction: np.ndarray
    p_yes: np.ndarray
    p_squares: np.ndarray


def match(gold: Gold, parts: list[Part], excluded: Collection[str] = ()) -> Answers:
    """The last result of every request.

    Args:
        parts: all parts of a results file, in order. excluded: run ids that are known and not scored.
    """
    run_ids = list(chain.from_iterable(part.run_id for part in parts))
    position = np.concatenate([_positions(gold, part.run_id) for part in parts])
    status = np.concatenate([part.status for part in parts])
    wall_ms = np.concatenate([part.wall_ms for part in parts])
    answers, last = Answers.none(gold), np.full(len(gold), UNKNOWN)
    known = np.flatnonzero(position != UNKNOWN)
    last[position[known]] = known  # of repeated positions, the last one stays
    told = last != UNKNOWN
    answers.status[told], answers.wall_ms[told] = status[last[told]], wall_ms[last[told]]
    shaped, misfits = _shaped(gold, parts, position)
    odd, strange, problems = _odd(gold, chain(_numbered(parts), misfits), position)
    fields = Fields(*map(np.concatenate, zip(shaped, odd, strict=True)))
    latest = last[gold.request[fields.field]] == fields.result
    for name in ("predicted", *PROBABILITIES):
        getattr(answers, name)[fields.field[latest]] = getattr(fields, name)[latest]
    answers.strange = {place: text for (number, place), text in strange.items() if last[gold.request[place]] == number}
    problems |= dict.fromkeys(_other_payloads(gold, parts, position, status), OTHER_PAYLOAD)
    answers.problems = {
        int(position[number]): problem for number, problem in problems.items() if last[position[number]] == number
    }
    others = {run_ids[number]: number for number in np.flatnonzero(position == UNKNOWN).tolist()}
    for run_id, number in others.items():
        answers.others.add(run_id, int(status[number]), float(wall_ms[number]), excluded)
    answers.repeated = [gold.run_ids[place] for place in _repeated(position, status, fields)]
    return answers


def _positions(gold: Gold, run_ids: list[str]) -> np.ndarray:
    """Places of requests, UNKNOWN for those that are not among the rows."""
    start = gold.places.get(run_ids[0], 0) if run_ids else 0
    if gold.run_ids[start : start + len(run_ids)] == run_ids:  # in the order of the rows, as most runs are
        return np.arange(start, start + len(run_ids))
    return np.array([gold.places.get(run_id, UNKNOWN) for run_id in run_ids], int)


def _other_payloads(gold: Gold, parts: list[Part], position: np.ndarray, status: np.ndarray) -> list[int]:
    """Numbers of the ok results that answer another payload than the row's."""
    expected = gold.columns.payload_sha256
    given = chain.from_iterable(part.payload_sha256 for part in parts)
    differing = [
        place != UNKNOWN and sha256 not in (expected[place], None)
        for sha256, place in zip(given, position.tolist(), strict=True)
    ]
    return np.flatnonzero(np.array(differing, bool) & (status == OK)).tolist()


# Responses with a shape


class _Order(NamedTuple):
    """How responses of one shape answer one form.

    options: by option in the order of the form, its place in the response. sizes: by question, its number of options.
    """

    options: Sequence[int]
    sizes: list[int]


def _order(shape: Shape, form: Form) -> _Order | None:
    """None when they do not answer exactly these questions with exactly these options."""
    sizes = list(map(len, form.keys))
    if shape == tuple((name, kind, *keys) for name, kind, keys in zip(*form, strict=True)):
        return _Order(range(sum(sizes)), sizes)
    questions, start = {}, 0
    for name, kind, *keys in shape:
        questions[name] = kind, {key: start + place for place, key in enumerate(keys)}
        start += len(keys)
    if questions.keys() != set(form.names):
        return None
    options = []
    for name, kind, keys in zip(*form, strict=True):
        given_kind, places = questions[name]
        if given_kind != kind or places.keys() != set(keys):
            return None
        options += map(places.get, keys)
    return _Order(options, sizes)


def _starts(lengths: np.ndarray) -> np.ndarray:
    """Where each of several spans begins that lie one after the other."""
    return np.cumsum(lengths) - lengths


def _shaped(gold: Gold, parts: list[Part], position: np.ndarray) -> tuple[Fields, list[tuple[int, Any]]]:
    """Fields of the valid responses with a shape; and (number, response) of the others."""
    codes: dict[Shape, int] = {}
    by_part = [np.array([codes.setdefault(shape, len(codes)) for shape in part.shapes], int) for part in parts]
    shapes = list(codes)
    numbers = np.flatnonzero(np.concatenate([part.shape for part in parts]) != NO_SHAPE)
    shape = np.concatenate([own[part.shape[part.shape != NO_SHAPE]] for own, part in zip(by_part, parts, strict=True)])
    chosen, values = (np.concatenate([getattr(part, name) for part in parts]) for name in ("chosen", "values"))

    sizes_of = Ragged.of([len(keys) for _name, _kind, *keys in own] for own in shapes)
    sizes, asked = sizes_of.take(shape), sizes_of.lengths[shape]
    options = np.bincount(np.repeat(np.arange(len(asked)), asked), sizes, len(asked)).astype(int)
    first_option, at = _starts(options), _starts(sizes)
    picked = np.zeros(len(values), bool)
    picked[at + chosen] = True
    valid = np.logical_and.reduceat(_distributions(values, at), _starts(asked)) if len(at) else asked > 0

    form = gold.form[position[numbers]]
    first, pair = distinct(shape, form)
    orders = [_order(shapes[shape[place]], gold.forms[form[place]]) for place in first.tolist()]
    known = position[numbers] != UNKNOWN
    fits = known & valid & np.array([order is not None for order in orders], bool)[pair]
    doubtful = [
        (int(numbers[place]), _response(shapes[shape[place]], values[first_option[place] :], picked[first_option[place] :]))
        for place in np.flatnonzero(known & ~fits).tolist()
    ]
    numbers, pair, first_option = numbers[fits], pair[fits], first_option[fits]
    places = Ragged.of(order.options if order else [] for order in orders)
    moved = places.take(pair) + np.repeat(first_option, places.lengths[pair])
    asked_of = Ragged.of(order.sizes if order else [] for order in orders)
    by_option = values[moved], picked[moved]
    return _fields(gold, numbers, position[numbers], *by_option, asked_of.take(pair), asked_of.lengths[pair]), doubtful


def _distributions(values: np.ndarray, at: np.ndarray) -> np.ndarray:
    """By question, whether its options plainly have probabilities that add up to one. at: where the options begin."""
    within = (np.minimum.reduceat(values, at) >= 0) & (np.maximum.reduceat(values, at) <= 1)
    return within & (np.abs(np.add.reduceat(values, at) - 1) <= SUM_TOLERANCE - ROUNDING)


def _fields(
    gold: Gold,
    numbers: np.ndarray,
    positions: np.ndarray,
    values: np.ndarray,
    picked: np.ndarray,
    sizes: np.ndarray,
    asked: np.ndarray,
) -> Fields:
    """Fields of responses in the order of their forms.

    Args:
        numbers, positions: by response. values: by option; picked: whether it is the chosen one. sizes: by question, its
            number of options. asked: by response, its number of questions.
    """
    at, lengths, field = _starts(sizes), np.diff(gold.starts)[positions], gold.fields_of(positions)
    question = np.repeat(_starts(asked), lengths) + gold.asked[field]

    def probability(place: np.ndarray) -> np.ndarray:
        return np.where(place == NO_OPTION, np.nan, values[at[question] + np.maximum(place, 0)])

    predicted = (np.flatnonzero(picked) - at)[question]
    squares = np.add.reduceat(values**2, at)[question] if len(at) else values
    probabilities = probability(gold.gold[field]), probability(predicted), probability(gold.yes[field]), squares
    return Fields(np.repeat(numbers, lengths), field, predicted, *probabilities)


def _response(shape: Shape, values: np.ndarray, picked: np.ndarray) -> dict[str, Any]:
    """The response that a shape and its numbers were made from."""
    answers, start = {}, 0
    for name, kind, *keys in shape:
        own = slice(start, start := start + len(keys))
        if kind == "noul":
            answers[name] = {"type": kind, "noul": float(values[own][1])}
        else:
            choice = keys[int(np.flatnonzero(picked[own])[0])]
            answers[name] = {"type": kind, "choice": choice, "probabilities": dict(zip(keys, values[own].tolist(), strict=True))}
    return {"answers": answers}


# Other responses


def _numbered(parts: list[Part]) -> Iterator[tuple[int, Any]]:
    """(number, response) of the responses without a shape."""
    offset = 0
    for part in parts:
        yield from ((offset + number, response) for number, response in part.odd.items())
        offset += len(part.run_id)


def _odd(
    gold: Gold, responses: Iterator[tuple[int, Any]], position: np.ndarray
) -> tuple[Fields, dict[tuple[int, int], str], dict[int, str]]:
    """Fields of responses read one answer at a time; (number, field) -> chosen text that is no option; and number -> problem."""
    read, strange, problems = [], {}, {}
    for number, response in responses:
        if position[number] == UNKNOWN:
            continue
        form = gold.forms[gold.form[position[number]]]
        problem = invalid(form, response)
        if problem:
            problems[number] = problem
        for place in range(gold.starts[position[number]], gold.starts[position[number] + 1]):
            asked = gold.asked[place]
            answer = answers_of(response).get(form.names[asked])
            predicted, probabilities = read_answer(form.kinds[asked], form.keys[asked], answer)
            if isinstance(predicted, str):
                strange[number, place] = predicted
                predicted = STRANGE
            own = [gold.gold[place], predicted, gold.yes[place]]
            chances = [probabilities[option] if option >= 0 else math.nan for option in own]
            read.append((number, place, predicted, *chances, math.fsum(p * p for p in probabilities)))
    columns = zip(*read, strict=True) if read else [()] * len(Fields._fields)
    kinds = (np.int64, np.int64, np.int32, *[float] * len(PROBABILITIES))
    return Fields(*map(np.array, columns, kinds)), strange, problems


def _repeated(position: np.ndarray, status: np.ndarray, fields: Fields) -> list[int]:
    """Positions of requests that have a final result (any but an error) followed by another one that differs."""
    known = np.flatnonzero(position != UNKNOWN)
    order = known[np.argsort(position[known], kind="stable")]
    pairs = np.flatnonzero(np.diff(position[order]) == 0)
    pairs = pairs[status[order[pairs]] != ERROR]
    if not len(pairs):
        return []
    by_result = np.argsort(fields.result, kind="stable")
    values = np.column_stack(fields[1:]).astype(float)[by_result]
    bounds = np.searchsorted(fields.result[by_result], np.arange(len(position) + 1))

    def told(number: int) -> tuple:
        return status[number], values[bounds[number] : bounds[number + 1]].tobytes()

    differing = (order[place] for place in pairs if told(order[place]) != told(order[place + 1]))
    return list(dict.fromkeys(int(position[number]) for number in differing))
