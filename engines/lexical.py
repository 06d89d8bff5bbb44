"""A baseline without a model: options ranked by BM25 between what is asked and what the option says.

It reads words, not meaning. It shows what plain word overlap is worth on a benchmark, and runs anywhere at once.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from engines import wire
from engines.base import Engine

WORD = re.compile(r"\w+")


class LexicalEngine(Engine):
    """BM25 (Robertson and Zaragoza, 2009) with the options of a question as documents and state and instructions as query.

    Probabilities are the softmax of the scores. k1 and b are the usual BM25 parameters; `temperature` divides the scores.
    """

    def __init__(self, k1: float = 1.2, b: float = 0.75, temperature: float = 1.0):
        self.k1 = k1
        self.b = b
        self.temperature = temperature

    def __call__(self, state: Any, questions: Mapping[str, Mapping]) -> tuple[dict, Any]:
        state_words = words(state)
        answers = {}
        for name, question in questions.items():
            documents = [words(option.key) + words(option.description) for option in wire.options(question)]
            query = state_words + words(question.get("instructions"))
            scores = bm25(query, documents, self.k1, self.b)
            answers[name] = wire.answer(question, softmax(scores, self.temperature))
        return {"model": "lexical", "answers": answers, "usage": {"input_tokens": len(state_words)}}, None

    def identity(self) -> dict[str, Any]:
        return {"k1": self.k1, "b": self.b, "temperature": self.temperature}


def words(value: Any) -> list[str]:
    """Lower-case words of a text or of the JSON text of any other value; identifiers split at underscores."""
    if value is None:
        return []
    text = value if isinstance(value, str) else wire.compact_json(value)
    return WORD.findall(text.lower().replace("_", " "))


def bm25(query: Sequence[str], documents: Sequence[Sequence[str]], k1: float, b: float) -> list[float]:
    """BM25 score of every document for a query; each distinct query word counts once.

    idf(w) = ln(1 + (N - n + 0.5) / (n + 0.5)), N documents of which n hold w.
    """
    mean_length = sum(map(len, documents)) / len(documents) or 1.0
    counts = [Counter(document) for document in documents]
    containing = Counter(word for count in counts for word in count)
    # Summed in the order of the query: the order of a set would change the last digit from process to process.
    asked = [word for word in dict.fromkeys(query) if word in containing]
    idf = {word: math.log(1 + (len(documents) - containing[word] + 0.5) / (containing[word] + 0.5)) for word in asked}
    return [
        sum(
            idf[word] * count[word] * (k1 + 1) / (count[word] + k1 * (1 - b + b * len(document) / mean_length))
            for word in asked
            if word in count
        )
        for count, document in zip(counts, documents, strict=True)
    ]


def softmax(scores: Sequence[float], temperature: float = 1.0) -> list[float]:
    """Probabilities in proportion to exp(score / temperature)."""
    top = max(scores)
    weights = [math.exp((score - top) / temperature) for score in scores]
    total = sum(weights)
    return [weight / total for weight in weights]
