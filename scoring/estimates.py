"""What a benchmark brings to the index, as estimators: one formula for the published value and for every resample."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from scoring import index, metrics
from scoring.answers import OK
from scoring.cases import Sheet
from scoring.editions import Edition
from scoring.estimators import Estimator, Mean
from scoring.index import Value
from scoring.tracks import TrackScore

Evaluate = Callable[[Estimator], float | np.ndarray | None]


def exact(estimator: Estimator) -> float | None:
    """The value over all cases."""
    return estimator.value()


@dataclass(frozen=True)
class Estimate:
    """One benchmark. score: its native value over whole cases, None where nothing is whole. coverage: answered requests.
    tracks: of a track-scored benchmark, None without cases. chance: the published one."""

    rule: str
    rounded: bool
    chance: float
    score: Estimator | None = None
    coverage: Mean | None = None
    tracks: TrackScore | None = None

    @classmethod
    def of(cls, edition: Edition, catalog_id: int, cases: Sheet | None) -> "Estimate":
        """The estimate of a benchmark of the index, None for one without cases."""
        rule = edition.value_rule(catalog_id)
        blank = cls(rule, edition.format > 1, edition.chance[catalog_id])
        if not cases:
            return blank
        if rule == "track":
            return cls(blank.rule, blank.rounded, blank.chance, tracks=TrackScore.of(cases))
        scored = cases.select(cases.whole)
        score = edition.benchmark(catalog_id).score(scored) if scored else None
        return cls(blank.rule, blank.rounded, blank.chance, score, Mean(cases.status == OK, cases.group))

    def value(self, evaluate: Evaluate) -> Value:
        """What the benchmark is worth. evaluate: how an estimator becomes a number, or an array of draws."""
        if self.rule == "track":
            values = self.tracks and self.tracks.values(evaluate)
            return index.track_value(values, self.rounded, self.chance)
        score = self.score and evaluate(self.score)
        coverage = 0.0 if self.coverage is None else evaluate(self.coverage)
        return index.FROM_NATIVE[self.rule](score, coverage, self.chance)

    def published(self) -> Value:
        """The value over all cases, with its tracks."""
        value = self.value(exact)
        return replace(value, tracks=self.tracks.shown()) if self.tracks else value

    def chance_on_rows(self) -> float | None:
        """Mean over tracks of the chance level that the rows give; None for one that is not scored by track, or where
        chance is a frozen value."""
        levels = [] if self.tracks is None else [track.chance for track in self.tracks.tracks]
        return None if any(isinstance(level, float) for level in levels) else metrics.mean(map(exact, levels))
