"""A board of runs: scored run directories and published figures of one edition, ranked."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engines.run_dir import read_json
from scoring import index, stats
from scoring.errors import ScoreError
from scoring.report import SCORES
from scoring.stats import Interval


@dataclass(frozen=True)
class Entrant:
    """One line of a board; index and other scores in points.

    rank: by the published tie rule. rank_by_interval: among the runs that have an interval. complete: all requests of the
    edition have a result; None for published figures.
    """

    name: str
    index: float
    rank: int
    tied: bool
    raw_index: float | None = None
    breadth: float | None = None
    coverage: float | None = None
    interval: Interval | None = None
    rank_by_interval: int | None = None
    complete: bool | None = None
    median_ms: float | None = None


@dataclass(frozen=True)
class Board:
    """Entrants by rank."""

    edition: str
    entrants: list[Entrant]


def build_board(runs: list[Path], published: Path | None = None) -> Board:
    """Rank runs by their scores.json.

    Args:
        published: a JSON file with `edition` and `entrants`: key -> `name` and `scores` or `public_index`.

    Raises:
        ScoreError: a run is not scored, or scored under another edition than the others.
    """
    scored = {run.name: _scores(run) for run in runs}
    if len(scored) < len(runs):
        raise ScoreError("two runs have the same folder name; rename one")
    figures = _published(published) if published else {}
    editions = {name: document.get("edition", "0.1") for name, document in (scored | figures).items()}
    if len(set(editions.values())) > 1:
        named = ", ".join(f"{name} ({edition})" for name, edition in editions.items())
        raise ScoreError(f"scored under different editions: {named}; score them again with --edition")
    entrants = {name: _of_run(document) for name, document in scored.items()}
    entrants |= {name: document["entrant"] for name, document in figures.items()}
    indexes = {name: entrant["index"] for name, entrant in entrants.items()}
    bounds = {name: (indexes[name], own["interval"]) for name, own in entrants.items() if own.get("interval")}
    by_interval = {place.name: place.rank for place in stats.ranks_by_interval(bounds)}
    return Board(
        next(iter(editions.values())),
        [
            Entrant(place.name, rank=place.rank, tied=place.tied, rank_by_interval=by_interval.get(place.name), **entrants[place.name])
            for place in index.ranks(indexes)
        ],
    )


def _scores(run: Path) -> dict[str, Any]:
    document = read_json(run / SCORES)
    if document is None:
        raise ScoreError(f"{run} is not scored; run `di-tui score {run}`")
    return document


def _of_run(document: dict[str, Any]) -> dict[str, Any]:
    bounds = document.get("interval", {}).get("balanced_raw" if "edition" not in document else "balanced_skill")
    areas = document["areas"]
    return {
        "index": document["decision_index"],
        "raw_index": document["scores"]["balanced_raw"],
        "breadth": document["scores"]["breadth_skill"],
        "coverage": sum(area["coverage"] for area in areas) / len(areas),
        "interval": Interval(*bounds) if bounds else None,
        "complete": document["complete"],
        "median_ms": document["latency_ms"]["median"],
    }


def _published(path: Path) -> dict[str, dict[str, Any]]:
    document = read_json(path)
    try:
        return {
            f"{entrant['name']} (published)": {"edition": document["edition"], "entrant": _of_figures(entrant)}
            for entrant in document["entrants"].values()
        }
    except (TypeError, KeyError, AttributeError) as error:
        raise ScoreError(f"{path} is no file of board figures ({error} is missing)") from None


def _of_figures(entrant: dict[str, Any]) -> dict[str, Any]:
    scores = entrant.get("scores", {})
    figures = {"raw_index": scores.get("balanced_raw"), "breadth": scores.get("breadth_skill")}
    return {"index": scores["balanced_skill"] if scores else entrant["public_index"], **figures}
