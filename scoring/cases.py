"""Rows and answers joined: what counts as answered, and the cases of each benchmark as columns.

Whether a benchmark can use what was read is its rule's to say. Knows nothing of metrics.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from scoring.answers import ERROR, OK, STATUSES, STRANGE, UNREADABLE, Answers
from scoring.errors import ScoreError
from scoring.gold import NO_OPTION, Gold, Ragged, distinct


class Rule(Protocol):
    """What joining must know of a benchmark: see `scoring.benchmarks.Benchmark`."""

    added: bool
    by_field: bool
    accepts_ties: bool
    reads: str
    block: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """A result that counts although it is invalid (`counted_as` ok), or that counts as an error for it."""

    run_id: str
    catalog_id: int
    problem: str
    counted_as: str


@dataclass(frozen=True)
class Cases:
    """All cases of an edition.

    status: by request, as scored: an ok result that is invalid or cannot be used may be an `error`.
    whole: by request, whether every request of its group is ok; a request of an added benchmark stands alone.
    invalid: request -> what is wrong with its ok result, whichever way it counts. strict: see `join`.
    """

    gold: Gold
    answers: Answers
    rule_of: Callable[[int], Rule]
    status: np.ndarray
    whole: np.ndarray
    invalid: dict[int, str]
    strict: bool = False

    @classmethod
    def join(cls, gold: Gold, answers: Answers, rule_of: Callable[[int], Rule], strict: bool = False) -> "Cases":
        """Hold answers against rows.

        Args:
            strict: invalid results are errors everywhere; otherwise base benchmarks count them, as published.
        """
        rules = {catalog_id: rule_of(catalog_id) for catalog_id in np.unique(gold.catalog_id).tolist()}
        unusable = _unusable(gold, answers, rules)
        invalid = unusable | answers.problems
        status = answers.status.copy()
        for position in invalid:
            if position in unusable or strict or rules[int(gold.catalog_id[position])].added:
                status[position] = ERROR
        broken = np.bincount(gold.group, status != OK)
        added = np.isin(gold.catalog_id, [catalog_id for catalog_id, rule in rules.items() if rule.added])
        whole = np.where(added, status == OK, broken[gold.group] == 0) if len(gold) else np.zeros(0, bool)
        return cls(gold, answers, rule_of, status, whole, dict(sorted(invalid.items())), strict)

    def take(self, positions: np.ndarray) -> "Cases":
        """Some of the requests, in this order; groups are then made of these only."""
        gold = self.gold.take(positions, self.rule_of)
        return Cases.join(gold, self.answers.take(self.gold, positions), self.rule_of, self.strict)

    @property
    def problems(self) -> list[Problem]:
        """The invalid results in row order."""
        gold = self.gold
        return [
            Problem(gold.run_ids[position], int(gold.catalog_id[position]), text, STATUSES[self.status[position]])
            for position, text in self.invalid.items()
        ]

    @cached_property
    def accepted(self) -> np.ndarray:
        """By field, how many options count as right."""
        accepted = np.ones(len(self.gold.asked), int)
        accepted[self._tied] = [len(options) for options in self._accepted_of_tied()]
        return accepted

    @cached_property
    def hit(self) -> np.ndarray:
        """By field, whether the prediction is right."""
        hit = (self.answers.predicted == self.gold.gold) & (self.answers.predicted >= 0)
        tied = zip(self.predicted_keys(self._tied), self._accepted_of_tied(), strict=True)
        hit[self._tied] = [key in options for key, options in tied]
        return hit

    def _accepted_of_tied(self) -> list[list[str]]:
        return [block["accepted"] for block in self.gold.scorings(self.gold.request[self._tied])]

    @cached_property
    def _tied(self) -> np.ndarray:
        """Fields for which more than the gold answer may be right."""
        ids = [catalog_id for catalog_id in np.unique(self.gold.catalog_id).tolist() if self.rule_of(catalog_id).accepts_ties]
        return np.flatnonzero(np.isin(self.gold.catalog_of_field, ids))

    def predicted_key(self, place: int) -> str | None:
        """Option key that was chosen for a field, None without a readable answer."""
        return self.predicted_keys(np.array([place]))[0]

    def predicted_keys(self, fields: np.ndarray) -> list[str | None]:
        """Option keys that were chosen for fields."""
        predicted = self.answers.predicted[fields]
        keys: list[str | None] = self.gold.keys(fields, np.maximum(predicted, 0))
        for number in np.flatnonzero(predicted < 0).tolist():
            keys[number] = self.answers.strange[fields[number]] if predicted[number] == STRANGE else None
        return keys

    def number_labels(self, catalog_id: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Fields of a benchmark, numbers of their gold and predicted labels, and how many labels all options have."""
        codes: dict[str, int] = {}
        fields = np.flatnonzero(self.gold.catalog_of_field == catalog_id)
        texts = self.gold.columns.texts_json.codes[self.gold.request[fields]]
        first, kind = distinct(texts, self.gold.question[fields])
        options = Ragged.of(
            [codes.setdefault(text, len(codes)) for text in self.gold.texts(place)] for place in fields[first].tolist()
        )
        count, own, answered = len(codes), options.starts[kind], self.answers.predicted[fields]
        gold, predicted = (options.values[own + np.maximum(place, 0)] for place in (self.gold.gold[fields], answered))
        for number in np.flatnonzero(answered == STRANGE).tolist():
            predicted[number] = codes.setdefault(self.answers.strange[fields[number]], len(codes))
        return fields, gold, predicted, count

    def sheets(self) -> dict[int, "Sheet"]:
        """Catalog id -> cases: base benchmarks in order of first appearance in the rows, then the added ones by id."""
        _ids, first = np.unique(self.gold.catalog_id, return_index=True)
        ids = self.gold.catalog_id[np.sort(first)].tolist()
        added = sorted(catalog_id for catalog_id in ids if self.rule_of(catalog_id).added)
        base = [catalog_id for catalog_id in ids if catalog_id not in added]
        return {catalog_id: Sheet.of(self, catalog_id) for catalog_id in base + added}


