"""The floor of every comparison: uniform random answers, the same for the same request and seed."""

import hashlib
import random
from collections.abc import Mapping
from typing import Any

from engines import wire
from engines.base import Engine


class RandomEngine(Engine):
    """Chooses uniformly. Probabilities are random too (normalised uniform draws), so the choice is the most probable option.

    The draw is seeded by the request itself, so order, batches and resumed runs do not change an answer.
    """

    def __init__(self, seed: int = 0):
        self.seed = seed

    def __call__(self, state: Any, questions: Mapping[str, Mapping]) -> tuple[dict, Any]:
        text = wire.compact_json([self.seed, state, questions])
        generator = random.Random(hashlib.sha256(text.encode()).digest())
        answers = {}
        for name, question in questions.items():
            draws = [1 - generator.random() for _ in wire.options(question)]
            answers[name] = wire.answer(question, [draw / sum(draws) for draw in draws])
        return {"model": "random", "answers": answers, "usage": {"input_tokens": 0}}, None

    def identity(self) -> dict[str, Any]:
        return {"seed": self.seed}
