"""From benchmark values to areas and the index, the same way for every edition; and ranks on a board."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scoring import metrics
from scoring.editions import Area, Edition
from scoring.tracks import TrackScore

BREADTH_FLOOR = 0.1
TIE_WIDTH = 0.25


@dataclass(frozen=True)
class Value:
    """What a benchmark brings to the index, unanswered requests counting as wrong. pending: of edition 0.1 only.
    tracks: as the files list them; None for a benchmark that is not scored by track."""

    raw: float
    skill: float
    coverage: float
    chance: float | None
    rule: str
    pending: float = 0.0
    tracks: list[dict] | None = None


def track_value(score: TrackScore | None, rounded: bool, chance: float | None = None) -> Value:
    """Headline or mean over tracks; rounded to 4 decimals before anything is made of it since edition 0.2.

    Args:
        score: None for a benchmark without any rows, whose published `chance` is shown.
    """
    if score is None:
        return Value(0.0, 0.0, 0.0, chance, "track", pending=1.0, tracks=[])
    raw, skill, coverage, pending = (score.value(name) for name in ("raw", "skill", "coverage", "pending"))
    if rounded:
        raw, skill, coverage = round(raw, 4), round(skill, 4), round(coverage, 4)
    return Value(raw, skill, coverage, score.chance, "track", pending, score.shown())


def brier_value(score: float | None, coverage: float, chance: float) -> Value:
    """How much better than always saying 0.5 (`chance` is what that loses), as a share of it."""
    gained = 0.0 if score is None else metrics.clip((chance - round(score, 4)) / chance) * coverage
    return Value(gained, gained, coverage, chance, "vs baseline")


def added_value(score: float | None, coverage: float, chance: float) -> Value:
    """Benchmarks that came with 0.2: raw and skill are rounded, each after its own step."""
    raw = round((score or 0.0) * coverage, 4)
    return Value(raw, round(metrics.skill(raw, chance), 4), coverage, chance, "chance")


def chance_value(score: float | None, coverage: float, chance: float) -> Value:
    """All others: the score is rounded, then multiplied; skill stays as it comes."""
    raw = round(score or 0.0, 4) * coverage
    return Value(raw, metrics.skill(raw, chance), coverage, chance, "chance")


FROM_NATIVE = {"vs baseline": brier_value, "added": added_value, "chance": chance_value}


def native_value(rule: str, score: float | None, answered: int, requests: int, chance: float) -> Value:
    """The value of a benchmark that is not scored by track, from its native score and counts."""
    return FROM_NATIVE[rule](score, answered / requests if requests else 0.0, chance)


class AreaValue(NamedTuple):
    """Weighted means over the benchmarks of an area."""

    area: Area
    raw: float
    skill: float
    coverage: float
    pending: float


VALUES = AreaValue._fields[1:]


@dataclass(frozen=True)
class Index:
    """Areas and scores of one panel; nothing rounded, scores in points (0 to 100)."""

    areas: tuple[AreaValue, ...]
    scores: dict[str, float]

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


def index_scores(areas: Sequence[AreaValue], shares: Sequence[float]) -> dict[str, float]:
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
