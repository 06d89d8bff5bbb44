"""The content of the three score files, with their published keys and rounding. Knows nothing of rows or of disks."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from scoring import index, metrics
from scoring.answers import OK, PENDING, STATUSES, Answers
from scoring.benchmarks import DEFAULT_TRACKS, TRACKS
from scoring.cases import Sheet
from scoring.editions import Edition
from scoring.estimates import Estimate, exact
from scoring.index import AreaValue, Index, Value
from scoring.stats import LEVEL, SEED, Interval, Intervals

SHA256_KEYS = {"selected-rows": "rows_sha256", "added-rows": "added_sha256", "gsm8k-rows": "gsm8k_sha256"}
NOTE = "Unanswered requests count as wrong. Values are shares of 1, index values points out of 100."


def summary(edition: Edition, engine: str, answers: Answers, entries: list[dict]) -> dict[str, Any]:
    """benchmark-summary.json: native reports, nothing rounded. Counts and latency are of the whole results file."""
    return {
        "engine": engine,
        **_edition_key(edition),
        "counts": dict(_own_counts(answers) + answers.others.counts),
        "successful_request_latency_ms": latency(answers),
        "benchmarks": entries,
    }


def _own_counts(answers: Answers) -> Counter[str]:
    """Results of the edition's requests by status."""
    codes, counts = np.unique(answers.status[answers.status != PENDING], return_counts=True)
    return Counter({STATUSES[code]: count for code, count in zip(codes.tolist(), counts.tolist(), strict=True)})


def latency(answers: Answers) -> dict[str, float | None]:
    """Median, p95 and mean milliseconds of all ok results that tell them."""
    own = answers.wall_ms[(answers.status == OK) & ~np.isnan(answers.wall_ms)]
    times = np.sort(np.concatenate([own, answers.others.times])).tolist()
    return {"median": metrics.median(times), "p95": metrics.p95(times), "mean": metrics.mean(times)}


def _edition_key(edition: Edition) -> dict[str, str]:
    return {} if edition.format == 1 else {"edition": edition.id}


def index_document(
    edition: Edition, values: Mapping[int, Value], built: Index, estimates: Mapping[int, Estimate]
) -> dict[str, Any]:
    """index.json, rounded: 4 decimals, scores 2."""
    scores = _rounded_scores(built)
    document = {
        **_edition_key(edition),
        "panel_id": edition.panel_id,
        "index": scores[edition.headline],
        **({} if edition.format == 1 else {"raw_index": scores["balanced_raw"]}),
        "scores": scores,
        "areas": [_area(edition, area) for area in built.areas],
        "benchmarks": {str(catalog_id): _benchmark(edition, catalog_id, value) for catalog_id, value in values.items()},
        "coverage": round(built.mean("coverage"), 4),
    }
    if edition.frozen_panel:
        document["pending"] = round(built.mean("pending"), 4)
        document["frozen_panel"] = _frozen_panel(edition, estimates)
    return document


def _rounded_scores(built: Index) -> dict[str, float]:
    return {name: round(value, 2) for name, value in built.scores.items()}


def _area(edition: Edition, value: AreaValue) -> dict[str, Any]:
    members = value.area.benchmarks
    return {
        "id": value.area.id,
        "label": value.area.label,
        **_shares(edition, value),
        "n": len(members),
        "benchmarks": list(members),
    }


def _shares(edition: Edition, value: Value | AreaValue) -> dict[str, float]:
    names = ("raw", "skill", "coverage", "pending") if edition.format == 1 else ("raw", "skill", "coverage")
    return {name: round(getattr(value, name), 4) for name in names}


def _benchmark(edition: Edition, catalog_id: int, value: Value) -> dict[str, Any]:
    counts = catalog_id in edition.panel
    tracks = {} if value.tracks is None else {"tracks": value.tracks}
    return {
        **_shares(edition, value),
        "random": None if value.chance is None else round(value.chance, 4),
        **({} if edition.format == 1 else {"rule": value.rule if counts else "shown, not counted"}),
        **tracks,
        "in_index": counts,
    }


def _frozen_panel(edition: Edition, estimates: Mapping[int, Estimate]) -> dict[str, Any]:
    """The panel of 25, where every benchmark keeps its mean over tracks and the interactive ones are pending."""
    scores = {catalog_id: estimate.tracks for catalog_id, estimate in estimates.items()}
    values = {
        catalog_id: index.track_value(
            scores[catalog_id].without_headline().values(exact) if scores.get(catalog_id) else None, is_rounded=False
        )
        for area in edition.frozen_panel
        for catalog_id in area.benchmarks
    }
    areas = tuple(index.area_value(area, values, [1.0] * len(area.benchmarks)) for area in edition.frozen_panel)
    built = Index(areas, index.index_scores(areas, [1 / len(areas)] * len(areas)))
    return {
        "scores": _rounded_scores(built),
        "categories": [{"id": area.area.id} | _shares(edition, area) for area in areas],
        "coverage": round(built.mean("coverage"), 4),
        "pending": round(built.mean("pending"), 4),
    }


