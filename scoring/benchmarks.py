"""Which metric scores which benchmark: tables by catalog id. A new benchmark is a row here, not a branch elsewhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from scoring import scorers
from scoring.cases import Sheet
from scoring.estimators import Estimator

Scorer = Callable[[Sheet], Estimator]
Detail = Callable[[Sheet], Any]

ACCURACY, EXACT, MACRO_F1, NDCG = "accuracy", "case exact accuracy", "macro-F1", "nDCG@10"
QUALITY = "selected quality (quality objective)"
BRIER = "Brier (lower is better)"
HALLUCINATION_F1 = "F1 on hallucinated class"

# Label of a metric as the files have it -> how its value is computed from whole cases.
METRICS: dict[str | None, Scorer] = {
    ACCURACY: scorers.accuracy,
    EXACT: scorers.case_exact_accuracy,
    MACRO_F1: scorers.macro_f1,
    "per-review F1": scorers.review_f1,
    NDCG: scorers.ndcg,
    QUALITY: scorers.routed_quality,
    BRIER: scorers.brier,
    HALLUCINATION_F1: scorers.true_f1,
}
# Label of a metric -> its chance level as the rows give it; other chance levels are simulated or a convention.
CHANCE: dict[str, Detail] = {
    ACCURACY: lambda cases: scorers.chance_hits(cases).value(),
    EXACT: lambda cases: scorers.chance_exact(cases).value(),
    NDCG: lambda cases: scorers.chance_ndcg(cases).value(),
    QUALITY: lambda cases: scorers.chance_quality(cases).value(),
    HALLUCINATION_F1: scorers.chance_true_f1,
}


@dataclass(frozen=True)
class Benchmark:
    """How one benchmark is scored.

    metric: a label of METRICS; None for a benchmark without a value over all its tracks.
    by_field: fields are right or wrong one by one (else a field is only part of a ranking, a route or a forecast).
    by_label: answers are counted by the texts of their options.
    accepts_ties: right is what the row's `scoring.accepted` names, not only the gold answer.
    reads: what the metric needs of an answer: the `choice`, the `probability` of yes, or the `outcome` of the choice.
    block: keys that the row's `scoring` block must have.
    questions: the scored ones; None for all but `scoring.unscored_fields`.
    details, custom: further numbers of the native report.
    added: one of the benchmarks that came with edition 0.2; each row counts alone.
    """

    metric: str | None = ACCURACY
    by_field: bool = True
    by_label: bool = False
    accepts_ties: bool = False
    reads: str = "choice"
    block: tuple[str, ...] = ()
    questions: tuple[str, ...] | None = None
    details: Mapping[str, Detail] = field(default_factory=dict)
    custom: Detail = lambda _cases: {}
    added: bool = False

    def score(self, cases: Sheet) -> Estimator | None:
        """The primary value of whole cases; None for a benchmark without one."""
        return METRICS[self.metric](cases) if self.metric else None

    def chance_on_rows(self, cases: Sheet) -> float | None:
        """The chance level of all cases, None where rows do not tell it."""
        return CHANCE[self.metric](cases) if self.metric in CHANCE else None

    def scores(self, question: str, scoring: dict) -> bool:
        """Whether the answer to a question is scored."""
        if self.questions is not None:
            return question in self.questions
        return question not in scoring.get("unscored_fields", ())


def _hits_by(names: Callable[[Sheet], Sequence]) -> Detail:
    return partial(scorers.subgroups, names, scorers.hits)


def _share_right_by(fact: str) -> Detail:
    return lambda cases: scorers.accuracy(cases, fact).value()


def _macro_f1(cases: Sheet) -> float | None:
    return scorers.macro_f1(cases).value()


_EXACT = {"metric": EXACT}
_POSITIVE = {"details": {"positive_micro_f1": scorers.positive_micro_f1}}
_RANKING = Benchmark(
    NDCG,
    by_field=False,
    reads="probability",
    block=("field_to_document", "qrels", "retrieved_ids", "scorable_ids"),
    custom=scorers.ranking_means,
)
_F1 = Benchmark(MACRO_F1, by_label=True, details={"macro_f1": _macro_f1})
_ADDED = Benchmark(added=True)

# Benchmarks that are not here are scored by accuracy of fields.
BENCHMARKS: dict[int, Benchmark] = {
    1: Benchmark(**_EXACT, **_POSITIVE),
    2: _RANKING,
    4: _F1,
    5: _F1,
    6: Benchmark(
        QUALITY,
        by_field=False,
        reads="outcome",
        block=("outcomes", "cost_penalty_per_usd"),
        custom=scorers.routing_means,
    ),
    9: Benchmark(**_EXACT, details={"subgroups": _hits_by(scorers.by_role)}),
    10: _F1,
    11: _F1,
    12: _F1,
    20: Benchmark(details={"subgroups": _hits_by(partial(scorers.by_fact, "variant"))}),
    22: Benchmark(
        details={
            "cluster_macro_accuracy": _share_right_by("song_id"),
            "subgroups": _hits_by(partial(scorers.by_fact, "gold_class")),
        }
    ),
    23: Benchmark(details={"cluster_macro_accuracy": _share_right_by("user_id")}),
    31: Benchmark(accepts_ties=True, reads="outcome", block=("accepted", "values"), custom=scorers.chess_regret),
    33: Benchmark(**_EXACT, **_POSITIVE),
    36: _RANKING,
    37: _F1,
    38: Benchmark(**_EXACT, **_POSITIVE),
    39: _F1,
    40: Benchmark(
        None,
        by_label=True,
        details={
            "macro_f1": _macro_f1,
            "positive_f1_by_field": scorers.positive_f1_by_field,
            "category_macro_f1": scorers.category_macro_f1,
        },
    ),
    41: _F1,
    42: _F1,
    48: Benchmark(
        BRIER,
        by_field=False,
        reads="probability",
        details={"subgroups": partial(scorers.subgroups, scorers.by_kind, scorers.brier_terms)},
        custom=scorers.forecast_means,
    ),
    50: Benchmark(
        accepts_ties=True,
        reads="outcome",
        block=("accepted", "summed_ranks", "panel_size"),
        custom=scorers.consensus_regret,
    ),
    56: Benchmark(added=True, questions=("verdict",)),
    57: _ADDED,
    58: _ADDED,
    59: Benchmark(HALLUCINATION_F1, added=True),
    61: _ADDED,
    62: _ADDED,
    64: _ADDED,
}
DEFAULT = Benchmark()


@dataclass(frozen=True)
class TrackRule:
    """Raw value and chance of one track over all its cases. chance None: a frozen value of the track."""

    raw: Scorer
    chance: Scorer | None


@dataclass(frozen=True)
class Tracks:
    """How a track-scored benchmark falls into tracks.

    rule: of every track but the `special` ones. split: by track name (else one track called `all`).
    leaves_out: part of the name of tracks that do not count. headline: the track whose values stand for the benchmark
    (else the means over tracks), and the metric label that it is shown under.
    """

    rule: TrackRule
    split: bool = False
    special: Mapping[str, TrackRule] = field(default_factory=dict)
    leaves_out: str | None = None
    headline: str | None = None
    headline_metric: str | None = None

    def rule_of(self, track: str) -> TrackRule:
        """The rule of the track with that name."""
        return self.special.get(track, self.rule)


def _hits(fact: str | None = None) -> TrackRule:
    return TrackRule(partial(scorers.accuracy, fact=fact), partial(scorers.chance_hits, fact=fact))


_RANKED = Tracks(TrackRule(scorers.raw_ndcg, scorers.chance_ndcg))
_MACRO_F1 = Tracks(TrackRule(scorers.raw_macro_f1, None))
_TIES = Tracks(TrackRule(scorers.accuracy, scorers.chance_hits))

# Benchmarks that are not here have one track, scored by hits.
TRACKS: dict[int, Tracks] = {
    1: Tracks(TrackRule(scorers.case_exact_accuracy, scorers.chance_exact)),
    2: _RANKED,
    6: Tracks(TrackRule(scorers.routed_quality, scorers.chance_quality), split=True),
    11: _MACRO_F1,
    20: Tracks(_hits("variant")),
    22: Tracks(_hits("song_id")),
    23: Tracks(_hits("user_id")),
    24: Tracks(_hits("subject")),
    30: Tracks(_hits(), split=True),
    31: _TIES,
    36: _RANKED,
    37: _MACRO_F1,
    40: Tracks(
        _hits(),
        split=True,
        special=dict.fromkeys(("iSarcasmEval-A-En", "iSarcasmEval-A-Ar"), TrackRule(scorers.raw_yes_f1, None)),
        leaves_out="-B-",
        headline="iSarcasmEval-A-En",
        headline_metric="Sarcasm F1 · track A, English",
    ),
    41: _MACRO_F1,
    50: _TIES,
}
DEFAULT_TRACKS = Tracks(_hits())

TRACK_NAMES = {
    "iSarcasmEval-A-En": "A · English",
    "iSarcasmEval-A-Ar": "A · Arabic",
    "iSarcasmEval-B-En": "B · English figurative",
    "iSarcasmEval-C-En": "C · English pairs",
    "iSarcasmEval-C-Ar": "C · Arabic pairs",
}
