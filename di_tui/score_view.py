"""The values of scores.json as the score browser lists them: areas, their benchmarks, and tracks. Knows no screen."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from scoring.editions import Edition

NOT_COUNTED = "Shown, not counted"
STATUSES = {"ok": "answered", "unsupported": "unsupported", "abstained": "abstained", "error": "errors", "pending": "pending"}

Interval = tuple[float, float]


class Track(NamedTuple):
    """Part of a benchmark. headline: its value stands for the whole. requests: scored ones, None where not told."""

    name: str
    score: float | None
    headline: bool = False
    requests: int | None = None


@dataclass(frozen=True)
class BenchmarkScore:
    """One benchmark that has rows. Values are shares of 1, None where the edition gives none.

    interval: of the measure that the edition's index is made of. score: the native value, in `metric`.
    weight: share of the index, 0 for a benchmark that does not count. counts: requests by status. intervals: of `raw` and
    `skill`.
    """

    catalog_id: int
    dataset: str
    area: str
    gold: bool
    weight: float
    raw: float | None
    chance: float | None
    skill: float | None
    interval: Interval | None
    coverage: float
    counts: dict[str, int]
    metric: str | None
    score: float | None
    median_ms: float | None
    tracks: tuple[Track, ...] = ()
    chance_on_rows: float | None = None
    intervals: dict[str, Interval] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        return sum(self.counts.values())

    @property
    def answered(self) -> int:
        return self.counts["ok"]


@dataclass(frozen=True)
class AreaScore:
    """An area with those of its benchmarks that have rows. of: how many benchmarks it has in all."""

    id: str
    label: str
    benchmarks: tuple[BenchmarkScore, ...]
    of: int
    weight: float = 0.0
    raw: float | None = None
    skill: float | None = None
    coverage: float | None = None
    interval: Interval | None = None


def measure(rules: "Edition") -> str:
    """What the edition's index is made of: `skill`, or `raw` in edition 0.1."""
    return "raw" if rules.headline == "balanced_raw" else "skill"


def index_interval(scores: dict[str, Any], rules: "Edition") -> Interval | None:
    """Bounds of the index, in points; None for scores without resamples."""
    bounds = scores.get("interval")
    return bounds and tuple(bounds[rules.headline])


def area_scores(scores: dict[str, Any], rules: "Edition") -> list[AreaScore]:
    """Areas in the edition's order, then the benchmarks that do not count as an area without values. Areas without any
    benchmark that has rows are left out."""
    values = {area["id"]: area for area in scores["areas"]}
    found = []
    for area, share in zip(rules.areas, rules.shares(), strict=True):
        own, label, weights = values[area.id], area.label or area.id, rules.weights(area)
        shares = {key: share * weight / sum(weights) for key, weight in zip(area.benchmarks, weights, strict=True)}
        found.append(
            AreaScore(
                area.id,
                label,
                _members(scores, rules, label, shares),
                len(area.benchmarks),
                share,
                own["raw"],
                own["skill"],
                own["coverage"],
                _bounds(own).get(measure(rules)),
            )
        )
    rest = {int(key): 0.0 for key in scores["benchmarks"] if int(key) not in rules.panel}
    found.append(AreaScore("rest", NOT_COUNTED, _members(scores, rules, NOT_COUNTED, rest), len(rest)))
    return [area for area in found if area.benchmarks]


def _members(scores: dict[str, Any], rules: "Edition", area: str, weights: dict[int, float]) -> tuple[BenchmarkScore, ...]:
    """Those benchmarks of an area that have rows. weights: catalog id -> share of the index."""
    return tuple(
        _benchmark(scores, rules, catalog_id, area, weight)
        for catalog_id, weight in weights.items()
        if scores["benchmarks"].get(str(catalog_id), {}).get("requests")
    )


