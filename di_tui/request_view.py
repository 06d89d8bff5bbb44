"""One request beside what one or more runs made of it, as the request screen shows it. Knows no screen."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engines.wire import Option, compact_json, options
from scoring.answers import OK, STATUSES
from scoring.gold import option_key
from scoring.single_answers import probability
from suite_builder.rows import Request

SHORT_LIST = 12
LONG_TEXT, LONG_LINES = 240, 3
# An escaped line end in JSON text: an odd number of backslashes before the n.
_LINE_END = re.compile(r"(?<!\\)((?:\\\\)*)\\n")

if TYPE_CHECKING:
    from di_tui.scored_run import ScoredRun
    from scoring.cases import Cases


@dataclass(frozen=True)
class Asked:
    """One question of a request. gold: option keys that count as right. scored: whether its answers count at all."""

    name: str
    kind: str
    instructions: Any
    options: list[Option]
    gold: frozenset[str]
    scored: bool


@dataclass(frozen=True)
class Given:
    """What a run answered to a question.

    probabilities: by option key, nan where there is no number in [0, 1]. chosen: None without a readable answer.
    right: None where answers are not right or wrong one by one.
    """

    probabilities: dict[str, float]
    chosen: str | None
    right: bool | None


@dataclass(frozen=True)
class Reply:
    """What a run made of a request. status: as scored. problem: why it is no valid answer. answers: by question.
    result: the row of the results file, None without one."""

    run: str
    status: str
    wall_ms: float | None
    problem: str | None
    result: dict[str, Any] | None
    answers: dict[str, Given]


@dataclass(frozen=True)
class View:
    """A request with its questions and the replies of the runs."""

    request: Request
    questions: list[Asked]
    replies: list[Reply]


def view(runs: "list[ScoredRun]", run_id: str) -> View:
    """Read a request and what the runs made of it.

    Raises:
        KeyError: the suite has no such row. ResultsError: a results file cannot be read.
    """
    request = runs[0].row(run_id)
    questions = _questions(request, runs[0].cases)
    return View(request, questions, [_reply(run, request, questions) for run in runs])


def linked(cases: "Cases", run_id: str) -> list[str]:
    """Run ids of all scored requests of the same group, in row order."""
    gold = cases.gold
    position = gold.places.get(run_id)
    return [run_id] if position is None else [gold.run_ids[place] for place in (gold.group == gold.group[position]).nonzero()[0]]


def _fields(cases: "Cases", run_id: str) -> dict[str, int]:
    """Question -> its field, of the scored questions of a request."""
    gold = cases.gold
    position = gold.places.get(run_id)
    return {} if position is None else {gold.name(place): place for place in range(*gold.starts[position : position + 2].tolist())}


def _questions(request: Request, cases: "Cases") -> list[Asked]:
    scored = _fields(cases, request.run_id)
    expected = request.row.get("expected") or {}
    ties = (request.scoring or {}).get("accepted") if cases.rule_of(request.catalog_id).accepts_ties else None
    return [
        Asked(
            name,
            question["type"],
            question.get("instructions"),
            options(question),
            frozenset(ties if ties and name in scored else {option_key(expected.get(name))} - {None}),
            name in scored,
        )
        for name, question in request.questions.items()
    ]


def _reply(run: "ScoredRun", request: Request, questions: list[Asked]) -> Reply:
    cases, result = run.cases, run.result(request.run_id)
    position = cases.gold.places.get(request.run_id)
    status = STATUSES[cases.status[position]] if position is not None else "not scored"
    problem = cases.invalid.get(position) or (result or {}).get("error")
    wall_ms = (result or {}).get("total_wall_ms")
    given = ((result or {}).get("response") or {}).get("answers")
    given = given if isinstance(given, Mapping) else {}
    fields = _fields(cases, request.run_id)
    answers = {
        asked.name: _given(cases, asked, given[asked.name], fields.get(asked.name))
        for asked in questions
        if isinstance(given.get(asked.name), Mapping)
    }
    return Reply(run.name, status, wall_ms, problem, result, answers)


def _given(cases: "Cases", asked: Asked, answer: Mapping[str, Any], field: int | None) -> Given:
    probabilities = _probabilities(asked, answer)
    if field is None:
        return Given(probabilities, _chosen(asked, answer, probabilities), None)
    judged = cases.rule_of(int(cases.gold.catalog_id[cases.gold.request[field]])).by_field
    judged &= bool(cases.status[cases.gold.request[field]] == OK)
    return Given(probabilities, cases.predicted_key(field), bool(cases.hit[field]) if judged else None)


def _chosen(asked: Asked, answer: Mapping[str, Any], probabilities: Mapping[str, float]) -> str | None:
    """The option of an answer that is not scored: of a yes/no or a score the most probable one, on ties yes or the lowest."""
    if asked.kind == "choice":
        return answer.get("choice")
    keys = ("true", "false") if asked.kind == "noul" else list(probabilities)
    return None if any(map(math.isnan, probabilities.values())) else max(keys, key=probabilities.__getitem__)


def _probabilities(asked: Asked, answer: Mapping[str, Any]) -> dict[str, float]:
    if asked.kind == "noul":
        yes = probability(answer.get("noul"))
        return {"false": 1 - yes, "true": yes}
    given = answer.get("probabilities")
    given = given if isinstance(given, Mapping) else {}
    return {option.key: probability(given.get(option.key)) for option in asked.options}


def ordered(asked: Asked, replies: list[Reply]) -> list[Option]:
    """The options as they are shown: the few of a short list as asked, a long one by the highest probability first."""
    if asked.kind != "choice" or len(asked.options) <= SHORT_LIST:
        return asked.options

    def most(option: Option) -> float:
        given = [reply.answers[asked.name].probabilities[option.key] for reply in replies if asked.name in reply.answers]
        return max((number for number in given if not math.isnan(number)), default=0.0)

    return sorted(asked.options, key=lambda option: -most(option))


def is_long(text: str) -> bool:
    """Whether a text is too long to stand in full above the options of its question."""
    return len(text) > LONG_TEXT or text.count("\n") >= LONG_LINES


def one_line(value: Any) -> str:
    """A text or, of anything else, its JSON text."""
    return value if isinstance(value, str) else compact_json(value)


def pretty(value: Any) -> str:
    """A text as it is, anything else as indented JSON in which the line ends of texts are line ends."""
    if isinstance(value, str):
        return value
    lines = json.dumps(value, indent=2, ensure_ascii=False).split("\n")
    return "\n".join(_LINE_END.sub(rf"\1\n{' ' * (len(line) - len(line.lstrip()) + 2)}", line) for line in lines)
