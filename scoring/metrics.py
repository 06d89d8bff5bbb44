"""Pure functions on numbers and labels: what one metric is. They know nothing of rows, benchmarks or files.

The formulas are those of the published scoring rules of the Decision Index unless a docstring names another source.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import compress
from operator import add, eq, neg, truediv
from typing import TypeVar

import numpy as np

Number = TypeVar("Number", float, np.ndarray)

TOP = 10
DISCOUNTS = [math.log2(position + 1) for position in range(1, TOP + 1)]
LOG_LOSS_MARGIN = 1e-15
UTILITY_TOLERANCE = 1e-12


def mean(values: Iterable[float]) -> float | None:
    """Arithmetic mean, the exact sum rounded once (a plain sum can change a digit shown); None without values."""
    if isinstance(values, np.ndarray):
        if values.dtype == bool and len(values):
            return int(values.sum()) / len(values)
        values = values.tolist()
    values = list(values)
    if not values:
        return None
    parts = [math.fsum(values)]
    while math.isfinite(parts[0]) and (rest := math.fsum([*values, *map(neg, parts)])):
        parts.append(rest)
    return parts[0] / len(values) if len(parts) == 1 else float(sum(map(Fraction, parts)) / len(values))


def macro_mean(values: Iterable[float], clusters: Iterable[Hashable]) -> float | None:
    """Mean over clusters of the mean inside each, so that a cluster counts once however large; None without values."""
    members = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        members[cluster].append(value)
    return mean(map(mean, members.values()))


def weighted_mean(values: Sequence[float], weights: Sequence[float]) -> float:
    """Weights are made shares of 1 first, then multiplied and added from left to right: the published order. It decides
    fourth decimals, and neither `math.fsum` nor `sum` (compensated since Python 3.12) gives the same ones."""
    total = reduce(add, weights)
    return reduce(add, (weight / total * value for value, weight in zip(values, weights, strict=True)))


# Numbers, or arrays of draws.


def clip(value: Number) -> Number:
    """The nearest number in [0, 1]."""
    return np.clip(value, 0.0, 1.0) if isinstance(value, np.ndarray) else min(1.0, max(0.0, value))


def rounded(value: Number, digits: int = 4) -> Number:
    """Rounded to decimals, halves to even."""
    return np.round(value, digits) if isinstance(value, np.ndarray) else round(value, digits)


def skill(raw: Number, chance: Number) -> Number:
    """What is gained over chance as a share of what can be: (raw - chance) / (1 - chance), clipped to [0, 1]; 0 where
    chance is 1."""
    if isinstance(chance, np.ndarray):
        return clip((raw - chance) / np.where(chance < 1, 1 - chance, np.inf))
    return clip((raw - chance) / (1 - chance)) if chance < 1 else 0.0


def known(value: Number | None, otherwise: Number = 0.0) -> Number:
    """A number, or what stands for one that is not there (None, or nan in an array)."""
    if isinstance(value, np.ndarray):
        return np.where(np.isnan(value), otherwise, value)
    return otherwise if value is None else value


def middle(values: Sequence[Number]) -> Number:
    """Plain mean of a few numbers, or of arrays draw by draw over those that are not nan."""
    if not isinstance(values[0], np.ndarray):
        return mean(values)
    known = ~np.isnan(values)
    return np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


def median(values: Sequence[float]) -> float | None:
    """Middle value, or the mean of the middle two; None without values."""
    return statistics.median(values) if len(values) else None


def p95(values: Sequence[float]) -> float | None:
    """Element int(0.95 (n - 1)) of the sorted values, so one that occurs; None without values."""
    return sorted(values)[int(0.95 * (len(values) - 1))] if len(values) else None


# F1 (van Rijsbergen, 1979): 2 TP / (2 TP + FP + FN)


def label_f1(
    gold: Sequence[Hashable], predicted: Sequence[Hashable], labels: Iterable[Hashable], missing: int = 0
) -> list[float]:
    """F1 of each of `labels`, in order; 0 where the denominator is 0.

    Args:
        gold, predicted: labels of the answered fields, paired.
        missing: unanswered fields. They join every label's denominator, since each could have been that label.
    """
    hits = Counter(compress(gold, map(eq, gold, predicted)))
    seen = Counter(gold) + Counter(predicted)
    return [2 * hits[label] / (seen[label] + missing) if seen[label] + missing else 0.0 for label in labels]


def macro_f1(gold: Sequence[Hashable], predicted: Sequence[Hashable]) -> float | None:
    """Mean F1 over the labels that occur in gold or predictions; None without fields."""
    return mean(label_f1(gold, predicted, dict.fromkeys([*gold, *predicted])))


def conservative_macro_f1(
    gold: Sequence[Hashable], predicted: Sequence[Hashable], labels: Iterable[Hashable], missing: int
) -> float | None:
    """Mean over a fixed set of labels of F1 with `missing` unanswered fields (see `label_f1`)."""
    return mean(label_f1(gold, predicted, labels, missing))


def binary_f1(gold: Sequence[Hashable], predicted: Sequence[Hashable], positive: Hashable, missing: int = 0) -> float:
    """F1 of one label."""
    return label_f1(gold, predicted, [positive], missing)[0]


def review_f1(gold: Sequence[Hashable], predicted: Sequence[Hashable], positive: Hashable) -> float:
    """F1 of `positive` over the fields of one review; 1 when neither gold nor predictions have any."""
    if positive not in gold and positive not in predicted:
        return 1.0
    return binary_f1(gold, predicted, positive)


# Rankings. `qrels` maps a document id to its relevance (0 or absent: not relevant).


def rank(probabilities: Mapping[str, float], documents: Iterable[str]) -> list[str]:
    """Documents by probability descending, then by id ascending; a document without a probability has 0."""
    return sorted(sorted(documents), key=defaultdict(float, probabilities).__getitem__, reverse=True)


def ndcg(ranking: Sequence[str], qrels: Mapping[str, float]) -> float | None:
    """nDCG@10 (Järvelin and Kekäläinen, 2002; gain 2^rel - 1, discount log2(rank + 1)) against the best order of all
    judged documents; None when nothing is relevant."""
    ideal = _ideal_dcg(qrels)
    return _dcg(_gain(qrels, document) for document in ranking[:TOP]) / ideal if ideal else None


def expected_ndcg(documents: Sequence[str], qrels: Mapping[str, float]) -> float:
    """Expected nDCG@10 of a random order of `documents`: mean gain times the sum of discounts, over the ideal DCG;
    0 when nothing is relevant."""
    ideal = _ideal_dcg(qrels)
    if not ideal or not documents:
        return 0.0
    gain = mean(_gain(qrels, document) for document in documents)
    return gain * _dcg([1] * len(documents[:TOP])) / ideal


def _gain(qrels: Mapping[str, float], document: str) -> float:
    return 2 ** qrels.get(document, 0) - 1


def _dcg(gains: Iterable[float]) -> float:
    return sum(map(truediv, gains, DISCOUNTS))


def _ideal_dcg(qrels: Mapping[str, float]) -> float:
    return _dcg(2**relevance - 1 for relevance in sorted(qrels.values(), reverse=True)[:TOP])


def relevant(documents: Iterable[str], qrels: Mapping[str, float]) -> int:
    """How many of the documents have a relevance above 0."""
    return sum(qrels.get(document, 0) > 0 for document in documents)


def reciprocal_rank(ranking: Sequence[str], qrels: Mapping[str, float]) -> float:
    """1 over the rank of the first relevant document, 0 when none is."""
    return next((1 / position for position, document in enumerate(ranking, start=1) if qrels.get(document, 0) > 0), 0.0)


def recall(documents: Iterable[str], qrels: Mapping[str, float]) -> float | None:
    """Share of all relevant documents that are among `documents`; None when nothing is relevant."""
    total = relevant(qrels, qrels)
    return relevant(documents, qrels) / total if total else None


def retrieval_probabilities(retrieved: Sequence[str]) -> dict[str, float]:
    """The order of a first-stage retriever as probabilities: 1 - i / (n + 1) for the i-th of n, i from 0."""
    return {document: 1 - place / (len(retrieved) + 1) for place, document in enumerate(retrieved)}


# Forecasts: probability of yes, and whether it came true.


def brier(probability: float, happened: bool) -> float:
    """Squared error of a forecast (Brier, 1950, for two outcomes); lower is better."""
    return (probability - happened) ** 2


def log_loss(probability: float, happened: bool) -> float:
    """Negative logarithm of what the forecast gave to the outcome, the probability kept in [1e-15, 1 - 1e-15]."""
    kept = min(1 - LOG_LOSS_MARGIN, max(LOG_LOSS_MARGIN, probability))
    return -math.log(kept if happened else 1 - kept)


# Choices with outcomes.


def routing(outcomes: Mapping[str, Mapping[str, float]], chosen: str, penalty: float) -> dict[str, float]:
    """What routing to `chosen` gives: its numbers, its utility (quality less `penalty` per dollar of cost), whether no
    option beats it by 1e-12, and the regret."""
    utilities = {key: outcome["quality"] - penalty * outcome["cost_usd"] for key, outcome in outcomes.items()}
    value, best = utilities[chosen], max(utilities.values())
    numbers = {name: number for name, number in outcomes[chosen].items() if isinstance(number, int | float)}
    return {
        **numbers,
        "utility": value,
        "oracle_optimal": abs(best - value) <= UTILITY_TOLERANCE,
        "utility_regret": max(0.0, best - value),
    }


def value_regret(values: Mapping[str, float], chosen: str) -> float:
    """Value of the best option less the value of the chosen one."""
    return max(values.values()) - values[chosen]


def rank_regret(summed_ranks: Mapping[str, float], chosen: str, panel_size: int) -> float:
    """Summed rank of the choice less the lowest one, over the most that it can be: panel_size · (options - 1)."""
    worst = panel_size * (len(summed_ranks) - 1)
    return (summed_ranks[chosen] - min(summed_ranks.values())) / worst if worst else 0.0
