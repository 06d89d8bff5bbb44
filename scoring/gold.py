"""The rows of a suite as an edition reads them, as columns: what answers are read with and held against.

Knows rows and nothing of results. Fields are the scored questions of all requests, one after the other in row order; an
option is meant by its place among the options of its question.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
import orjson

from scoring.columns import Coded, Columns, LabelRule
from scoring.errors import ScoreError
from suite_builder.suite import Suite

NO_OPTION = -1
# Place of a request that is not among the rows.
UNKNOWN = -1


class Form(NamedTuple):
    """The questions of a request: their keys, types and option keys (see `Label.questions`)."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    keys: tuple[tuple[str, ...], ...]


class Rule(LabelRule, Protocol):
    """What reading rows must know of a benchmark."""

    def scores(self, question: str, scoring: dict) -> bool:
        """Whether the answer to a question is scored."""


@dataclass(frozen=True)
class Gold:
    """Requests and their scored fields.

    columns: by request. places: run id -> place of the request. forms: the distinct forms, and form: which one a request has.
    group: by request, a number for benchmark and group id, counted in order of first appearance.
    starts: where the fields of a request start, with the number of all fields at the end.
    asked, options, gold, yes: by field, the place of its question in the form, its number of options, and the places of
        its gold option and of the key `yes` (NO_OPTION where there is none).
    """

    columns: Columns
    places: dict[str, int]
    forms: list[Form]
    form: np.ndarray
    group: np.ndarray
    starts: np.ndarray
    asked: np.ndarray
    options: np.ndarray
    gold: np.ndarray
    yes: np.ndarray
    _parsed: dict[str, dict[int, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, suite: Suite, rule_of: Callable[[int], Rule]) -> "Gold":
        """The rows that the suite's edition scores; see `Columns.begin` and `of`."""
        return cls.of(Columns.begin(suite, rule_of)(), rule_of)

    @classmethod
    def of(cls, columns: Columns, rule_of: Callable[[int], Rule]) -> "Gold":
        """Fields of requests.

        Args:
            rule_of: catalog id -> rule of the benchmark.

        Raises:
            ScoreError: a run id occurs twice.
        """
        places = {run_id: place for place, run_id in enumerate(columns.run_id)}
        if len(places) < len(columns.run_id):
            raise ScoreError("a run id occurs twice in the rows; import the suite again")
        partial = np.array(['"unscored_fields"' in text for text in columns.scoring_json.values], bool)
        unscored = np.where(partial[columns.scoring_json.codes], columns.scoring_json.codes + 1, 0)
        kinds = (columns.catalog_id, columns.questions_json.codes, columns.gold_json.codes, unscored)
        first, block = distinct(*kinds)
        blocks = [
            _block(
                rule_of(int(columns.catalog_id[place])),
                columns.questions_json[place],
                columns.gold_json[place],
                columns.scoring_json[place] if unscored[place] else "{}",
            )
            for place in first.tolist()
        ]
        used, form = np.unique(columns.questions_json.codes, return_inverse=True)
        lengths = np.array([len(own.asked) for own in blocks], int)
        fields = spans(starts_of(lengths)[block], lengths[block])
        return cls(
            columns=columns,
            places=places,
            forms=[_form(columns.questions_json.values[code]) for code in used.tolist()],
            form=form,
            group=distinct(columns.catalog_id, columns.group_id.codes)[1],
            starts=np.cumsum([0, *lengths[block]]),
            **{
                name: np.array([value for own in blocks for value in getattr(own, name)], np.int32)[fields]
                for name in _Block._fields
            },
        )

    def take(self, positions: np.ndarray, rule_of: Callable[[int], Rule]) -> "Gold":
        """Some of the requests, in this order."""
        return Gold.of(self.columns.take(positions), rule_of)

    def __len__(self) -> int:
        return len(self.places)

    @property
    def run_ids(self) -> list[str]:
        return self.columns.run_id

    @property
    def catalog_id(self) -> np.ndarray:
        return self.columns.catalog_id

    @cached_property
    def request(self) -> np.ndarray:
        """By field, the position of its request."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def catalog_of_field(self) -> np.ndarray:
        """By field, the catalog id of its request."""
        return self.catalog_id[self.request]

    def positions_of(self, run_ids: list[str]) -> np.ndarray:
        """Places of requests, UNKNOWN for those that are not among the rows."""
        start = self.places.get(run_ids[0], 0) if run_ids else 0
        if self.run_ids[start : start + len(run_ids)] == run_ids:  # in the order of the rows, as most runs are
            return np.arange(start, start + len(run_ids))
        return np.array([self.places.get(run_id, UNKNOWN) for run_id in run_ids], int)

    def fields_of(self, positions: np.ndarray) -> np.ndarray:
        """Fields of requests, one request after the other."""
        return spans(self.starts[positions], np.diff(self.starts)[positions])

    @cached_property
    def _flat(self) -> tuple[list[str], list[int], list[str], list[int]]:
        """Questions of all forms and where each form starts, their option keys and where each question starts."""
        names, first_name, keys, first_key = [], [], [], []
        for form in self.forms:
            first_name.append(len(names))
            names += form.names
            for own in form.keys:
                first_key.append(len(keys))
                keys += own
        return names, first_name, keys, first_key

    @property
    def all_questions(self) -> list[str]:
        """Question keys of all forms; `question` counts in them."""
        return self._flat[0]

    @property
    def all_keys(self) -> list[str]:
        """Option keys of all questions of all forms; `first_key` counts in them."""
        return self._flat[2]

    @cached_property
    def question(self) -> np.ndarray:
        """By field, the place of its question in `all_questions`."""
        return np.array(self._flat[1], int)[self.form[self.request]] + self.asked

    @cached_property
    def first_key(self) -> np.ndarray:
        """By field, the place in `all_keys` where its options start."""
        return np.array(self._flat[3], int)[self.question]

    def name(self, place: int) -> str:
        """Key of the question of a field."""
        return self.all_questions[self.question[place]]

    def key(self, place: int, option: int) -> str:
        """Key of an option of a field."""
        return self.all_keys[self.first_key[place] + option]

    def keys(self, fields: np.ndarray, options: np.ndarray) -> list[str]:
        """Keys of one option each of some fields."""
        return [self.all_keys[place] for place in (self.first_key[fields] + options).tolist()]

    def texts(self, place: int) -> list[str]:
        """Label texts of the options of a field."""
        return _parse_repeated(self.columns.texts_json[self.request[place]])[self.name(place)]

    def scoring(self, position: int) -> dict:
        """The scoring block of a request, empty without one."""
        return self.scorings(np.array([position]))[0]

    def scorings(self, positions: np.ndarray) -> list[dict]:
        """The scoring blocks of requests."""
        return [block or {} for block in self._parsed_texts("scoring_json", positions)]

    def facts(self, positions: np.ndarray) -> list[dict]:
        """The grouping facts of requests."""
        return self._parsed_texts("facts_json", positions)

    def _parsed_texts(self, name: str, positions: np.ndarray) -> list[Any]:
        """What the texts of a column say, each distinct one parsed once."""
        column: Coded = getattr(self.columns, name)
        codes, known = column.codes[positions].tolist(), self._parsed.setdefault(name, {})
        for code in set(codes).difference(known):
            known[code] = orjson.loads(column.values[code])
        return [known[code] for code in codes]


def starts_of(lengths: np.ndarray) -> np.ndarray:
    """Where each of several spans begins that lie one after the other."""
    return np.cumsum(lengths) - lengths


def spans(starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """The numbers from each start on, as many as its length, one span after the other."""
    return np.arange(lengths.sum()) + np.repeat(starts - starts_of(lengths), lengths)


class Ragged(NamedTuple):
    """Lists of several lengths, one after the other."""

    values: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, lists: Iterable[Sequence[int]]) -> "Ragged":
        lists = list(lists)
        lengths = np.array(list(map(len, lists)), int)
        return cls(np.array(list(chain.from_iterable(lists)), int), starts_of(lengths), lengths)

    def take(self, places: np.ndarray) -> np.ndarray:
        """Some of the lists, one after the other."""
        return self.values[spans(self.starts[places], self.lengths[places])]

    def at(self, places: np.ndarray, items: np.ndarray) -> np.ndarray:
        """One item each of some of the lists."""
        return self.values[self.starts[places] + items]


def distinct(*columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each distinct combination of values appears first, and by place which of them it is, in that order."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        code = np.unique(code * (column.max(initial=0) + 1) + column, return_inverse=True)[1]
    _codes, first, inverse = np.unique(code, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[inverse]


class _Block(NamedTuple):
    """What requests with the same form, gold answers and scored questions share; see `Gold`."""

    asked: list[int]
    options: list[int]
    gold: list[int]
    yes: list[int]


def _block(rule: Rule, questions: str, gold_text: str, scoring_text: str) -> _Block:
    names, _kinds, keys = _form(questions)
    gold, scoring = _parse_repeated(gold_text) or {}, _parse_repeated(scoring_text) or {}
    asked = [place for place, name in enumerate(names) if rule.scores(name, scoring)]
    return _Block(
        asked,
        [len(keys[place]) for place in asked],
        [_place(keys[place], option_key(gold.get(names[place]))) for place in asked],
        [_place(keys[place], "yes") for place in asked],
    )


@lru_cache(maxsize=8192)
def _form(text: str) -> Form:
    questions = orjson.loads(text)
    return Form(
        tuple(questions),
        tuple(kind for kind, _keys in questions.values()),
        tuple(tuple(keys) for _kind, keys in questions.values()),
    )


@lru_cache(maxsize=256)
def _parse_repeated(text: str) -> Any:
    """Benchmarks with one fixed set of options repeat the same text thousands of times; the result is read only."""
    return orjson.loads(text)


def _place(keys: tuple[str, ...], key: str | None) -> int:
    return keys.index(key) if key in keys else NO_OPTION


def option_key(answer: Any) -> str | None:
    """The option key that a gold answer names: `true` and `false` of a noul, a level of a score."""
    if answer is None or isinstance(answer, str):
        return answer
    return str(answer).lower() if isinstance(answer, bool | int) else None