def _unusable(gold: Gold, answers: Answers, rules: dict[int, Rule]) -> dict[int, str]:
    """Why the metrics cannot be computed from ok results, by request."""

    def reading(what: str) -> np.ndarray:
        ids = [catalog_id for catalog_id, rule in rules.items() if rule.reads == what]
        return np.isin(gold.catalog_of_field, ids)

    probability = reading("probability")
    doubts = {
        "no probability of yes in [0, 1]": probability & np.isnan(answers.p_yes),
        "no readable answer": ~probability & (answers.predicted == UNREADABLE),
        "choice {choice!r} is not an option": reading("outcome") & (answers.predicted == STRANGE),
        "the row has no gold answer": ~probability & (gold.gold == NO_OPTION),
    }
    ok = (answers.status == OK)[gold.request]
    found: dict[int, tuple[int, str]] = {}
    for problem, fields in doubts.items():
        for place in np.flatnonzero(fields & ok).tolist():
            position = int(gold.request[place])
            if position not in found or place < found[position][0]:
                text = problem.format(choice=answers.strange.get(place))
                found[position] = place, f"question {gold.name(place)!r}: {text}"
    return {position: text for position, (_place, text) in found.items()}


@dataclass(frozen=True)
class Sheet:
    """Cases of one benchmark, or some of them, as columns.

    positions: by request, its place in all cases. fields: by field, its place in all fields. request: by field, the place
    of its request in this sheet. group: by request, the number of its group in the benchmark, in order of first
    appearance; `groups` is how many there are, also when a sheet holds some of them only.
    """

    cases: Cases
    catalog_id: int
    positions: np.ndarray
    fields: np.ndarray
    request: np.ndarray
    group: np.ndarray
    groups: int
    _cache: dict[Any, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, cases: Cases, catalog_id: int) -> "Sheet":
        """All cases of a benchmark.

        Raises:
            ScoreError: a row lacks what its benchmark is scored by.
        """
        gold = cases.gold
        positions = np.flatnonzero(gold.catalog_id == catalog_id)
        _codes, group = np.unique(gold.group[positions], return_inverse=True)
        fields = np.flatnonzero(gold.catalog_of_field == catalog_id)
        request = np.searchsorted(positions, gold.request[fields])
        sheet = cls(cases, catalog_id, positions, fields, request, group, int(group.max(initial=-1)) + 1)
        sheet._check_blocks()
        return sheet

    def _check_blocks(self) -> None:
        gold, needed = self.cases.gold, self.cases.rule_of(self.catalog_id).block
        blocks = gold.columns.scoring_json
        for code in np.unique(blocks.codes[self.positions]).tolist() if needed else ():
            missing = [key for key in needed if f'"{key}"' not in blocks.values[code]]
            if missing:
                run_id = gold.run_ids[self.positions[blocks.codes[self.positions] == code][0]]
                raise ScoreError(f"row {run_id}: its scoring block lacks {', '.join(missing)}; import the suite again")

    def __len__(self) -> int:
        return len(self.positions)

    def select(self, requests: np.ndarray) -> "Sheet":
        """The cases for which `requests` (bool, by request) holds."""
        kept = requests[self.request]
        request = (np.cumsum(requests) - 1)[self.request[kept]]
        cut = self.positions[requests], self.fields[kept], request, self.group[requests]
        return Sheet(self.cases, self.catalog_id, *cut, self.groups, self._cache)

    def only(self, requests: np.ndarray) -> "Sheet":
        """As `select`, and nothing is left of the other groups: those that remain are numbered anew."""
        sheet = self.select(requests)
        _numbers, group = np.unique(sheet.group, return_inverse=True)
        return replace(sheet, group=group, groups=int(group.max(initial=-1)) + 1)

    def cached(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make` gives, made once for all parts of this benchmark's cases."""
        if key not in self._cache:
            self._cache[key] = make()
        return self._cache[key]

    @cached_property
    def dataset(self) -> str:
        return self.cases.gold.columns.dataset[self.positions[0]]

    @cached_property
    def tracks(self) -> list[str]:
        track = self.cases.gold.columns.track
        return np.array(track.values, object)[track.codes[self.positions]].tolist()

    @cached_property
    def status(self) -> np.ndarray:
        return self.cases.status[self.positions]

    @cached_property
    def whole(self) -> np.ndarray:
        return self.cases.whole[self.positions]

    @cached_property
    def wall_ms(self) -> np.ndarray:
        """Milliseconds of the ok requests that tell them."""
        times = self.cases.answers.wall_ms[self.positions[self.status == OK]]
        return times[~np.isnan(times)]

    @property
    def blocks(self) -> list[dict]:
        """Scoring block by request."""
        return self.cases.gold.scorings(self.positions)

    def facts(self, name: str) -> list:
        """A grouping fact by request, None where a row has none."""
        return [facts.get(name) for facts in self.cases.gold.facts(self.positions)]

    # By field

    @cached_property
    def group_of_field(self) -> np.ndarray:
        return self.group[self.request]

    @cached_property
    def questions(self) -> list[str]:
        names = self.cases.gold.all_questions
        return [names[place] for place in self.cases.gold.question[self.fields]]

    @cached_property
    def options(self) -> np.ndarray:
        return self.cases.gold.options[self.fields]

    @cached_property
    def gold(self) -> np.ndarray:
        return self.cases.gold.gold[self.fields]

    @cached_property
    def yes(self) -> np.ndarray:
        return self.cases.gold.yes[self.fields]

    @cached_property
    def predicted(self) -> np.ndarray:
        return self.cases.answers.predicted[self.fields]

    @cached_property
    def p_yes(self) -> np.ndarray:
        return self.cases.answers.p_yes[self.fields]

    @cached_property
    def accepted(self) -> np.ndarray:
        """How many options count as right."""
        return self.cases.accepted[self.fields]

    @cached_property
    def hit(self) -> np.ndarray:
        """Whether the prediction is right."""
        return self.cases.hit[self.fields]

    def predicted_keys(self) -> list[str | None]:
        """Option keys that were chosen, None without a readable answer."""
        return self.cases.predicted_keys(self.fields)

    def label_codes(self) -> tuple[np.ndarray, np.ndarray]:
        """Gold and predicted labels by field as numbers: equal label texts have equal numbers, and a prediction that is no
        option has its own text as label. Fields without a gold answer or a prediction have any number."""
        fields, gold, predicted, _count = self._labels()
        own = np.searchsorted(fields, self.fields)
        return gold[own], predicted[own]

    def all_labels(self) -> np.ndarray:
        """Numbers of all option labels of the benchmark."""
        return np.arange(self._labels()[-1])

    def _labels(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
        """Labels of all fields of the benchmark, and how many labels its options have."""
        return self.cached("labels", lambda: self.cases.number_labels(self.catalog_id))
