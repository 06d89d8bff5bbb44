"""Whether probabilities mean what they say: functions on confidences and on whether the answers were right.

Confidence is the probability that an engine gave to the option it chose. Unanswered fields have none: they are left out
of calibration errors, and at a threshold they are handed off.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from scoring.answers import OK
from scoring.benchmarks import BRIER
from scoring.cases import Sheet
from scoring.editions import Edition

BINS = 10
THRESHOLDS = (0.5, 0.7, 0.8, 0.9, 0.95)


def brier(p_gold: np.ndarray, p_squares: np.ndarray) -> float | None:
    """Mean multiclass Brier score (Brier, 1950): the sum over options of (p - y)^2, 0 to 2, lower is better.

    Args:
        p_gold: probability of the right option. p_squares: sum of squares of the probabilities of all options.
    """
    return _mean(p_squares - 2 * p_gold + 1)


def bins(confidence: np.ndarray, right: np.ndarray, count: int = BINS) -> list[dict[str, Any]]:
    """Reliability table: for each of `count` bins of equal width how many answers it has, how sure they were on average and
    how many were right. A bin holds its upper bound and not its lower one; the first holds 0 too (Guo et al., 2017)."""
    bounds = np.arange(count + 1) / count
    place = np.searchsorted(bounds[1:-1], confidence, side="left")
    table = []
    for number in range(count):
        own = place == number
        share = {"confidence": _mean(confidence[own]), "accuracy": _mean(right[own])}
        table.append({"from": bounds[number].item(), "to": bounds[number + 1].item(), "n": int(own.sum()), **share})
    return table


def expected_calibration_error(table: Sequence[dict[str, Any]]) -> float | None:
    """ECE of a reliability table (Naeini et al., 2015): mean over answers of |accuracy - confidence| of their bin."""
    total = sum(row["n"] for row in table)
    return sum(row["n"] * abs(row["accuracy"] - row["confidence"]) for row in table if row["n"]) / total if total else None


def at_threshold(confidence: np.ndarray, right: np.ndarray, fields: int, threshold: float) -> dict[str, Any]:
    """Selective answering: an answer is taken when its confidence is at least the threshold, else handed off.

    coverage: share of all `fields` that is taken. accuracy: share of right ones among them. net_value: mean over all fields
    of 1 for a right answer taken, -t / (1 - t) for a wrong one, 0 for one handed off.
    """
    taken = confidence >= threshold
    exact = Fraction(str(threshold))
    cost = float(exact / (1 - exact))
    hits, misses = int((taken & right).sum()), int((taken & ~right).sum())
    return {
        "threshold": threshold,
        "coverage": (hits + misses) / fields if fields else None,
        "accuracy": hits / (hits + misses) if hits + misses else None,
        "net_value": (hits - cost * misses) / fields if fields else None,
    }


def of_run(sheets: Mapping[int, Sheet], rules: Edition, count: int = BINS) -> dict[str, Any]:
    """Calibration of every benchmark whose fields are right or wrong, and of all their fields together (`overall`)."""
    columns = {
        catalog_id: _columns(sheet)
        for catalog_id, sheet in sheets.items()
        if rules.benchmark(catalog_id).by_field or rules.benchmark(catalog_id).metric == BRIER
    }
    if not columns:
        return {"bins": count, "overall": None, "benchmarks": {}}
    *pooled, fields = zip(*columns.values(), strict=True)
    return {
        "bins": count,
        "overall": report(*map(np.concatenate, pooled), sum(fields), count),
        "benchmarks": {str(catalog_id): report(*own, count) for catalog_id, own in columns.items()},
    }


def _columns(cases: Sheet) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
    """Arguments of `report`: of the fields that were answered with a probability, and how many there are in all."""
    answers = cases.cases.answers
    confidence, p_gold = answers.p_prediction[cases.fields], answers.p_gold[cases.fields]
    told = (cases.status == OK)[cases.request] & ~np.isnan(confidence) & ~np.isnan(p_gold)
    squares = answers.p_squares[cases.fields]
    return confidence[told], cases.hit[told], p_gold[told], squares[told], len(cases.fields)


def report(
    confidence: np.ndarray, right: np.ndarray, p_gold: np.ndarray, p_squares: np.ndarray, fields: int, count: int = BINS
) -> dict[str, Any]:
    """All of it for one set of answered fields.

    Args:
        fields: how many there are, with the unanswered ones.
    """
    table = bins(confidence, right, count)
    return {
        "fields": fields,
        "answered": len(confidence),
        "accuracy": _mean(right),
        "confidence": _mean(confidence),
        "ece": expected_calibration_error(table),
        "brier": brier(p_gold, p_squares),
        "reliability": table,
        "thresholds": [at_threshold(confidence, right, fields, threshold) for threshold in THRESHOLDS],
    }


def _mean(values: np.ndarray) -> float | None:
    return float(values.mean()) if len(values) else None
