"""Results held against the rows: the answer to every request out of all parts of a results file."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import accumulate, chain, compress
from operator import ne
from typing import Any, NamedTuple

import numpy as np

from engines.wire import SUM_TOLERANCE
from scoring.answers import ERROR, OK, PROBABILITIES, STRANGE, Answers
from scoring.gold import NO_OPTION, UNKNOWN, Form, Gold, Ragged, distinct, starts_of
from scoring.parts import NO_SHAPE, Part, Shape
from scoring.single_answers import answers_of, invalid, read_answer

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


# Neighbouring parts of a results file: the place of the first one among all parts, and the parts.
Batch = tuple[int, list[Part]]


class _Matched(NamedTuple):
    """A batch held against the rows; results are numbered from its first one.

    position: by result, the place of its request or UNKNOWN. strange: (number, field) -> chosen text that is no option.
    problems: number -> what is invalid about an ok result.
    """

    run_ids: list[str]
    position: np.ndarray
    status: np.ndarray
    wall_ms: np.ndarray
    fields: Fields
    strange: dict[tuple[int, int], str]
    problems: dict[int, str]

    @classmethod
    def of(cls, gold: Gold, parts: list[Part]) -> "_Matched":
        position = np.concatenate([gold.positions_of(part.run_id) for part in parts])
        status, wall_ms = (np.concatenate([getattr(part, name) for part in parts]) for name in ("status", "wall_ms"))
        shaped, misfits = _shaped(gold, parts, position)
        odd, strange, problems = _odd(gold, chain(_numbered(parts), misfits), position)
        problems |= dict.fromkeys(_other_payloads(gold, parts, position, status), OTHER_PAYLOAD)
        run_ids = list(chain.from_iterable(part.run_id for part in parts))
        return cls(run_ids, position, status, wall_ms, _joined([shaped, odd]), strange, problems)

    def numbered_from(self, first: int) -> "_Matched":
        """The same with another number for the first result."""
        return self._replace(
            fields=self.fields._replace(result=self.fields.result + first),
            strange={(first + number, place): text for (number, place), text in self.strange.items()},
            problems={first + number: problem for number, problem in self.problems.items()},
        )


def match(gold: Gold, batches: Iterable[Batch], excluded: Collection[str] = ()) -> Answers:
    """The last result of every request.

    Args:
        batches: all parts of a results file. excluded: run ids that are known and not scored.
    """
    found = {first: _Matched.of(gold, parts) for first, parts in batches}
    matched = [own for _first, own in sorted(found.items())]
    starts = accumulate((len(own.run_ids) for own in matched), initial=0)
    matched = [own.numbered_from(start) for own, start in zip(matched, starts, strict=False)]
    position, status, wall_ms = (
        np.concatenate([getattr(own, name) for own in matched]) for name in ("position", "status", "wall_ms")
    )
    answers, last = Answers.none(gold), np.full(len(gold), UNKNOWN)
    known = np.flatnonzero(position != UNKNOWN)
    last[position[known]] = known  # of repeated positions, the last one stays
    told = last != UNKNOWN
    answers.status[told], answers.wall_ms[told] = status[last[told]], wall_ms[last[told]]
    fields = _joined([own.fields for own in matched])
    latest = last[gold.request[fields.field]] == fields.result
    for name in ("predicted", *PROBABILITIES):
        getattr(answers, name)[fields.field[latest]] = getattr(fields, name)[latest]
    for own in matched:
        answers.strange |= {place: text for (number, place), text in own.strange.items() if last[gold.request[place]] == number}
        latest_problems = (pair for pair in own.problems.items() if last[position[pair[0]]] == pair[0])
        answers.problems |= {int(position[number]): problem for number, problem in latest_problems}
    run_ids = list(chain.from_iterable(own.run_ids for own in matched))
    others = {run_ids[number]: number for number in np.flatnonzero(position == UNKNOWN).tolist()}
    for run_id, number in others.items():
        answers.others.add(run_id, int(status[number]), float(wall_ms[number]), excluded)
    answers.repeated = [gold.run_ids[place] for place in _repeated(position, status, fields)]
    return answers


def _joined(fields: list[Fields]) -> Fields:
    return Fields(*map(np.concatenate, zip(*fields, strict=True)))


def _other_payloads(gold: Gold, parts: list[Part], position: np.ndarray, status: np.ndarray) -> list[int]:
    """Numbers of the ok results that answer another payload than the row's."""
    given = list(chain.from_iterable(part.payload_sha256 for part in parts))
    known = np.flatnonzero((position != UNKNOWN) & (status == OK)).tolist()
    expected = map(gold.columns.payload_sha256.__getitem__, position[known].tolist())
    told = map(given.__getitem__, known)
    differing = compress(known, map(ne, told, expected))
    return [number for number in differing if given[number] is not None]


# Responses with a shape


class _Order(NamedTuple):
    """How responses of one shape answer one form.

    questions: by question of the form, its place in the response. starts: by question of the form, where its options start.
    options: by option of the form, its place in the response. back: by option of the response, its place in its question
    of the form.
    """

    questions: Sequence[int]
    starts: Sequence[int]
    options: Sequence[int]
    back: Sequence[int]


