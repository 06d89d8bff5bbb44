"""Result lines into columns, a batch of lines at a time. Knows rows by `Key`, and nothing of benchmarks or files.

Results that are as the wire format wants them are taken apart by whole columns. Whatever looks odd is read and judged one
answer at a time, with the same outcome where it is valid after all.
"""

import math
from collections.abc import Iterable, Sequence
from itertools import chain, compress, repeat
from operator import attrgetter
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import orjson
from msgspec import MsgspecError, Struct, json, to_builtins

from engines.results import STATUSES as RESULT_STATUSES
from engines.results import read_result
from engines.wire import SUM_TOLERANCE, InvalidResponse, validate
from scoring.answers import CODES, OK, PROBABILITIES, STRANGE, UNREADABLE
from scoring.gold import NO_OPTION, Form, Gold, spans

# A sum of probabilities that is this near to a bound is added up again, exactly.
ROUNDING = 1e-9
OTHER_PAYLOAD = "payload_sha256 differs from the row's"


class Answer(Struct, gc=False, omit_defaults=True):
    """One answer by the types of the wire format."""

    type: str
    choice: str | None = None
    probabilities: dict[str, float] | None = None
    noul: float | None = None
    score: float | None = None


class Response(Struct, gc=False):
    """Answers by question."""

    answers: dict[str, Answer]


class Result(Struct, gc=False):
    """What a result row tells scoring. The rest of its line makes no objects, but must be JSON all the same.

    response: in good shape a `Response`; else what is there instead.
    """

    run_id: str
    status: str
    payload_sha256: str | None = None
    total_wall_ms: float | None = None
    response: Any = None


class _GoodResult(Result, gc=False):
    status: Literal[RESULT_STATUSES]
    response: Response | None = None


_decode = json.Decoder(_GoodResult).decode


def decode_all(lines: Sequence[tuple[int, bytes]], path: Path) -> list[Result]:
    """Result rows, each with the byte of the file that it begins at.

    Raises:
        ResultsError: a line is not a result row.
    """
    try:
        return [_decode(line) for _position, line in lines]
    except MsgspecError:
        return [decode(line, path, position) for position, line in lines]


def decode(line: bytes, path: Path, position: int) -> Result:
    """One of them.

    Raises:
        ResultsError: the line is not a result row.
    """
    try:
        return _decode(line)
    except MsgspecError:
        pass
    row = read_result(line, path, position)
    wall_ms = row.get("total_wall_ms")
    return Result(
        row["run_id"],
        row["status"],
        row.get("payload_sha256"),
        float(wall_ms) if is_number(wall_ms) else None,
        row.get("response"),
    )


class Key(NamedTuple):
    """What of `Gold` answers are read with."""

    places: dict[str, int]
    payloads: list[str]
    forms: list[Form]
    form: np.ndarray
    starts: np.ndarray
    asked: np.ndarray
    gold: np.ndarray
    yes: np.ndarray

    @classmethod
    def of(cls, gold: Gold) -> "Key":
        payloads = gold.columns.payload_sha256
        return cls(gold.places, payloads, gold.forms, gold.form, gold.starts, gold.asked, gold.gold, gold.yes)

    def __reduce__(self) -> tuple:
        """For other processes: long lists of texts travel as JSON, which is much faster than pickling them."""
        return _unpacked, (orjson.dumps([list(self.places), self.payloads]), *self[2:])


def _unpacked(texts: bytes, *rest: Any) -> Key:
    run_ids, payloads = orjson.loads(texts)
    return Key({run_id: place for place, run_id in enumerate(run_ids)}, payloads, *rest)


class Fields(NamedTuple):
    """Answers read: the number of the result that each comes from, the field, and the values of `Answers`."""

    result: np.ndarray
    field: np.ndarray
    predicted: np.ndarray
    p_gold: np.ndarray
    p_prediction: np.ndarray
    p_yes: np.ndarray
    p_squares: np.ndarray


class Part(NamedTuple):
    """Results in file order, numbered from 0 among those of requests.

    position, status, wall_ms: by number. others: (run id, status, wall_ms) of results of no request.
    """

    position: np.ndarray
    status: np.ndarray
    wall_ms: np.ndarray
    fields: Fields
    strange: dict[tuple[int, int], str]
    problems: dict[int, str]
    others: list[tuple[str, int, float]]


