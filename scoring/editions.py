"""Editions as scoring sees them: panel, chance levels, weights and headline, as data on top of the suite's edition."""

import math
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

import orjson

from scoring.benchmarks import BENCHMARKS, BRIER, DEFAULT, Benchmark
from suite_builder import editions as suite_editions


@dataclass(frozen=True)
class Area:
    """Benchmarks that are averaged together. weight: its fixed share of the index, None where a rule gives it."""

    id: str
    benchmarks: tuple[int, ...]
    label: str | None = None
    weight: float | None = None


@dataclass(frozen=True)
class Edition:
    """What an edition adds to its published rows (`published`).

    format: 1 for the files of edition 0.1 (unrounded values, pending shares, frozen panel), 2 for those since 0.2.
    headline: the name of the score that is the index. shown: benchmarks with values that do not count.
    track_scored: benchmarks whose value is their track score. chance: published chance level by catalog id.
    benchmarks: the table of benchmarks.py as this edition has it.
    gold: benchmarks of weight `gold_weight` inside their area, where others have 1.
    area_weights: `equal`, `fixed`, or how the areas without a fixed weight share what the others leave.
    frozen_panel: categories of the older panel of 25 that edition 0.1 still reports. Its benchmarks that are not
        in the areas are interactive and have no rows in any suite.
    """

    published: suite_editions.Edition
    format: int
    panel_id: str
    headline: str
    areas: tuple[Area, ...]
    track_scored: frozenset[int]
    chance: dict[int, float]
    benchmarks: dict[int, Benchmark]
    shown: tuple[int, ...] = ()
    gold: frozenset[int] = frozenset()
    gold_weight: float = 1.0
    area_weights: str = "equal"
    frozen_panel: tuple[Area, ...] = ()

    @property
    def id(self) -> str:
        """Such as `0.2.1`."""
        return self.published.id

    @property
    def panel(self) -> tuple[int, ...]:
        """Catalog ids that count, in the order of the areas."""
        return tuple(catalog_id for area in self.areas for catalog_id in area.benchmarks)

    def benchmark(self, catalog_id: int) -> Benchmark:
        """How this edition scores a benchmark."""
        return self.benchmarks.get(catalog_id, DEFAULT)

    def value_rule(self, catalog_id: int) -> str:
        """How a native score becomes an index value: `track`, `vs baseline`, `added` or `chance`."""
        if catalog_id in self.track_scored:
            return "track"
        benchmark = self.benchmark(catalog_id)
        if benchmark.metric == BRIER:
            return "vs baseline"
        return "added" if benchmark.added else "chance"

    def weights(self, area: Area) -> list[float]:
        """Weights of an area's benchmarks."""
        return [self.gold_weight if catalog_id in self.gold else 1.0 for catalog_id in area.benchmarks]

    def shares(self) -> list[float]:
        """Weight of each area in the index; they sum to 1."""
        parts = [math.sqrt(len(area.benchmarks)) if self.area_weights != "equal" else 1.0 for area in self.areas]
        left = 1 - math.fsum(area.weight or 0.0 for area in self.areas)
        free = math.fsum(part for part, area in zip(parts, self.areas, strict=True) if area.weight is None)
        return [
            left * part / free if area.weight is None else area.weight
            for part, area in zip(parts, self.areas, strict=True)
        ]

    def only(self, catalog_ids: AbstractSet[int]) -> "Edition":
        """The same edition with some of its benchmarks: the rest of an area stands for it, the rest of the areas for all."""
        left = [
            (replace(area, benchmarks=tuple(key for key in area.benchmarks if key in catalog_ids)), share)
            for area, share in zip(self.areas, self.shares(), strict=True)
            if not catalog_ids.isdisjoint(area.benchmarks)
        ]
        total = math.fsum(share for _area, share in left)
        areas = tuple(replace(area, weight=share / total) for area, share in left)
        return replace(self, areas=areas, area_weights="fixed")


def edition(name: str | None = None) -> Edition:
    """The edition called `name`, as `suite_builder.editions.edition` finds it; the default when None.

    Raises:
        SuiteError: no edition has that name.
    """
    return _edition(suite_editions.edition(name).id)


@cache
def _edition(edition_id: str) -> Edition:
    record = _data()["editions"][edition_id]
    metrics = {
        catalog_id: replace(BENCHMARKS[catalog_id], metric=metric)
        for catalog_id, metric in _by_id(record.pop("metrics", {})).items()
    }
    return Edition(
        published=suite_editions.edition(edition_id),
        areas=_areas(record.pop("areas")),
        track_scored=frozenset(record.pop("track_scored")),
        chance=_by_id(record.pop("chance")),
        benchmarks=BENCHMARKS | metrics,
        gold=frozenset(record.pop("gold", ())),
        frozen_panel=_areas(record.pop("frozen_panel", ())),
        **record,
    )


@cache
def frozen_chance() -> dict[int, dict[str, float]]:
    """Catalog id -> track -> published chance of the metrics whose chance is simulated, at full precision."""
    return _by_id(_data()["frozen_chance"])


def _areas(records: list[dict]) -> tuple[Area, ...]:
    return tuple(Area(**{**record, "benchmarks": tuple(record["benchmarks"])}) for record in records)


def _by_id(record: dict[str, object]) -> dict:
    return {int(catalog_id): value for catalog_id, value in record.items()}


def _data() -> dict:
    return orjson.loads(files("scoring").joinpath("data", "editions.json").read_bytes())