def _benchmark(scores: dict[str, Any], rules: "Edition", catalog_id: int, area: str, weight: float) -> BenchmarkScore:
    entry = scores["benchmarks"][str(catalog_id)]
    indexed = scores["index_benchmarks"].get(str(catalog_id), {})
    return BenchmarkScore(
        catalog_id=catalog_id,
        dataset=entry["dataset"],
        area=area,
        gold=catalog_id in rules.gold,
        weight=weight,
        raw=indexed.get("raw", entry["score"]),
        chance=indexed.get("random"),
        skill=indexed.get("skill"),
        interval=_bounds(entry).get(measure(rules)),
        coverage=indexed.get("coverage", entry["answered"] / entry["requests"]),
        counts={status: entry[key] for status, key in STATUSES.items()},
        metric=entry["metric"],
        score=entry["score"],
        median_ms=entry["median_ms"],
        tracks=tuple(_tracks(indexed.get("tracks") or entry.get("tracks") or ())),
        chance_on_rows=entry.get("chance_on_rows"),
        intervals=_bounds(entry),
    )


def _tracks(listed: list[dict] | dict[str, dict]) -> Iterable[Track]:
    """Tracks of the index are a list, those of a native report an object by name."""
    if isinstance(listed, dict):
        return (Track(name, own["score"], requests=own["scored_requests"]) for name, own in listed.items())
    return (Track(own["track"], own["score"], own["headline"]) for own in listed)


def _bounds(entry: dict[str, Any]) -> dict[str, Interval]:
    return {name: tuple(bounds) for name, bounds in entry.get("interval", {}).items()}


# How a column orders benchmarks: the value, and whether the largest comes first.
ORDERS: dict[str, tuple[Callable[[BenchmarkScore], Any], bool]] = {
    "id": (lambda own: own.catalog_id, False),
    "name": (lambda own: own.dataset.lower(), False),
    "raw": (lambda own: own.raw, True),
    "chance": (lambda own: own.chance, True),
    "skill": (lambda own: own.skill, True),
    "bar": (lambda own: own.skill, True),
    "interval": (lambda own: own.interval and own.interval[1] - own.interval[0], True),
    "coverage": (lambda own: own.coverage, False),
    "weight": (lambda own: own.weight, True),
    "answered": (lambda own: own.requests, True),
    "median": (lambda own: own.median_ms, True),
    "failed": (lambda own: own.requests - own.answered, True),
    "metric": (lambda own: own.metric, False),
    "area": (lambda own: own.area, False),
}


@dataclass(frozen=True)
class Order:
    """How benchmarks are listed: by area in the edition's order, or all of them by one column.

    column: of ORDERS; None for the edition's order. turned: the other way round than the column's first way.
    """

    column: str | None = None
    turned: bool = False

    def chosen(self, column: str) -> "Order":
        """After a column was chosen: by it, then turned round, then back to the edition's order."""
        if column != self.column:
            return Order(column)
        return Order() if self.turned else Order(column, turned=True)

    @property
    def descends(self) -> bool:
        return self.column is not None and ORDERS[self.column][1] != self.turned

    def apply(self, benchmarks: Iterable[BenchmarkScore]) -> list[BenchmarkScore]:
        """The benchmarks in this order; those without a value come last, and equal ones stay as they were."""
        value = ORDERS[self.column][0]
        known = [own for own in benchmarks if value(own) is not None]
        return sorted(known, key=value, reverse=self.descends) + [own for own in benchmarks if value(own) is None]


@dataclass(frozen=True)
class View:
    """What of the scores is listed. text: only benchmarks whose name, id, track or area has it. folded: ids of areas whose
    benchmarks are hidden. opened: catalog ids of benchmarks whose tracks are shown."""

    order: Order = Order()
    text: str = ""
    folded: frozenset[str] = frozenset()
    opened: frozenset[int] = frozenset()

    def shows(self, benchmark: BenchmarkScore) -> bool:
        """Whether a benchmark passes the filter."""
        names = (benchmark.dataset, f"#{benchmark.catalog_id}", benchmark.area, *(track.name for track in benchmark.tracks))
        return any(self.text.lower() in name.lower() for name in names)