class _Layout(NamedTuple):
    """A form as its answers are laid out; places: by question, option key -> place."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    keys: tuple[str, ...]
    sizes: tuple[int, ...]
    places: tuple[dict[str, int], ...]


def _layout(form: Form) -> _Layout:
    places = tuple({key: place for place, key in enumerate(keys)} for keys in form.keys)
    return _Layout(form.names, form.kinds, tuple(chain(*form.keys)), tuple(map(len, form.keys)), places)


class Reader:
    """Takes in results batch by batch."""

    def __init__(self, key: Key):
        self.key = key
        self.layouts = list(map(_layout, key.forms))
        self.position: list[int] = []
        self.status: list[int] = []
        self.wall_ms: list[float] = []
        self.fields: list[Fields] = []
        self.strange: dict[tuple[int, int], str] = {}
        self.problems: dict[int, str] = {}
        self.others: list[tuple[str, int, float]] = []

    def part(self) -> Part:
        """All that was taken in."""
        columns = zip(*self.fields, strict=True) if self.fields else repeat([np.zeros(0)], len(Fields._fields))
        by_number = np.array(self.position, int), np.array(self.status, np.int8), np.array(self.wall_ms, float)
        return Part(*by_number, Fields(*map(np.concatenate, columns)), self.strange, self.problems, self.others)

    def read(self, results: Sequence[Result]) -> None:
        """Take in one batch."""
        places = [self.key.places.get(result.run_id) for result in results]
        status = [CODES[result.status] for result in results]
        wall_ms = [math.nan if result.total_wall_ms is None else result.total_wall_ms for result in results]
        known = [place is not None for place in places]
        if not all(known):
            strangers = zip(results, status, wall_ms, known, strict=True)
            self.others += [(result.run_id, code, time) for result, code, time, own in strangers if not own]
            results, places, status, wall_ms = (list(compress(all_, known)) for all_ in (results, places, status, wall_ms))
        first = len(self.position)
        self.position += places
        self.status += status
        self.wall_ms += wall_ms
        answered = [
            (number, result.response)
            for number, (result, code) in enumerate(zip(results, status, strict=True), start=first)
            if code == OK
        ]
        payloads = self.key.payloads
        for number, (result, place) in enumerate(zip(results, places, strict=True), start=first):
            if result.payload_sha256 not in (payloads[place], None) and result.status == "ok":
                self.problems[number] = OTHER_PAYLOAD
        self._read_odd(self._read_good(answered))

    def _layout(self, number: int) -> _Layout:
        return self.layouts[self.key.form[self.position[number]]]

    def _read_good(self, results: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
        """Read (number, response) of the results that are valid; returns the others."""
        good = [(number, self._layout(number), response.answers) for number, response in results if type(response) is Response]
        good = [result for result in good if "score" not in result[1].kinds]
        columns = _columns([answers for *_, answers in good], [layout for _, layout, _ in good])
        if columns is None:
            good = [(number, layout, _in_order(layout, answers)) for number, layout, answers in good]
            good = [result for result in good if result[2] is not None]
            columns = _columns([answers for *_, answers in good], [layout for _, layout, _ in good])
        numbers = np.array([number for number, *_ in good], int)
        taken = set(numbers[self._take(numbers, *columns)].tolist()) if good else set()
        return [result for result in results if result[0] not in taken]

    def _take(self, numbers: np.ndarray, values: np.ndarray, chosen: np.ndarray, sizes: np.ndarray, asked: np.ndarray) -> np.ndarray:
        """Take in the results whose numbers are probabilities; returns which ones.

        Args:
            numbers: by result. values: by option. chosen, sizes: by question. asked: by result, its number of questions.
        """
        key, at, first = self.key, np.cumsum(sizes) - sizes, np.cumsum(asked) - asked
        fits = (np.minimum.reduceat(values, at) >= 0) & (np.maximum.reduceat(values, at) <= 1) & (chosen != UNREADABLE)
        fits &= np.abs(np.add.reduceat(values, at) - 1) <= SUM_TOLERANCE - ROUNDING
        valid = np.logical_and.reduceat(fits, first)
        positions = np.array([self.position[number] for number in numbers[valid]], int)
        lengths = key.starts[positions + 1] - key.starts[positions]
        field = spans(key.starts[positions], lengths)
        question = np.repeat(first[valid], lengths) + key.asked[field]

        def probability(place: np.ndarray) -> np.ndarray:
            return np.where(place == NO_OPTION, np.nan, values[at[question] + np.maximum(place, 0)])

        predicted, squares = chosen[question], np.add.reduceat(values**2, at)[question]
        probabilities = probability(key.gold[field]), probability(predicted), probability(key.yes[field]), squares
        self.fields.append(Fields(np.repeat(numbers[valid], lengths), field, predicted, *probabilities))
        return valid

    def _read_odd(self, results: Iterable[tuple[int, Any]]) -> None:
        """Read results one answer at a time, whatever they look like."""
        read = []
        for number, response in results:
            response = to_builtins(response) if type(response) is Response else response
            position = self.position[number]
            form = self.key.forms[self.key.form[position]]
            problem = _invalid(form, response)
            if problem:
                self.problems.setdefault(number, problem)
            for place in range(self.key.starts[position], self.key.starts[position + 1]):
                asked = self.key.asked[place]
                answer = _answers(response).get(form.names[asked])
                predicted, probabilities = _read_answer(form.kinds[asked], form.keys[asked], answer)
                if isinstance(predicted, str):
                    self.strange[number, place] = predicted
                    predicted = STRANGE
                own = [self.key.gold[place], predicted, self.key.yes[place]]
                chances = [probabilities[option] if option >= 0 else math.nan for option in own]
                read.append((number, place, predicted, *chances, math.fsum(p * p for p in probabilities)))
        if read:
            kinds = (np.int64, np.int64, np.int32, *[float] * len(PROBABILITIES))
            self.fields.append(Fields(*map(np.array, zip(*read, strict=True), kinds)))


def _columns(
    answers: list[dict[str, Answer]], layouts: list[_Layout]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray] | None:
    """Answers of several results as columns (see `Reader._take`); None unless all questions and options are there and in
    the order of their forms."""

    def expected(name: str) -> list:
        return list(chain.from_iterable(map(attrgetter(name), layouts)))

    flat = list(chain.from_iterable(map(dict.values, answers)))
    options = [_noul(answer) if answer.type == "noul" else answer.probabilities or {} for answer in flat]
    asked, sizes = list(map(len, answers)), list(map(len, options))
    as_laid_out = (
        asked == [len(layout.names) for layout in layouts]
        and list(chain.from_iterable(answers)) == expected("names")
        and [answer.type for answer in flat] == expected("kinds")
        and sizes == expected("sizes")
        and list(chain.from_iterable(options)) == expected("keys")
    )
    if not as_laid_out:
        return None
    chosen = [
        (answer.noul or 0) >= 0.5 if answer.type == "noul" else places.get(answer.choice, UNREADABLE)
        for places, answer in zip(expected("places"), flat, strict=True)
    ]
    values = np.fromiter(chain.from_iterable(map(dict.values, options)), float)
    return values, np.array(chosen, np.int32), np.array(sizes, int), np.array(asked, int)


def _noul(answer: Answer) -> dict[str, float]:
    return {} if answer.noul is None else {"false": 1 - answer.noul, "true": answer.noul}


def _in_order(layout: _Layout, answers: dict[str, Answer]) -> dict[str, Answer] | None:
    """The same answers in the order of their form; None when they are not those that were asked for."""
    if answers.keys() != set(layout.names):
        return None
    ordered = {}
    for name, kind, places in zip(layout.names, layout.kinds, layout.places, strict=True):
        answer = answers[name]
        given = _noul(answer) if kind == "noul" else answer.probabilities or {}
        if answer.type != kind or given.keys() != places.keys():
            return None
        ordered[name] = Answer(kind, answer.choice, {key: given[key] for key in places}, answer.noul)
    return ordered


def _invalid(form: Form, response: Any) -> str | None:
    """What makes a response invalid by the wire format."""
    criteria = {"choice": dict.fromkeys, "noul": lambda _keys: None, "score": list}
    questions = {
        name: {"type": kind, "criteria": criteria[kind](keys)}
        for name, kind, keys in zip(form.names, form.kinds, form.keys, strict=True)
    }
    try:
        validate(questions, response)
    except InvalidResponse as error:
        return str(error)
    return None


def _answers(response: Any) -> dict:
    answers = response.get("answers") if isinstance(response, dict) else None
    return answers if isinstance(answers, dict) else {}


def _read_answer(kind: str, keys: tuple[str, ...], answer: Any) -> tuple[int | str, list[float]]:
    """Place of the predicted option, its text when it is none, and the probability of every option (nan for no number).

    A score predicts its most probable level, the lowest of them on ties: what it returns is an expectation, which may lie
    between levels.
    """
    answer = answer if isinstance(answer, dict) else {}
    if kind == "noul":
        p_true = probability(answer.get("noul"))
        return UNREADABLE if math.isnan(p_true) else int(p_true >= 0.5), [1 - p_true, p_true]
    given = answer.get("probabilities")
    probabilities = [probability(given.get(key) if isinstance(given, dict) else None) for key in keys]
    if kind == "score":
        readable = not any(map(math.isnan, probabilities))
        return probabilities.index(max(probabilities)) if readable else UNREADABLE, probabilities
    choice = answer.get("choice")
    if not isinstance(choice, str):
        return UNREADABLE, probabilities
    return keys.index(choice) if choice in keys else choice, probabilities


def is_number(value: Any) -> bool:
    """Whether a JSON value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and -math.inf < value < math.inf


def probability(value: Any) -> float:
    """The value when it is a number in [0, 1], else nan."""
    return value if is_number(value) and 0 <= value <= 1 else math.nan
