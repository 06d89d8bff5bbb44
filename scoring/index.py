"""From benchmark values to areas and the index, the same way for every edition; and ranks on a board."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scoring import metrics
from scoring.editions import Area, Edition
from scoring.metrics import Number, known, rounded

BREADTH_FLOOR = 0.1
TIE_WIDTH = 0.25


@dataclass(frozen=True)
class Value:
    """What a benchmark brings to the index, unanswered requests counting as wrong: numbers, or arrays of draws.

    pending: of edition 0.1 only. chance: None for a benchmark that never had rows. tracks: as the files list them; None
    for a benchmark that is not scored by track.
    """

    raw: Number
    skill: Number
    coverage: Number
    chance: Number | None
    rule: str
    pending: Number = 0.0
    tracks: list[dict] | None = None


def track_value(values: Mapping[str, Number] | None, is_rounded: bool, chance: float | None = None) -> Value:
    """Value of a track-scored benchmark; since edition 0.2 rounded to 4 decimals before anything is made of it.

    Args:
        values: `raw`, `skill`, `coverage`, `pending` and `chance`; None for a benchmark without any rows, whose published
            `chance` is shown.
    """
    if values is None:
        return Value(0.0, 0.0, 0.0, chance, "track", pending=1.0, tracks=[])
    raw, skill, coverage = (rounded(values[name]) if is_rounded else values[name] for name in ("raw", "skill", "coverage"))
    return Value(raw, skill, coverage, values["chance"], "track", values["pending"])


def brier_value(score: Number | None, coverage: Number, chance: float) -> Value:
    """How much better than always saying 0.5 (`chance` is what that loses), as a share of it."""
    gained = 0.0 if score is None else metrics.clip((chance - rounded(known(score, chance))) / chance) * coverage
    return Value(gained, gained, coverage, chance, "vs baseline")


def added_value(score: Number | None, coverage: Number, chance: float) -> Value:
    """Benchmarks that came with 0.2: raw and skill are rounded, each after its own step."""
    raw = rounded(known(score) * coverage)
    return Value(raw, rounded(metrics.skill(raw, chance)), coverage, chance, "chance")


def chance_value(score: Number | None, coverage: Number, chance: float) -> Value:
    """All others: the score is rounded, then multiplied; skill stays as it comes."""
    raw = rounded(known(score)) * coverage
    return Value(raw, metrics.skill(raw, chance), coverage, chance, "chance")


FROM_NATIVE = {"vs baseline": brier_value, "added": added_value, "chance": chance_value}


def native_value(rule: str, score: float | None, answered: int, requests: int, chance: float) -> Value:
    """The value of a benchmark that is not scored by track, from its native score and counts."""
    return FROM_NATIVE[rule](score, answered / requests if requests else 0.0, chance)


class AreaValue(NamedTuple):
    """Weighted means over the benchmarks of an area."""

    area: Area
    raw: Number
    skill: Number
    coverage: Number
    pending: Number


VALUES = AreaValue._fields[1:]


@dataclass(frozen=True)
class Index:
    """Areas and scores of one panel; nothing rounded, scores in points (0 to 100)."""

    areas: tuple[AreaValue, ...]
    scores: dict[str, Number]

    def mean(self, name: str) -> float:
        """Plain mean over areas of `coverage` or `pending`."""
        return metrics.mean(getattr(area, name) for area in self.areas)


def build(edition: Edition, values: Mapping[int, Value]) -> Index:
    """The index of an edition from the values of its panel."""
    areas = tuple(area_value(area, values, edition.weights(area)) for area in edition.areas)
    return Index(areas, index_scores(areas, edition.shares()))


def area_value(area: Area, values: Mapping[int, Value], weights: Sequence[float]) -> AreaValue:
    """Means of one area; `weights` in the order of its benchmarks."""
    members = [values[catalog_id] for catalog_id in area.benchmarks]
    return AreaValue(
        area, *(metrics.weighted_mean([getattr(value, name) for value in members], weights) for name in VALUES)
    )


def index_scores(areas: Sequence[AreaValue], shares: Sequence[float]) -> dict[str, Number]:
    """Balanced scores are weighted means over areas. Breadth is a weighted geometric mean of skills that are lifted to
    at least 0.1, so that one empty area does not void it, put back on 0 to 100."""
    lifted = [BREADTH_FLOOR + (1 - BREADTH_FLOOR) * area.skill for area in areas]
    product = math.prod(value**share for value, share in zip(lifted, shares, strict=True))
    return {
        "balanced_skill": 100 * metrics.weighted_mean([area.skill for area in areas], shares),
        "balanced_raw": 100 * metrics.weighted_mean([area.raw for area in areas], shares),
        "breadth_skill": 100 * (product - BREADTH_FLOOR) / (1 - BREADTH_FLOOR),
    }


class Rank(NamedTuple):
    """Place of an entrant on a board; tied when others have the same rank."""

    name: str
    index: float
    rank: int
    tied: bool


def ranks(scores: Mapping[str, float], width: float = TIE_WIDTH) -> list[Rank]:
    """Entrants by index descending. A new rank opens when one is more than `width` points below the one just above it;
    a rank's number is the position of its first member."""
    ordered = sorted(scores.items(), key=lambda entrant: -entrant[1])
    numbers: list[int] = []
    for position, (_name, index) in enumerate(ordered):
        gap = round(ordered[position - 1][1] - index, 9) if position else math.inf
        numbers.append(position + 1 if gap > width else numbers[-1])
    return [
        Rank(name, index, number, numbers.count(number) > 1)
        for (name, index), number in zip(ordered, numbers, strict=True)
    ]
