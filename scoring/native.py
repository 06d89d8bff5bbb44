"""The native report: one entry of benchmark-summary.json a benchmark, in its own metric, over whole groups only."""

from collections import Counter
from typing import Any

import numpy as np

from scoring import scorers
from scoring.answers import STATUSES
from scoring.benchmarks import Benchmark
from scoring.cases import Sheet
from scoring.metrics import median


def entry(
    catalog_id: int, dataset: str, benchmark: Benchmark, cases: Sheet | None, reference: Sheet | None = None
) -> dict[str, Any]:
    """The entry of one benchmark.

    Args:
        cases: all cases of the benchmark; None gives an entry with zero counts.
        reference: the same cases as a reference run has answered them.
    """
    codes = np.zeros(0, int) if cases is None else cases.status
    statuses = Counter(dict(zip(STATUSES, np.bincount(codes, minlength=len(STATUSES)).tolist(), strict=True)))
    scored = cases.select(cases.whole) if cases else None
    report = {
        "catalog_id": catalog_id,
        "dataset": dataset,
        "requests": statuses.total(),
        "answered": statuses["ok"],
        "unsupported": statuses["unsupported"],
        "errors": statuses["error"],
        "abstained": statuses["abstained"],
        "pending": statuses["pending"],
        "scored_requests": len(scored or ()),
        "metric": benchmark.metric if scored or benchmark.added else None,
        "score": _score(benchmark, scored),
        "median_ms": median(cases.wall_ms.tolist()) if cases else None,
    }
    if reference is not None or not benchmark.added:
        report["reference_same_cases"] = _reference_score(benchmark, cases, reference)
    return report | (_added_parts(benchmark, cases, scored) if benchmark.added else _base_parts(benchmark, scored))


def _score(benchmark: Benchmark, scored: Sheet | None) -> float | None:
    estimator = benchmark.score(scored) if scored else None
    return estimator and estimator.value()


def _reference_score(benchmark: Benchmark, cases: Sheet | None, reference: Sheet | None) -> float | None:
    """The primary value of the reference on the scored cases; None unless it has answered all of them."""
    if not cases or not reference or not reference.whole[cases.whole].all():
        return None
    return _score(benchmark, reference.select(cases.whole))


def _base_parts(benchmark: Benchmark, scored: Sheet | None) -> dict[str, Any]:
    if not scored:
        return {}
    parts, tracks = {}, np.array(scored.tracks)
    names = sorted(set(scored.tracks))
    if len(names) > 1:
        parts["tracks"] = {name: _track(benchmark, scored.select(tracks == name)) for name in names}
    parts["detail"] = _detail(benchmark, scored)
    return parts


def _track(benchmark: Benchmark, scored: Sheet) -> dict[str, Any]:
    return {"metric": benchmark.metric, "score": _score(benchmark, scored), "scored_requests": len(scored)}


def _detail(benchmark: Benchmark, scored: Sheet) -> dict[str, Any]:
    accuracies = {
        "field_accuracy": scorers.accuracy(scored).value() if benchmark.by_field else None,
        "case_exact_accuracy": scorers.case_exact_accuracy(scored).value() if benchmark.by_field else None,
    }
    details = {name: scorer(scored) for name, scorer in benchmark.details.items()}
    return {**accuracies, **details, "custom_metrics": benchmark.custom(scored)}


def _added_parts(benchmark: Benchmark, cases: Sheet | None, scored: Sheet | None) -> dict[str, Any]:
    return {
        "detail": {
            "field_accuracy": scorers.accuracy(scored).value() if scored else None,
            "scored_fields": len(scored.fields) if scored else 0,
            "chance_on_rows": benchmark.chance_on_rows(cases) if cases else None,
        }
    }
