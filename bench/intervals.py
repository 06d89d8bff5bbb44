"""Check that intervals hold the truth as often as they say: `python bench/intervals.py`.

Draws many samples from made-up populations whose true value is known, gives each sample the interval that a run would get
(`scoring.stats`), and counts how often the truth lies in it: 95 in 100 is right. For two runs that are right on mostly the
same requests it also tells how much narrower the interval of their paired difference is than one that ignores the pairs.
"""

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from scoring import index, stats
from scoring.editions import edition
from scoring.estimates import Estimate
from scoring.estimators import Estimator, LabelF1, MacroMean, Mean
from scoring.index import Value

CATALOG_ID = 4  # only a part of the seed
HEADER = "| what | groups | truth | truth in interval, of 100 | mean width |\n|---|---:|---:|---:|---:|"


@dataclass(frozen=True)
class Population:
    """Where samples of one benchmark come from. sample: generator -> the estimators of one or two runs over it."""

    name: str
    groups: int
    truth: float
    sample: Callable[[np.random.Generator], list[Estimator]]


def linked(generator: np.random.Generator, groups: int, right: float) -> list[Estimator]:
    """Cases in groups of 1 to 5 that are easy or hard together."""
    group = np.repeat(np.arange(groups), generator.integers(1, 6, groups))
    ease = generator.beta(4 * right, 4 * (1 - right), groups)
    return [Mean((generator.random(len(group)) < ease[group]).astype(float), group)]


def brier(generator: np.random.Generator, groups: int) -> list[Estimator]:
    """Squared errors of forecasts that lie too near to 0.5 by three tenths of the way."""
    truth = generator.beta(2, 2, groups)
    forecast = truth + 0.3 * (0.5 - truth)
    return [Mean((forecast - (generator.random(groups) < truth)) ** 2, np.arange(groups))]


def subjects(generator: np.random.Generator, right: np.ndarray, each: int) -> list[Estimator]:
    """Single cases of several subjects, each of which counts the same."""
    cluster = np.repeat(np.arange(len(right)), each)
    return [MacroMean((generator.random(len(cluster)) < right[cluster]).astype(float), np.arange(len(cluster)), cluster)]


def users(generator: np.random.Generator, count: int) -> list[Estimator]:
    """Cases of users of very different sizes; a user is a group, and each counts the same."""
    user = np.repeat(np.arange(count), generator.geometric(0.1, count))
    right = generator.beta(3, 2, count)
    return [MacroMean((generator.random(len(user)) < right[user]).astype(float), user, user)]


def labels(generator: np.random.Generator, shares: np.ndarray, right: np.ndarray, groups: int, fixed: bool) -> list[Estimator]:
    """Single-label classification; a wrong answer is any other label."""
    gold = generator.choice(len(shares), groups, p=shares)
    other = (gold + generator.integers(1, len(shares), groups)) % len(shares)
    predicted = np.where(generator.random(groups) < right[gold], gold, other)
    return [LabelF1(gold, predicted, np.arange(groups), np.arange(len(shares)) if fixed else None)]


def true_f1(shares: np.ndarray, right: np.ndarray) -> float:
    """Mean F1 over labels of an endless sample of `labels`."""
    missed = shares * (1 - right) / (len(shares) - 1)
    predicted = shares * right + missed.sum() - missed
    return float(np.mean(2 * shares * right / (shares + predicted)))


def alike(generator: np.random.Generator, groups: int, right: float, gain: float) -> list[Estimator]:
    """Two runs of which the second mends some of what the first has wrong and rarely breaks what it has right."""
    luck = generator.random(groups)
    first = luck < right
    broken = generator.random(groups) < 0.05
    second = np.where(first, ~broken, generator.random(groups) < (gain + 0.05 * right) / (1 - right))
    return [Mean(run.astype(float), np.arange(groups)) for run in (first, second)]


