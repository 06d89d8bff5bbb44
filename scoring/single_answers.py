"""One response, judged and read by itself, whatever it looks like."""

import math
from typing import Any

from engines.wire import InvalidResponse, validate
from scoring.answers import UNREADABLE
from scoring.gold import Form


def invalid(form: Form, response: Any) -> str | None:
    """What makes a response to these questions invalid by the wire format."""
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


def answers_of(response: Any) -> dict:
    """Answers by question, as far as there are any."""
    answers = response.get("answers") if isinstance(response, dict) else None
    return answers if isinstance(answers, dict) else {}


def read_answer(kind: str, keys: tuple[str, ...], answer: Any) -> tuple[int | str, list[float]]:
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