def _order(shape: Shape, form: Form) -> _Order | None:
    """None when they do not answer exactly these questions with exactly these options."""
    starts = list(accumulate(map(len, form.keys), initial=0))
    if shape == tuple((name, kind, *keys) for name, kind, keys in zip(*form, strict=True)):
        every = range(starts.pop())
        return _Order(range(len(starts)), starts, every, [place for keys in form.keys for place in range(len(keys))])
    asked = {name: (kind, {key: place for place, key in enumerate(keys)}) for name, kind, keys in zip(*form, strict=True)}
    given = {name: (kind, set(keys)) for name, kind, *keys in shape}
    if given != {name: (kind, set(places)) for name, (kind, places) in asked.items()}:
        return None
    order = {(name, key): place for place, (name, key) in enumerate((name, key) for name, _kind, *keys in shape for key in keys)}
    return _Order(
        list(map(list(given).index, form.names)),
        starts[:-1],
        [order[name, key] for name, keys in zip(form.names, form.keys, strict=True) for key in keys],
        [asked[name][1][key] for name, key in order],
    )


class _Shaped(NamedTuple):
    """Responses with a shape. number, shape, first_question, first_option: by response, the number of its result, its place
    in `shapes`, and where its questions and options start. first, chosen: by question, where its options start and the
    place of the chosen one. values: by option."""

    shapes: list[Shape]
    number: np.ndarray
    shape: np.ndarray
    first_question: np.ndarray
    first_option: np.ndarray
    first: np.ndarray
    chosen: np.ndarray
    values: np.ndarray

    @classmethod
    def of(cls, parts: list[Part]) -> "_Shaped":
        codes: dict[Shape, int] = {}
        by_part = [np.array([codes.setdefault(shape, len(codes)) for shape in part.shapes], int) for part in parts]
        shape = np.concatenate([own[part.shape[part.shape != NO_SHAPE]] for own, part in zip(by_part, parts, strict=True)])
        sizes = Ragged.of([len(keys) for _name, _kind, *keys in own] for own in codes)
        options = np.array([sum(map(len, own)) - 2 * len(own) for own in codes], int)[shape]
        return cls(
            list(codes),
            np.flatnonzero(np.concatenate([part.shape for part in parts]) != NO_SHAPE),
            shape,
            starts_of(sizes.lengths[shape]),
            starts_of(options),
            starts_of(sizes.take(shape)),
            np.concatenate([part.chosen for part in parts]),
            np.concatenate([part.values for part in parts]),
        )

    def valid(self) -> np.ndarray:
        """By response, whether its options plainly have probabilities that add up to one in every question."""
        if not len(self.number):
            return np.zeros(0, bool)
        fits = (np.minimum.reduceat(self.values, self.first) >= 0) & (np.maximum.reduceat(self.values, self.first) <= 1)
        fits &= np.abs(np.add.reduceat(self.values, self.first) - 1) <= SUM_TOLERANCE - ROUNDING
        return np.logical_and.reduceat(fits, self.first_question)

    def response(self, place: int) -> dict[str, Any]:
        """The response as it was."""
        answers, question, option = {}, self.first_question[place], self.first_option[place]
        for name, kind, *keys in self.shapes[self.shape[place]]:
            values = self.values[option : option + len(keys)].tolist()
            choice = {"choice": keys[self.chosen[question]], "probabilities": dict(zip(keys, values, strict=True))}
            answers[name] = {"type": kind, **({"noul": values[1]} if kind == "noul" else choice)}
            question, option = question + 1, option + len(keys)
        return {"answers": answers}


def _shaped(gold: Gold, parts: list[Part], position: np.ndarray) -> tuple[Fields, list[tuple[int, Any]]]:
    """Fields of the valid responses with a shape; and (number, response) of the others."""
    given = _Shaped.of(parts)
    known = np.flatnonzero(position[given.number] != UNKNOWN)
    shape, form = given.shape[known], gold.form[position[given.number[known]]]
    first, pair = distinct(shape, form)
    orders = [_order(given.shapes[shape[place]], gold.forms[form[place]]) for place in first.tolist()]
    fits = given.valid()[known] & np.array([order is not None for order in orders], bool)[pair]
    doubtful = [(int(given.number[place]), given.response(place)) for place in known[~fits].tolist()]

    used, positions = known[fits], position[given.number[known[fits]]]
    lengths, field = np.diff(gold.starts)[positions], gold.fields_of(positions)
    own, kind = np.repeat(used, lengths), np.repeat(pair[fits], lengths)
    asked, first_option = gold.asked[field], given.first_option[own]
    questions, starts, options, back = (
        Ragged.of(getattr(order, name) if order else () for order in orders) for name in _Order._fields
    )
    question = given.first_question[own] + questions.at(kind, asked)
    first_of_form = starts.at(kind, asked)

    def probability(place: np.ndarray) -> np.ndarray:
        option = first_option + options.at(kind, first_of_form + np.maximum(place, 0))
        return np.where(place == NO_OPTION, np.nan, given.values[option])

    predicted = back.at(kind, given.first[question] - first_option + given.chosen[question])
    squares = np.add.reduceat(given.values**2, given.first)[question] if len(question) else given.values[:0]
    probabilities = probability(gold.gold[field]), probability(predicted), probability(gold.yes[field]), squares
    return Fields(given.number[own], field, predicted, *probabilities), doubtful


# Other responses


def _numbered(parts: list[Part]) -> Iterator[tuple[int, Any]]:
    """(number, response) of the responses without a shape."""
    offset = 0
    for part in parts:
        yield from ((offset + number, response) for number, response in part.odd.items())
        offset += len(part.run_id)


def _odd(
    gold: Gold, responses: Iterable[tuple[int, Any]], position: np.ndarray
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
