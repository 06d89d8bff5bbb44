"""The wire format of `/v1/systemone`: typed questions, answers with a probability for every option, and their validation.

A question is `{"type", "instructions", "criteria"}`; instructions and descriptions may be text, objects, arrays or null.

- `choice`: `criteria` maps 1 to 255 option keys to descriptions. Answer `{"type", "choice", "probabilities"}`.
- `noul`: yes/no; `criteria` is absent, null or an object with `true` and/or `false`. Answer `{"type", "noul"}`, the
  probability of true.
- `score`: `criteria` is an array of level descriptions, lowest first. Answer `{"type", "score", "legend", "probabilities"}`
  with the expectation of the level, over keys "0" to "n-1".
"""

import json
import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

SUM_TOLERANCE = 0.01
TYPES = ("choice", "noul", "score")


class InvalidQuestion(ValueError):
    """A question that the wire format does not allow; the message names the question and what is wrong."""


class InvalidResponse(ValueError):
    """A response that does not answer its questions; the message names the question and what is wrong."""


class Option(NamedTuple):
    """One thing that can be answered: its key and its description (None when it has none)."""

    key: str
    description: Any


def compact_json(value: Any) -> str:
    """JSON text as the wire format renders it: compact, non-ASCII raw."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def option_keys(question: Mapping) -> Collection[str]:
    """The keys of a question's options in order; a noul has `false` then `true`, a score its levels by index.

    Raises:
        ValueError: unknown type, or criteria that the type does not allow.
    """
    kind, criteria = question.get("type"), question.get("criteria")
    if kind == "choice":
        if not isinstance(criteria, Mapping) or not criteria:
            raise ValueError("a choice needs an object of options as criteria")
        return criteria.keys()
    if kind == "noul":
        if criteria is not None and not (isinstance(criteria, Mapping) and criteria.keys() <= {"true", "false"}):
            raise ValueError("a noul takes no criteria, or an object with true and false")
        return ("false", "true")
    if kind == "score":
        if not isinstance(criteria, Sequence) or isinstance(criteria, str) or not criteria:
            raise ValueError("a score needs an array of levels as criteria")
        return [str(level) for level in range(len(criteria))]
    raise ValueError(f"type {kind!r} is none of {', '.join(TYPES)}")


def options(question: Mapping) -> list[Option]:
    """The options of a question in order of `option_keys`, which see for errors."""
    keys, criteria = option_keys(question), question.get("criteria") or {}
    if question["type"] == "score":
        return list(map(Option, keys, criteria))
    return [Option(key, criteria.get(key)) for key in keys]


def check_questions(questions: Mapping) -> None:
    """Check that every question is one of the three types with criteria that fit.

    Raises:
        InvalidQuestion: names the question and what is wrong.
    """
    if not isinstance(questions, Mapping) or not questions:
        raise InvalidQuestion("questions must be an object with at least one question")
    for name, question in questions.items():
        try:
            option_keys(question)
        except (ValueError, AttributeError) as error:
            raise InvalidQuestion(f"question {name!r}: {error}") from None


def answer(question: Mapping, probabilities: Sequence[float]) -> dict[str, Any]:
    """The wire answer of a question from the probabilities of its options, in the order of `options(question)`.

    The chosen option is the most probable one, the first of them on ties.
    """
    keys = option_keys(question)
    if question["type"] == "noul":
        return {"type": "noul", "noul": probabilities[1]}
    by_key = dict(zip(keys, probabilities, strict=True))
    if question["type"] == "choice":
        return {"type": "choice", "choice": max(by_key, key=by_key.__getitem__), "probabilities": by_key}
    return {
        "type": "score",
        "score": sum(level * probability for level, probability in enumerate(probabilities)),
        "legend": dict(options(question)),
        "probabilities": by_key,
    }


def validate(questions: Mapping[str, Mapping], response: Any) -> None:
    """Check that a response answers exactly these questions, each with a probability for exactly its options.

    Raises:
        InvalidResponse: names the question and what is wrong.
    """
    # dict and not Mapping here and below: no other mapping could be written to a file.
    answers = response.get("answers") if isinstance(response, dict) else None
    if not isinstance(answers, dict):
        raise InvalidResponse("the response has no object `answers`")
    for name in answers:
        if name not in questions:
            raise InvalidResponse(f"question {name!r}: answered but never asked")
    for name, question in questions.items():
        if name not in answers:
            raise InvalidResponse(f"question {name!r}: no answer")
        try:
            _validate_answer(question, answers[name])
        except ValueError as error:
            raise InvalidResponse(f"question {name!r}: {error}") from None


def _validate_answer(question: Mapping, given: Any) -> None:
    if not isinstance(given, dict):
        raise ValueError("the answer is not an object")
    if given.get("type") != question["type"]:
        raise ValueError(f"asked as {question['type']}, answered as {given.get('type')!r}")
    if question["type"] == "noul":
        _probability("noul", given.get("noul"))
        return
    keys = option_keys(question)
    _validate_distribution(keys, given.get("probabilities"))
    choice = given.get("choice")
    if question["type"] == "choice" and not (isinstance(choice, str) and choice in keys):
        raise ValueError(f"choice {choice!r} is not an option")
    if question["type"] == "score":
        score = _number("score", given.get("score"))
        top = len(keys) - 1
        if not -SUM_TOLERANCE * top <= score <= (1 + SUM_TOLERANCE) * top:
            raise ValueError(f"score {score!r} is outside 0 to {top}")


def _validate_distribution(keys: Collection[str], probabilities: Any) -> None:
    if not isinstance(probabilities, dict):
        raise ValueError("no object `probabilities`")
    if probabilities.keys() != set(keys):
        for key in keys:
            if key not in probabilities:
                raise ValueError(f"option {key!r} has no probability")
        extra = next(key for key in probabilities if key not in keys)
        raise ValueError(f"probability for {extra!r}, which is not an option")
    # Without a call a number where all is well. A NaN, which no comparison finds, spoils the sum.
    values = probabilities.values()
    total = math.fsum(values) if _plain_and_in_range(values) else math.nan
    if math.isnan(total):
        total = math.fsum(_probability(f"option {key!r}", value) for key, value in probabilities.items())
    if abs(total - 1) > SUM_TOLERANCE:
        raise ValueError(f"probabilities sum to {total:.6g}, not to 1 within {SUM_TOLERANCE}")


def _plain_and_in_range(values: Collection) -> bool:
    return set(map(type, values)) <= {float, int} and min(values) >= 0 and max(values) <= 1


def _number(what: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} is {value!r}, not a number")
    if not -math.inf < value < math.inf:
        raise ValueError(f"{what} is not finite")
    return value


def _probability(what: str, value: Any) -> float:
    number = _number(what, value)
    if not 0 <= number <= 1:
        raise ValueError(f"{what} is {value!r}, outside 0 to 1")
    return number
