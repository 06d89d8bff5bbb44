"""The native report: one entry of benchmark-summary.json a benchmark, in its own metric, over whole groups only."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from scoring import scorers
from scoring.benchmarks import Benchmark
from scoring.cases import OK, Case
from scoring.metrics import median


def entry(
    catalog_id: int,
    dataset: str,
    benchmark: Benchmark,
    cases: Sequence[Case],
    reference: Mapping[str, Case] | None = None,
) -> dict[str, Any]:
    """The entry of one benchmark.

    Args:
        cases: all cases of the benchmark; none gives an entry with zero counts.
        reference: run id -> case of a reference run over the same rows.
    """
    statuses = Counter(case.status for case in cases)
    times = [case.wall_ms for case in cases if case.status == OK and case.wall_ms is not None]
    scored = [case for case in cases if case.whole]
    report = {
        "catalog_id": catalog_id,
        "dataset": dataset,
        "requests": len(cases),
        "answered": statuses[OK],
        "unsupported": statuses["unsupported"],
        "errors": statuses["error"],
        "abstained": statuses["abstained"],
        "pending": statuses["pending"],
        "scored_requests": len(scored),
        "metric": benchmark.metric if scored or benchmark.added else None,
        "score": benchmark.score(scored) if scored else None,
        "median_ms": median(times),
    }
    if reference is not None or not benchmark.added:
        report["reference_same_cases"] = _reference_score(benchmark, scored, reference or {})
    return report | (_added_parts(benchmark, cases, scored) if benchmark.added else _base_parts(benchmark, scored))


def _reference_score(benchmark: Benchmark, scored: Sequence[Case], reference: Mapping[str, Case]) -> float | None:
    """The primary value of the reference on the same cases; None unless it has answered all of them."""
    same = [reference[case.run_id] for case in scored if case.run_id in reference]
    if not same or len(same) < len(scored) or not all(case.whole for case in same):
        return None
    return benchmark.score(same)


def _base_parts(benchmark: Benchmark, scored: Sequence[Case]) -> dict[str, Any]:
    parts = {}
    by_track = defaultdict(list)
    for case in scored:
        by_track[case.track].append(case)
    if len(by_track) > 1:
        parts["tracks"] = {track: _track(benchmark, by_track[track]) for track in sorted(by_track)}
    if scored:
        parts["detail"] = _detail(benchmark, scored)
    return parts


def _track(benchmark: Benchmark, scored: Sequence[Case]) -> dict[str, Any]:
    return {"metric": benchmark.metric, "score": benchmark.score(scored), "scored_requests": len(scored)}


def _detail(benchmark: Benchmark, scored: Sequence[Case]) -> dict[str, Any]:
    accuracies = {
        "field_accuracy": scorers.accuracy(scored) if benchmark.by_field else None,
        "case_exact_accuracy": scorers.case_exact_accuracy(scored) if benchmark.by_field else None,
    }
    details = {name: scorer(scored) for name, scorer in benchmark.details.items()}
    return {**accuracies, **details, "custom_metrics": benchmark.custom(scored)}


def _added_parts(benchmark: Benchmark, cases: Sequence[Case], scored: Sequence[Case]) -> dict[str, Any]:
    return {
        "detail": {
            "field_accuracy": scorers.accuracy(scored),
            "scored_fields": sum(1 for _field in scorers.fields(scored)),
            "chance_on_rows": benchmark.chance(cases),
        }
    }
