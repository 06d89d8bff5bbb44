"""Fitted temperatures: what an engine's author found to divide log-probabilities by, for each type of question."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from engines import wire
from engines.base import EngineError
from engines.lexical import softmax


class Temperatures:
    """One temperature for all types of question, or for some of them their own.

    Raises:
        EngineError: one of them is not a number above 0.
    """

    def __init__(
        self, general: float = 1.0, choice: float | None = None, noul: float | None = None, score: float | None = None
    ):
        own = {"choice": choice, "noul": noul, "score": score}
        self.by_type = {kind: general if value is None else value for kind, value in own.items()}
        if not all(0 < value < math.inf for value in self.by_type.values()):
            raise EngineError("a temperature must be a number above 0")

    def answer(self, question: Mapping, log_probabilities: Sequence[float] | None) -> dict[str, Any]:
        """The wire answer of a question: the softmax over its options' log-probabilities, taken once. None stands for those
        of a question with one option, which is certain."""
        if log_probabilities is None:
            return wire.answer(question, [1.0])
        return wire.answer(question, softmax(log_probabilities, self.by_type[question["type"]]))
