"""The content of the three score files, with their published keys and rounding. Knows nothing of rows or of disks."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from scoring import index, metrics
from scoring.benchmarks import DEFAULT_TRACKS, TRACKS
from scoring.cases import Joined
from scoring.editions import Edition
from scoring.index import AreaValue, Index, Value
from scoring.tracks import TrackScore

NOTE = "Unanswered requests count as wrong. Values are shares of 1, index values points out of 100."


def summary(edition: Edition, engine: str, joined: Joined, entries: list[dict]) -> dict[str, Any]:
    """benchmark-summary.json: native reports, nothing rounded. Counts and latency are of the whole results file."""
    return {
        "engine": engine,
        **_edition_key(edition),
        "counts": dict(Counter(joined.statuses.values())),
        "successful_request_latency_ms": _latency(joined),
        "benchmarks": entries,
    }


def _latency(joined: Joined) -> dict[str, float | None]:
    times = [wall_ms for wall_ms in joined.wall_ms.values() if wall_ms is not None]
    return {"median": metrics.median(times), "p95": metrics.p95(times), "mean": metrics.mean(times)}


def _edition_key(edition: Edition) -> dict[str, str]:
    return {} if edition.format == 1 else {"edition": edition.id}


def index_document(
    edition: Edition, values: Mapping[int, Value], built: Index, track_scores: Mapping[int, TrackScore]
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
        document["frozen_panel"] = _frozen_panel(edition, track_scores)
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


def _frozen_panel(edition: Edition, track_scores: Mapping[int, TrackScore]) -> dict[str, Any]:
    """The panel of 25, where every benchmark keeps its mean over tracks and the interactive ones are pending."""
    members = [catalog_id for area in edition.frozen_panel for catalog_id in area.benchmarks]
    means = {catalog_id: replace(score, headline=None) for catalog_id, score in track_scores.items() if score}
    values = {catalog_id: index.track_value(means.get(catalog_id), rounded=False) for catalog_id in members}
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
    engine: str,
    joined: Joined,
    entries: list[dict],
    values: Mapping[int, Value],
    indexed: dict,
) -> dict[str, Any]:
    """scores.json: everything a reader of one file wants, rounded.

    Args:
        entries: native reports, also of benchmarks without rows.
        values: what benchmarks bring to the index. indexed: the content of index.json.
    """
    published = edition.published
    counted = list(joined.statuses) if edition.format == 1 else joined.counted
    return {
        "engine": engine,
        **_edition_key(edition),
        "suite": _suite(edition),
        "completed": len(counted),
        "complete": len(counted) >= published.scoreable + published.added_requests,
        "counts": dict(Counter(joined.statuses[run_id] for run_id in counted)),
        "latency_ms": {name: _rounded(value, 1) for name, value in _latency(joined).items()},
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
    rows, added = published.files["selected-rows"], published.files.get("added-rows")
    constants = {
        "requests": published.requests,
        "scoreable": published.scoreable,
        "excluded": published.excluded,
        "benchmarks": published.benchmarks,
    }
    if edition.format == 1:
        return {**constants, "rows_sha256": rows.gz_sha256}
    return {
        "edition": published.release,
        **constants,
        "added_requests": published.added_requests,
        "rows_sha256": rows.sha256,
        "added_sha256": added.sha256,
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
