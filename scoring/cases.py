"""Rows and results joined: one `Case` a request, one `Field` a scored question, with nothing of the payload kept.

A result is read as leniently as a score can still be computed from it; whether a benchmark can use what was read is for
benchmarks.py to say (`Rule.unusable`).
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from engines.wire import InvalidResponse, validate
from scoring.errors import ScoreError
from suite_builder.rows import Label

OK, ERROR, PENDING = "ok", "error", "pending"
NOUL_OPTIONS = {"false": "false", "true": "true"}


@dataclass(slots=True)
class Field:
    """One scored question of a request.

    options: option key -> label text (see `Label`). accepted: predictions that count as right.
    prediction: the chosen key, a bool for a noul, None without a readable answer.
    p_gold, p_prediction, p_yes: probability of the gold option, of the predicted one and of the key `yes`; None where
        there is no such option or no number in [0, 1] for it.
    """

    question: str
    options: dict[str, str]
    gold: Any
    accepted: tuple
    prediction: str | bool | None = None
    p_gold: float | None = None
    p_prediction: float | None = None
    p_yes: float | None = None

    @property
    def hit(self) -> bool:
        """Whether the prediction is right."""
        return self.prediction is not None and self.prediction in self.accepted

    def label(self, answer: str | bool) -> str:
        """Label text of an answer; the answer itself when it is no option."""
        key = option_key(answer)
        return self.options.get(key, key)


@dataclass(slots=True)
class Case:
    """One request as scoring sees it.

    status: that of the result; `pending` without one, `error` when the answers cannot be scored.
    wall_ms: milliseconds of the engine call. whole: every request of the group is `ok`. scoring, facts: as in `Label`.
    """

    run_id: str
    catalog_id: int
    dataset: str
    track: str
    group_id: str
    fields: tuple[Field, ...]
    scoring: dict
    facts: dict
    status: str = PENDING
    wall_ms: float | None = None
    whole: bool = False


class Rule(Protocol):
    """What joining must know of a benchmark."""

    added: bool
    accepts_ties: bool
    block: tuple[str, ...]

    def scores(self, question: str, scoring: dict) -> bool:
        """Whether the answer to a question is scored."""

    def unusable(self, case: Case) -> str | None:
        """Why the metric cannot be computed from an answered case; None when it can."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A result that counts although it is invalid (`counted_as` ok), or that counts as an error for it."""

    run_id: str
    catalog_id: int
    problem: str
    counted_as: str


@dataclass
class Joined:
    """All cases of an edition in row order, and what the results file holds.

    statuses: run id -> status of its last line, and wall_ms: run id -> milliseconds when that is ok; for every run id
        of the file, also those that the edition does not read.
    problems: of the cases.
    """

    cases: list[Case]
    statuses: dict[str, str] = field(default_factory=dict)
    wall_ms: dict[str, float | None] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    @property
    def counted(self) -> list[str]:
        """Run ids of the edition that have a result."""
        return [case.run_id for case in self.cases if case.run_id in self.statuses]


def join(labels: Iterable[Label], results: Iterable[dict], rule_of: Callable[[int], Rule]) -> Joined:
    """Read results into the cases of `labels`; the last result of a run id counts.

    Args:
        rule_of: catalog id -> rule of the benchmark.

    Raises:
        ScoreError: a row lacks what its benchmark is scored by.
    """
    known = {label.run_id: label for label in labels}
    cases = {run_id: _pending(label, rule_of(label.catalog_id)) for run_id, label in known.items()}
    joined, problems = Joined([]), {}
    for result in results:
        run_id, status = result["run_id"], result["status"]
        wall_ms = result.get("total_wall_ms") if is_number(result.get("total_wall_ms")) else None
        if run_id in known:
            label = known[run_id]
            rule = rule_of(label.catalog_id)
            if run_id in joined.statuses:
                cases[run_id] = _pending(label, rule)
            case = cases[run_id]
            case.status, case.wall_ms = status, wall_ms
            problems[run_id] = _read(case, label, result, rule) if status == OK else None
        joined.statuses[run_id] = status
        joined.wall_ms[run_id] = wall_ms if status == OK else None
    joined.cases = list(cases.values())
    joined.problems = [problem for problem in problems.values() if problem]
    for group in _linked(joined.cases, rule_of):
        whole = all(case.status == OK for case in group)
        for case in group:
            case.whole = whole
    return joined


