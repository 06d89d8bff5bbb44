"""How far a score can be trusted: bootstrap intervals over whole groups, the same resamples for every run, and ranks.

Groups (linked requests) are drawn with replacement within each benchmark, across its tracks; every rule of the index
(chance, clipping, coverage, rounding) is applied to each draw. Efron and Tibshirani, An Introduction to the Bootstrap
(1993).
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from scoring import index
from scoring.editions import Edition
from scoring.estimates import Estimate
from scoring.index import AreaValue, Value

LEVEL = 0.95
DRAWS = 1000
SEED = 20260919
NUMBERS_A_BATCH = 2_000_000  # counts held at a time
ROUNDING = 1e-12
NORMAL = NormalDist()


class Interval(NamedTuple):
    """Bounds of a value at LEVEL."""

    low: float
    high: float


def interval(draws: np.ndarray, value: float) -> Interval:
    """Bias-corrected percentile interval (Efron and Tibshirani, section 14.3 without acceleration).

    Plain percentiles miss macro-F1 over many labels, whose draws lie below its value. A value at an end of its draws, such
    as a skill clipped to 0, has no bias that the draws could tell.
    """
    below, same = draws < value - ROUNDING, np.abs(draws - value) <= ROUNDING
    at_end = same.any() and not (below.any() and (draws > value + ROUNDING).any())
    share = np.mean(below) + np.mean(same) / 2
    shift = 0.0 if at_end else NORMAL.inv_cdf(min(max(share, 1 / len(draws)), 1 - 1 / len(draws)))
    tails = [NORMAL.cdf(2 * shift + NORMAL.inv_cdf(tail)) for tail in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)]
    return Interval(*np.quantile(draws, tails).tolist())


def resamples(catalog_id: int, groups: int, draws: int, seed: int = SEED) -> Iterator[np.ndarray]:
    """How often each group of a benchmark is drawn, in batches [draws, groups]; the same for every run over these groups."""
    if not groups:
        yield np.zeros((draws, 0))
        return
    generator = np.random.default_rng((seed, catalog_id, groups))
    batch = max(1, NUMBERS_A_BATCH // groups)
    for start in range(0, draws, batch):
        size = min(batch, draws - start)
        drawn = generator.integers(groups, size=(size, groups), dtype=np.int32) + np.arange(size, dtype=np.int32)[:, None] * groups
        yield np.bincount(drawn.ravel(), minlength=size * groups).reshape(size, groups).astype(float)


def draw(
    estimates: Sequence[Estimate], catalog_id: int, groups: int, draws: int = DRAWS, seed: int = SEED
) -> list[Value]:
    """Values of a benchmark on resamples of its groups, as arrays [draws].

    Args:
        estimates: of one run each, all over the same groups.
    """
    batches = [
        [_drawn(estimate, counts) for estimate in estimates] for counts in resamples(catalog_id, groups, draws, seed)
    ]
    return [_joined(values) for values in zip(*batches, strict=True)]


def _drawn(estimate: Estimate, counts: np.ndarray) -> Value:
    value = estimate.value(lambda estimator: estimator.resampled(counts))
    # What nothing was answered for is one number whatever is drawn.
    columns = (np.broadcast_to(getattr(value, name), len(counts)) for name in ("raw", "skill", "coverage"))
    return Value(*columns, chance=None, rule=value.rule)


def _joined(batches: Sequence[Value]) -> Value:
    columns = ([getattr(value, name) for value in batches] for name in ("raw", "skill", "coverage"))
    return Value(*map(np.concatenate, columns), chance=None, rule=batches[0].rule)


def draw_all(
    estimates: Sequence[Mapping[int, Estimate]], groups: Mapping[int, int], draws: int = DRAWS, seed: int = SEED
) -> list[dict[int, Value]]:
    """`draw` for every benchmark, by catalog id, for each of the runs.

    Args:
        estimates: catalog id -> estimate, of one run each. groups: catalog id -> number of groups.
    """
    ids = list(estimates[0])
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        drawn = threads.map(lambda key: draw([run[key] for run in estimates], key, groups.get(key, 0), draws, seed), ids)
        return [dict(zip(ids, values, strict=True)) for values in zip(*drawn, strict=True)]


class Intervals(NamedTuple):
    """Intervals of one run. benchmarks, areas: by id, then by `raw` and `skill`. scores: by name, in points."""

    benchmarks: dict[int, dict[str, Interval]]
    areas: dict[str, dict[str, Interval]]
    scores: dict[str, Interval]


def intervals(edition: Edition, values: Mapping[int, Value], drawn: Mapping[int, Value]) -> Intervals:
    """Intervals of every benchmark, area and score, from values and from their draws."""
    built, redrawn = index.build(edition, values), index.build(edition, drawn)
    return Intervals(
        {catalog_id: _both(values[catalog_id], draws) for catalog_id, draws in drawn.items()},
        {area.area.id: _both(area, draws) for area, draws in zip(built.areas, redrawn.areas, strict=True)},
        {name: interval(redrawn.scores[name], score) for name, score in built.scores.items()},
    )


def _both(value: Value | AreaValue, draws: Value | AreaValue) -> dict[str, Interval]:
    return {name: interval(getattr(draws, name), getattr(value, name)) for name in ("raw", "skill")}


def ranks_by_interval(scores: Mapping[str, tuple[float, Interval]]) -> list[index.Rank]:
    """Entrants by index descending, where a rank is one more than the number of entrants whose whole interval lies above
    one's own: who cannot be told from the best has rank 1."""
    ordered = sorted(scores.items(), key=lambda entrant: -entrant[1][0])
    numbers = [1 + sum(other.low > own.high for _score, other in scores.values()) for _name, (_score, own) in ordered]
    return [
        index.Rank(name, score, number, numbers.count(number) > 1)
        for (name, (score, _own)), number in zip(ordered, numbers, strict=True)
    ]