def populations() -> list[Population]:
    fixed = np.random.default_rng(1)
    many, few = fixed.dirichlet(np.full(77, 20.0)), np.array([0.55, 0.3, 0.15])
    of_many, of_few, of_subjects = fixed.beta(6, 2, 77), np.array([0.8, 0.6, 0.5]), fixed.beta(5, 3, 57)
    return [
        Population("accuracy, linked cases", 300, 0.7, lambda g: linked(g, 300, 0.7)),
        Population("accuracy, few linked cases", 60, 0.9, lambda g: linked(g, 60, 0.9)),
        Population("Brier score", 400, 0.2 + 0.3**2 * 0.05, lambda g: brier(g, 400)),
        Population("mean over 57 subjects", 57 * 20, float(of_subjects.mean()), lambda g: subjects(g, of_subjects, 20)),
        Population("mean over users", 150, 0.6, lambda g: users(g, 150)),
        Population("macro-F1, 77 labels", 3080, true_f1(many, of_many), lambda g: labels(g, many, of_many, 3080, False)),
        Population("F1 over 3 fixed labels", 600, true_f1(few, of_few), lambda g: labels(g, few, of_few, 600, True)),
    ]


def drawn(run: list[Estimator], groups: int, seed: int) -> list[np.ndarray]:
    """The values of one or two runs on the same resamples."""
    estimates = [Estimate("chance", True, 0.0, own, Mean(np.ones(groups), np.arange(groups))) for own in run]
    return [value.raw for value in stats.draw(estimates, CATALOG_ID, groups, seed=seed)]


def count_hits(population: Population, samples: int) -> str:
    hits, width = 0, 0.0
    for number in range(samples):
        (own,) = population.sample(np.random.default_rng((2, number)))
        (draws,) = drawn([own], population.groups, number)
        found = stats.interval(draws, own.value())
        hits += found.low <= population.truth <= found.high
        width += found.high - found.low
    return line(population.name, population.groups, population.truth, hits, width, samples)


def count_paired_hits(samples: int, groups: int = 500, right: float = 0.6, gain: float = 0.04) -> list[str]:
    hits, width, apart = 0, 0.0, 0.0
    for number in range(samples):
        pair = alike(np.random.default_rng((3, number)), groups, right, gain)
        draws, others = drawn(pair, groups, number), drawn(pair, groups, samples + number)
        difference = pair[1].value() - pair[0].value()
        found = stats.interval(draws[1] - draws[0], difference)
        unpaired = stats.interval(others[1] - draws[0], difference)
        hits += found.low <= gain <= found.high
        width += found.high - found.low
        apart += unpaired.high - unpaired.low
    name = f"difference of two runs, paired ({width / apart:.2f} of the unpaired width)"
    return [line(name, groups, gain, hits, width, samples)]


def count_index_hits(samples: int, groups: int = 200) -> str:
    """The index of edition 0.2.1 over benchmarks of linked cases."""
    rules = edition("0.2.1")
    fixed = np.random.default_rng(4)
    right = {key: float(level) for key, level in zip(rules.panel, fixed.uniform(0.35, 0.9, len(rules.panel)), strict=True)}

    def estimate(key: int, score: Estimator | None) -> Estimate:
        return Estimate("chance", True, min(rules.chance[key], 0.3), score, Mean(np.ones(groups), np.arange(groups)))

    def true_value(key: int) -> Value:
        return index.chance_value(right[key], 1.0, min(rules.chance[key], 0.3))

    truth = index.build(rules, {key: true_value(key) for key in rules.panel}).scores[rules.headline]
    hits, width = 0, 0.0
    for number in range(samples):
        generator = np.random.default_rng((5, number))
        run = {key: estimate(key, linked(generator, groups, right[key])[0]) for key in rules.panel}
        (draws,) = stats.draw_all([run], dict.fromkeys(run, groups), seed=number)
        values = {key: own.published() for key, own in run.items()}
        found = stats.intervals(rules, values, draws).scores[rules.headline]
        hits += found.low <= truth <= found.high
        width += found.high - found.low
    return line(f"index of 0.2.1, {len(run)} benchmarks of {groups} groups", len(run) * groups, truth, hits, width, samples)


def line(name: str, groups: int, truth: float, hits: int, width: float, samples: int) -> str:
    return f"| {name} | {groups:,} | {truth:.3f} | {100 * hits / samples:.1f} | {width / samples:.3f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=1000, help="samples of each population (default: %(default)s)")
    given = parser.parse_args()
    print(HEADER)
    for population in populations():
        print(count_hits(population, given.samples), flush=True)
    print(*count_paired_hits(given.samples), sep="\n", flush=True)
    print(count_index_hits(given.samples // 2), flush=True)


if __name__ == "__main__":
    main()