def _pending(label: Label, rule: Rule) -> Case:
    scoring, gold, options = label.scoring or {}, label.gold or {}, label.options
    missing = [key for key in rule.block if key not in scoring]
    if missing:
        raise ScoreError(f"row {label.run_id}: its scoring block lacks {', '.join(missing)}; import the suite again")
    fields = tuple(
        Field(question, options[question], gold.get(question), _accepted(gold.get(question), scoring, rule))
        for question in options
        if rule.scores(question, scoring)
    )
    head = (label.run_id, label.catalog_id, label.dataset, label.track, label.group_id)
    return Case(*head, fields, scoring, label.facts)


def _accepted(gold: Any, scoring: dict, rule: Rule) -> tuple:
    return tuple(scoring["accepted"]) if rule.accepts_ties else (gold,)


def _read(case: Case, label: Label, result: dict, rule: Rule) -> Problem | None:
    """Read the answers of an ok result into its case; say what is wrong with them."""
    response = result.get("response")
    answers = response.get("answers") if isinstance(response, dict) else None
    for scored in case.fields:
        _read_answer(scored, answers.get(scored.question) if isinstance(answers, dict) else None)
    invalid, unusable = _invalid(label, result), rule.unusable(case)
    if unusable or (invalid and rule.added):
        case.status = ERROR
    if unusable or invalid:
        return Problem(case.run_id, case.catalog_id, invalid or unusable, case.status)
    return None


def _invalid(label: Label, result: dict) -> str | None:
    """What makes a result invalid by the wire format or by its row."""
    if result.get("payload_sha256", label.payload_sha256) != label.payload_sha256:
        return "payload_sha256 differs from the row's"
    try:
        validate(_questions(label), result.get("response"))
    except InvalidResponse as error:
        return str(error)
    return None


def _questions(label: Label) -> dict[str, dict]:
    """The questions of a row, as far as validation looks at them."""
    gold = label.gold or {}
    return {
        name: {"type": "noul"} if is_noul(options, gold.get(name)) else {"type": "choice", "criteria": options}
        for name, options in label.options.items()
    }


def is_noul(options: dict[str, str], gold: Any) -> bool:
    """Labels do not name question types: a noul has the options false and true, and its gold is never a text."""
    return options == NOUL_OPTIONS and not isinstance(gold, str)


def _read_answer(scored: Field, answer: Any) -> None:
    if not isinstance(answer, dict):
        return
    if is_noul(scored.options, scored.gold):
        p_true = probability(answer.get("noul"))
        probabilities = {} if p_true is None else {"true": p_true, "false": 1 - p_true}
        scored.prediction = None if p_true is None else p_true >= 0.5
    else:
        probabilities = answer.get("probabilities")
        choice = answer.get("choice")
        scored.prediction = choice if isinstance(choice, str) else None
    if isinstance(probabilities, dict):
        scored.p_gold = probability(probabilities.get(option_key(scored.gold)))
        scored.p_prediction = probability(probabilities.get(option_key(scored.prediction)))
        scored.p_yes = probability(probabilities.get("yes"))


def option_key(answer: Any) -> str:
    """The option key of a gold answer or prediction: bools are those of a noul."""
    return str(answer).lower() if isinstance(answer, bool) else answer


def is_number(value: Any) -> bool:
    """Whether a JSON value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def probability(value: Any) -> float | None:
    """The value when it is a number in [0, 1], else None."""
    return value if is_number(value) and 0 <= value <= 1 else None


def _linked(cases: Iterable[Case], rule_of: Callable[[int], Rule]) -> Iterable[list[Case]]:
    """Cases that count only together: the groups of a base benchmark; rows of an added one stand alone."""
    linked = defaultdict(list)
    for case in cases:
        linked[case.catalog_id, case.run_id if rule_of(case.catalog_id).added else case.group_id].append(case)
    return linked.values()


def groups(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """Cases of one benchmark by group, in order of first appearance."""
    members = defaultdict(list)
    for case in cases:
        members[case.group_id].append(case)
    yield from members.values()
