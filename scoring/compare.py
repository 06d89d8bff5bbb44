"""Two runs over the same requests: what each of them is worth where both answered, and whether the difference is real.

Only requests that both runs answered count, as whole groups; how much of the suite each of them covers stands beside it.
Differences are B less A, and the intervals of paired resamples: both runs on the same draws of groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scoring import index, metrics, stats
from scoring.answers import OK
from scoring.cases import Cases, Sheet
from scoring.editions import Edition
from scoring.errors import ScoreError
from scoring.estimates import Estimate, exact
from scoring.index import Value
from scoring.stats import Interval
from suite_builder.catalog import benchmarks as catalog

BETTER, WORSE, UNDECIDED = "better", "worse", "cannot tell"


@dataclass(frozen=True)
class Difference:
    """One value of both runs. verdict: what B is against A, as far as the interval of the difference tells."""

    a: float
    b: float
    interval: Interval

    @property
    def difference(self) -> float:
        return self.b - self.a

    @property
    def verdict(self) -> str:
        if self.interval.low > 0:
            return BETTER
        return WORSE if self.interval.high < 0 else UNDECIDED

    @classmethod
    def of(cls, a: float, b: float, draws_a: np.ndarray, draws_b: np.ndarray) -> "Difference":
        return cls(a, b, stats.interval(draws_b - draws_a, b - a))

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        own = {"a": self.a, "b": self.b, "difference": self.difference}
        return {**own, "interval": list(self.interval), "verdict": self.verdict}


@dataclass(frozen=True)
class Shared:
    """One benchmark where both runs answered.

    requests, groups, fields: shared ones. coverage: share of all requests that A and B answered.
    agreement: share of shared fields with the same prediction. median_ms: of A and B over the shared requests.
    right_to_wrong, wrong_to_right: run ids of the shared requests that A has right and B wrong, and the reverse; a request
        is right when all its fields are. Empty where fields are not right or wrong one by one.
    """

    catalog_id: int
    dataset: str
    in_index: bool
    requests: int
    groups: int
    fields: int
    coverage: tuple[float, float]
    raw: Difference
    skill: Difference
    agreement: float
    median_ms: tuple[float | None, float | None]
    right_to_wrong: list[str]
    wrong_to_right: list[str]

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        facts = ("catalog_id", "dataset", "in_index", "requests", "groups", "fields", "coverage")
        rest = ("agreement", "median_ms", "right_to_wrong", "wrong_to_right")
        return {
            **{name: getattr(self, name) for name in facts},
            "raw": self.raw.record(),
            "skill": self.skill.record(),
            **{name: getattr(self, name) for name in rest},
        }


@dataclass(frozen=True)
class AreaDifference:
    """One area of the index over the benchmarks with shared requests. of: how many benchmarks it has in all."""

    id: str
    label: str
    benchmarks: tuple[int, ...]
    of: int
    raw: Difference
    skill: Difference

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        facts = {"id": self.id, "label": self.label, "benchmarks": self.benchmarks, "of": self.of}
        return {**facts, "raw": self.raw.record(), "skill": self.skill.record()}


@dataclass(frozen=True)
class Overlap:
    """What both runs answered over all benchmarks that the edition shows.

    requests: shared ones, of so many (`of`). coverage, agreement, median_ms: as in `Shared`, over all of them.
    """

    requests: int
    of: int
    coverage: tuple[float, float]
    agreement: float
    median_ms: tuple[float | None, float | None]


@dataclass(frozen=True)
class Comparison:
    """Two runs. scores: by name, in points, over the benchmarks of the index with shared requests (`counted`, of `panel`).

    published: the index of A and B by the rules of the edition, where unanswered requests count as wrong.
    """

    edition: str
    headline: str
    names: tuple[str, str]
    published: tuple[float, float]
    counted: int
    panel: int
    overlap: Overlap
    scores: dict[str, Difference]
    areas: list[AreaDifference]
    benchmarks: list[Shared]
    draws: int

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "edition": self.edition,
            "a": self.names[0],
            "b": self.names[1],
            "difference": "b - a",
            "level": stats.LEVEL,
            "draws": self.draws,
            "seed": stats.SEED,
            "headline": self.headline,
            "published": self.published,
            "benchmarks_counted": self.counted,
            "benchmarks_of_index": self.panel,
            "overlap": asdict(self.overlap),
            "scores": {name: score.record() for name, score in self.scores.items()},
            "areas": [area.record() for area in self.areas],
            "benchmarks": [benchmark.record() for benchmark in self.benchmarks],
        }


def compare(
    a: Cases, b: Cases, rules: Edition, names: tuple[str, str], common: bool = False, draws: int = stats.DRAWS
) -> Comparison:
    """Hold two runs against each other.

    Args:
        common: restrict both to the requests that both suites have; else runs over different suites are refused.

    Raises:
        ScoreError: other suites, or no request that both answered.
    """
    a, b = _aligned(a, b, names, common)
    sheets = [a.sheets(), b.sheets()]
    shared = {key: sheets[0][key].whole & sheets[1][key].whole for key in sheets[0] if key in rules.chance}
    both = {key: tuple(run[key].only(requests) for run in sheets) for key, requests in shared.items() if requests.any()}
    if not both:
        raise ScoreError(f"{names[0]} and {names[1]} have no request that both answered")
    estimates = [{key: Estimate.of(rules, key, pair[run]) for key, pair in both.items()} for run in (0, 1)]
    drawn = stats.draw_all(estimates, {key: pair[0].groups for key, pair in both.items()}, draws)
    values = [{key: estimate.value(exact) for key, estimate in run.items()} for run in estimates]
    counted = frozenset(rules.panel) & both.keys()
    left = rules.only(counted)
    benchmarks = [_shared(key, key in rules.panel, pair, [run[key] for run in sheets], values, drawn) for key, pair in both.items()]
    return Comparison(
        edition=rules.id,
        headline=rules.headline,
        names=names,
        published=tuple(_published(rules, run) for run in sheets),
        counted=len(counted),
        panel=len(rules.panel),
        overlap=_overlap(benchmarks, list(both.values()), [[run[key] for run in sheets] for key in shared]),
        scores=_scores(left, values, drawn) if counted else {},
        areas=_areas(rules, left, values, drawn),
        benchmarks=benchmarks,
        draws=draws,
    )


def _aligned(a: Cases, b: Cases, names: tuple[str, str], common: bool) -> tuple[Cases, Cases]:
    """Both runs over the same requests in the same order."""
    rows = [dict(zip(run.gold.run_ids, run.gold.columns.payload_sha256, strict=True)) for run in (a, b)]
    if rows[0] == rows[1] and a.gold.run_ids == b.gold.run_ids:
        return a, b
    shared = [run_id for run_id, payload in rows[0].items() if rows[1].get(run_id) == payload]
    if not common:
        raise ScoreError(
            f"{names[0]} and {names[1]} are runs over different suites: of {len(rows[0]):,} and {len(rows[1]):,} requests"
            f" {len(shared):,} are the same; --common compares these"
        )
    if not shared:
        raise ScoreError(f"the suites of {names[0]} and {names[1]} have no request in common")
    return tuple(run.take(np.array([run.gold.places[run_id] for run_id in shared])) for run in (a, b))


def _published(rules: Edition, sheets: Mapping[int, Sheet]) -> float:
    values = {key: Estimate.of(rules, key, sheets.get(key)).value(exact) for key in rules.panel}
    return index.build(rules, values).scores[rules.headline]


def _difference(name: str, pair: list, drawn: list) -> Difference:
    return Difference.of(*(getattr(value, name) for value in pair), *(getattr(value, name) for value in drawn))


def _scores(left: Edition, values: list[dict[int, Value]], drawn: list[dict[int, Value]]) -> dict[str, Difference]:
    built, redrawn = [index.build(left, run) for run in values], [index.build(left, run) for run in drawn]
    return {
        name: Difference.of(*(run.scores[name] for run in built), *(run.scores[name] for run in redrawn))
        for name in built[0].scores
    }


def _areas(
    rules: Edition, left: Edition, values: list[dict[int, Value]], drawn: list[dict[int, Value]]
) -> list[AreaDifference]:
    sizes = {area.id: len(area.benchmarks) for area in rules.areas}
    differences = []
    for area in left.areas:
        weights = left.weights(area)
        pair = [index.area_value(area, run, weights) for run in values]
        redrawn = [index.area_value(area, run, weights) for run in drawn]
        both = (_difference(name, pair, redrawn) for name in ("raw", "skill"))
        differences.append(AreaDifference(area.id, area.label, area.benchmarks, sizes[area.id], *both))
    return differences


def _shared(
    catalog_id: int,
    in_index: bool,
    pair: tuple[Sheet, Sheet],
    full: list[Sheet],
    values: list[dict[int, Value]],
    drawn: list[dict[int, Value]],
) -> Shared:
    first = pair[0]
    own, redrawn = [run[catalog_id] for run in values], [run[catalog_id] for run in drawn]
    right = [_right(sheet) for sheet in pair]
    one_by_one = first.cases.rule_of(catalog_id).by_field
    run_ids = np.array([first.cases.gold.run_ids[position] for position in first.positions], object)
    predictions = [sheet.predicted_keys() for sheet in pair]
    return Shared(
        catalog_id=catalog_id,
        dataset=catalog()[catalog_id].dataset,
        in_index=in_index,
        requests=len(first),
        groups=first.groups,
        fields=len(first.fields),
        coverage=_coverage([full]),
        raw=_difference("raw", own, redrawn),
        skill=_difference("skill", own, redrawn),
        agreement=metrics.mean(a == b for a, b in zip(*predictions, strict=True)),
        median_ms=_median_ms([pair]),
        right_to_wrong=run_ids[right[0] & ~right[1]].tolist() if one_by_one else [],
        wrong_to_right=run_ids[right[1] & ~right[0]].tolist() if one_by_one else [],
    )


def _overlap(benchmarks: list[Shared], shared: list[tuple[Sheet, Sheet]], full: list[list[Sheet]]) -> Overlap:
    fields = sum(benchmark.fields for benchmark in benchmarks)
    return Overlap(
        requests=sum(benchmark.requests for benchmark in benchmarks),
        of=sum(len(pair[0]) for pair in full),
        coverage=_coverage(full),
        agreement=sum(benchmark.agreement * benchmark.fields for benchmark in benchmarks) / fields,
        median_ms=_median_ms(shared),
    )


def _coverage(pairs: Sequence[Sequence[Sheet]]) -> tuple[float, float]:
    """Share of requests that each run answered."""
    return tuple(float(np.mean(np.concatenate([sheet.status for sheet in run]) == OK)) for run in zip(*pairs, strict=True))


def _median_ms(pairs: Sequence[Sequence[Sheet]]) -> tuple[float | None, float | None]:
    """Median latency of each run."""
    return tuple(metrics.median(np.concatenate([sheet.wall_ms for sheet in run]).tolist()) for run in zip(*pairs, strict=True))


def _right(cases: Sheet) -> np.ndarray:
    """By request, whether all its fields are right."""
    return np.bincount(cases.request, ~cases.hit, len(cases)) == 0
