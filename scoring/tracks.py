"""Track scores: raw value, chance, skill and coverage of a benchmark over all its cases, an unanswered one wrong."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from scoring import metrics
from scoring.answers import ERROR, PENDING
from scoring.benchmarks import DEFAULT_TRACKS, TRACK_NAMES, TRACKS, TrackRule
from scoring.cases import Sheet
from scoring.editions import frozen_chance
from scoring.estimators import Estimator, Mean
from scoring.metrics import Number

SHARES = ("raw", "skill", "coverage", "pending")
Evaluate = Callable[[Estimator], Number]


@dataclass(frozen=True)
class Track:
    """Estimators of one track. chance: a number where it is a frozen value.

    coverage: share of its groups that are whole; pending: share with a request that is missing or an error. Both look at
    all requests of a group, also those of other tracks.
    """

    name: str
    raw: Estimator
    chance: Estimator | float
    coverage: Mean
    pending: Mean

    @property
    def shown_name(self) -> str:
        """The name as the files have it."""
        return TRACK_NAMES.get(self.name, self.name)

    def values(self, evaluate: Evaluate) -> dict[str, Number]:
        """`raw`, `chance`, `skill`, `coverage` and `pending`."""
        raw = evaluate(self.raw)
        chance = self.chance if isinstance(self.chance, float) else evaluate(self.chance)
        shares = {"coverage": evaluate(self.coverage), "pending": evaluate(self.pending)}
        return {"raw": raw, "chance": chance, "skill": metrics.skill(raw, chance), **shares}


@dataclass(frozen=True)
class TrackScore:
    """A benchmark by its tracks, in order of first appearance. headline: the name of the track that stands for it."""

    tracks: tuple[Track, ...]
    headline: str | None = None

    @classmethod
    def of(cls, cases: Sheet) -> "TrackScore | None":
        """The tracks of all cases of a benchmark; None when no track has a case."""
        plan = TRACKS.get(cases.catalog_id, DEFAULT_TRACKS)
        names = np.array([_track_of(name, plan.leaves_out, plan.split) for name in cases.tracks], object)
        present = [name for name in dict.fromkeys(names) if name]
        unfinished = np.bincount(cases.group, np.isin(cases.status, (ERROR, PENDING)), cases.groups) > 0
        frozen = frozen_chance().get(cases.catalog_id, {})
        tracks = tuple(
            _track(name, plan.rule_of(name), cases.select(names == name), frozen.get(name), unfinished) for name in present
        )
        return cls(tracks, plan.headline if plan.headline in present else None) if tracks else None

    def without_headline(self) -> "TrackScore":
        """The same with every track counting the same."""
        return replace(self, headline=None)

    def values(self, evaluate: Evaluate) -> dict[str, Number]:
        """`raw`, `skill`, `coverage` and `pending`: the headline's, else the means over tracks; and `chance`: the
        headline's or the first track's, as the files show it."""
        values = {track.name: track.values(evaluate) for track in self.tracks}
        tracks = list(values.values())
        means = {name: metrics.middle([track[name] for track in tracks]) for name in SHARES}
        if not self.headline:
            return means | {"chance": tracks[0]["chance"]}
        # A resample may have no case of the headline track.
        headline = values[self.headline]
        return {name: metrics.known(headline[name], means[name]) for name in SHARES} | {"chance": headline["chance"]}

    def shown(self) -> list[dict]:
        """The tracks as the files list them; empty for a single one."""
        if len(self.tracks) == 1:
            return []
        return [
            {"track": track.shown_name, "score": round(track.raw.value(), 4), "headline": track.name == self.headline}
            for track in self.tracks
        ]


def _track_of(name: str, leaves_out: str | None, split: bool) -> str | None:
    if leaves_out and leaves_out in name:
        return None
    return name if split else "all"


def _track(name: str, rule: TrackRule, cases: Sheet, frozen: float | None, unfinished: np.ndarray) -> Track:
    present, first = np.unique(cases.group, return_index=True)
    return Track(
        name=name,
        raw=rule.raw(cases),
        chance=rule.chance(cases) if rule.chance else frozen,
        coverage=Mean(cases.whole[first], present),
        pending=Mean(unfinished[present], present),
    )