def scores_document(
    edition: Edition,
    summary: dict,
    answers: Answers,
    entries: list[dict],
    values: Mapping[int, Value],
    indexed: dict,
) -> dict[str, Any]:
    """scores.json: everything a reader of one file wants, rounded.

    Args:
        summary: the content of benchmark-summary.json. entries: native reports, also of benchmarks without rows.
        values: what benchmarks bring to the index. indexed: the content of index.json.
    """
    published = edition.published
    counts = _own_counts(answers) + (answers.others.counts if edition.format == 1 else Counter())
    return {
        "engine": summary["engine"],
        **_edition_key(edition),
        "suite": _suite(edition),
        "completed": counts.total(),
        "complete": counts.total() >= published.scoreable + published.added_requests,
        "counts": dict(counts),
        "latency_ms": {name: _rounded(value, 1) for name, value in summary["successful_request_latency_ms"].items()},
        "decision_index": indexed["index"],
        **{key: indexed[key] for key in ("raw_index", "scores", "areas") if key in indexed},
        "index_benchmarks": indexed["benchmarks"],
        "benchmarks": {
            str(entry["catalog_id"]): _entry(edition, entry, values.get(entry["catalog_id"])) for entry in entries
        },
        **({"frozen_panel": indexed["frozen_panel"]} if edition.frozen_panel else {}),
        "panel_id": edition.panel_id,
        "note": NOTE,
    }


def _suite(edition: Edition) -> dict[str, Any]:
    """The published constants of the edition's rows."""
    published = edition.published
    constants = {
        "requests": published.requests,
        "scoreable": published.scoreable,
        "excluded": published.excluded,
        "benchmarks": published.benchmarks,
    }
    if edition.format == 1:
        return {**constants, "rows_sha256": published.files["selected-rows"].gz_sha256}
    return {
        "edition": published.release,
        **constants,
        "added_requests": published.added_requests,
        **{SHA256_KEYS[stem]: file.sha256 for stem, file in published.files.items()},
    }


def _entry(edition: Edition, entry: dict, value: Value | None) -> dict[str, Any]:
    """A native report as scores.json shows it, with what the benchmark brings to the index."""
    catalog_id = entry["catalog_id"]
    shown = {key: _rounded(number, 1 if key == "median_ms" else 4) for key, number in entry.items() if key != "detail"}
    if value is None:
        return {**shown, "in_index": False}
    metric = TRACKS.get(catalog_id, DEFAULT_TRACKS).headline_metric
    if metric:
        shown |= {"metric": metric, "score": round(value.raw, 4)}
    if value.tracks and (metric or edition.format > 1):
        shown["tracks"] = value.tracks
    if metric and edition.format == 1:
        shown["answered"] = round(value.coverage * entry["requests"])
    if edition.format > 1:
        indexed = _benchmark(edition, catalog_id, value)
        shown |= {"index_raw": indexed["raw"], "index_skill": indexed["skill"]}
        shown |= {"coverage": indexed["coverage"], "chance": indexed["random"]}
    return {**shown, "in_index": catalog_id in edition.panel}


def _rounded(value: Any, digits: int) -> Any:
    return round(value, digits) if isinstance(value, float) else value


# What this project adds to scores.json


def add_chance_on_rows(
    scores: dict[str, Any], edition: Edition, sheets: Mapping[int, Sheet], estimates: Mapping[int, Estimate]
) -> None:
    """The chance level that the rows give, beside the published one."""
    for catalog_id, sheet in sheets.items():
        level = estimates[catalog_id].chance_on_rows() if catalog_id in estimates else None
        level = edition.benchmark(catalog_id).chance_on_rows(sheet) if level is None else level
        scores["benchmarks"][str(catalog_id)]["chance_on_rows"] = _rounded(level, 4)


def add_intervals(scores: dict[str, Any], intervals: Intervals, draws: int) -> None:
    """Bounds beside every value of benchmarks, areas and scores."""
    for catalog_id, bounds in intervals.benchmarks.items():
        scores["benchmarks"][str(catalog_id)]["interval"] = _bounds(bounds, 4)
    for area in scores["areas"]:
        area["interval"] = _bounds(intervals.areas[area["id"]], 4)
    scores["interval"] = {"level": LEVEL, "draws": draws, "seed": SEED, **_bounds(intervals.scores, 2)}


def _bounds(intervals: Mapping[str, Interval], digits: int) -> dict[str, list[float]]:
    return {name: [round(bound, digits) for bound in interval] for name, interval in intervals.items()}
