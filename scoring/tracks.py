"""Track scores: raw value, chance, skill and coverage of a benchmark over all its cases, an unanswered one wrong."""

from collections.abc import Sequence
from dataclasses import dataclass

from scoring import metrics
from scoring.benchmarks import DEFAULT_TRACKS, TRACK_NAMES, TRACKS, TrackRule
from scoring.cases import ERROR, PENDING, Case, groups
from scoring.editions import frozen_chance
from scoring.metrics import mean


@dataclass(frozen=True)
class Track:
    """Values of one track. coverage: share of its groups that are whole; pending: share with a request that is missing
    or an error. Both look at all requests of a group, also those of other tracks."""

    name: str
    raw: float
    chance: float
    skill: float
    coverage: float
    pending: float

    @property
    def shown_name(self) -> str:
        """The name as the files have it."""
        return TRACK_NAMES.get(self.name, self.name)


@dataclass(frozen=True)
class TrackScore:
    """A benchmark by its tracks, in order of first appearance. headline: the track that stands for it, if one does."""

    tracks: tuple[Track, ...]
    headline: Track | None

    def value(self, name: str) -> float:
        """`raw`, `skill`, `coverage` or `pending`: the headline's, else the mean over tracks."""
        if self.headline:
            return getattr(self.headline, name)
        return mean(getattr(track, name) for track in self.tracks)

    @property
    def chance(self) -> float:
        """Chance of the headline or the first track, as the files show it."""
        return (self.headline or self.tracks[0]).chance

    def shown(self) -> list[dict]:
        """The tracks as the files list them; empty for a single one."""
        if len(self.tracks) == 1:
            return []
        return [
            {"track": track.shown_name, "score": round(track.raw, 4), "headline": track is self.headline}
            for track in self.tracks
        ]


def score_tracks(catalog_id: int, cases: Sequence[Case]) -> TrackScore | None:
    """Track scores of one benchmark from all its cases; None when no track has a case."""
    plan = TRACKS.get(catalog_id, DEFAULT_TRACKS)
    by_track: dict[str, list[Case]] = {}
    for case in cases:
        if not (plan.leaves_out and plan.leaves_out in case.track):
            by_track.setdefault(case.track if plan.split else "all", []).append(case)
    if not by_track:
        return None
    unfinished = {case.group_id for case in cases if case.status in (ERROR, PENDING)}
    frozen = frozen_chance().get(catalog_id, {})
    tracks = tuple(
        _track(name, plan.rule_of(name), members, frozen.get(name), unfinished) for name, members in by_track.items()
    )
    return TrackScore(tracks, next((track for track in tracks if track.name == plan.headline), None))


def _track(name: str, rule: TrackRule, cases: list[Case], frozen: float | None, unfinished: set[str]) -> Track:
    raw = rule.raw(cases)
    chance = rule.chance(cases) if rule.chance else frozen
    firsts = [group[0] for group in groups(cases)]
    return Track(
        name=name,
        raw=raw,
        chance=chance,
        skill=metrics.skill(raw, chance),
        coverage=mean(case.whole for case in firsts),
        pending=mean(case.group_id in unfinished for case in firsts),
    )
