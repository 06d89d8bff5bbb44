"""Metrics over cases: which fields and groups a metric is fed with.

Scorers of benchmark values give an estimator (estimators.py), which has an exact value and one on every resample of the
groups; scorers of details give numbers or a dictionary of numbers, None for what these cases do not give. The native
report feeds whole cases only (every request of the group is ok). Track scores are made of all cases, so their scorers
count a case that is not whole as wrong.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain
from typing import Any

import numpy as np

from scoring import metrics
from scoring.cases import Sheet
from scoring.estimators import LabelF1, MacroMean, Mean
from scoring.metrics import mean

YES, TRUE = "yes", 1  # the key of a choice, and the place of `true` among the options of a noul
FORECAST_FIELD = "answer"
ROUTING_OBJECTIVES = ("quality", "cost_aware")


def of_fields(cases: Sheet, values: np.ndarray, fact: str | None = None) -> Mean | MacroMean:
    """Mean of a value a field; with `fact` the mean over clusters of requests that share that fact."""
    if fact is None:
        return Mean(values, cases.group_of_field)
    codes: dict[Any, int] = {}
    clusters = np.array([codes.setdefault(value, len(codes)) for value in cases.facts(fact)], int)
    return MacroMean(values, cases.group_of_field, clusters[cases.request])


def of_requests(cases: Sheet, values: Iterable[float]) -> Mean:
    """Mean of a value a request."""
    return Mean(np.array(list(values), float), cases.group)


def of_groups(cases: Sheet, value: Callable[[np.ndarray], float]) -> Mean:
    """Mean of a value a group; `value` takes the places of the group's requests."""
    members = group_members(cases)
    return Mean(np.array(list(map(value, members.values())), float), np.array(list(members), int))


def group_members(cases: Sheet) -> dict[int, np.ndarray]:
    """Group number -> places of its requests in this sheet."""
    order = np.argsort(cases.group, kind="stable")
    numbers, starts = np.unique(cases.group[order], return_index=True)
    return dict(zip(numbers.tolist(), np.split(order, starts[1:]), strict=True)) if len(order) else {}


def asked(cases: Sheet, question: str) -> np.ndarray:
    """Places of the fields of a question that every request has, in the order of requests."""
    return np.flatnonzero(np.array(cases.questions) == question)


# Native report and track scores


def accuracy(cases: Sheet, fact: str | None = None) -> Mean | MacroMean:
    """Share of right fields; with `fact` the mean over its clusters."""
    return of_fields(cases, cases.hit & cases.whole[cases.request], fact)


def case_exact_accuracy(cases: Sheet) -> Mean:
    """Share of groups with every field right."""
    exact = np.bincount(cases.group_of_field, ~cases.hit, cases.groups) + np.bincount(cases.group, ~cases.whole, cases.groups)
    present = np.unique(cases.group)
    return Mean(exact[present] == 0, present)


def routed_quality(cases: Sheet) -> Mean:
    """Mean quality of what was chosen for question `quality`."""
    keys = cases.cases.predicted_keys(cases.fields[asked(cases, "quality")])
    chosen = zip(cases.blocks, keys, cases.whole, strict=True)
    return of_requests(cases, (block["outcomes"][key]["quality"] if whole else 0.0 for block, key, whole in chosen))


# Native report


def macro_f1(cases: Sheet) -> LabelF1:
    """Macro-F1 over the labels that occur."""
    return LabelF1(*cases.label_codes(), cases.group_of_field)


def review_f1(cases: Sheet) -> Mean:
    """Mean over reviews (groups) of the F1 of `yes` over all fields of the review; 1 when neither gold nor predictions
    have any."""
    gold, predicted = _said_yes(cases)
    present = np.unique(cases.group)

    def count(fields: np.ndarray) -> np.ndarray:
        return np.bincount(cases.group_of_field, fields, cases.groups)[present]

    hits, seen = count(gold & predicted), count(gold) + count(predicted)
    return Mean(np.where(seen > 0, 2 * hits / np.maximum(seen, 1), 1.0), present)


def _said_yes(cases: Sheet) -> tuple[np.ndarray, np.ndarray]:
    """Whether the gold answer and the prediction of a field are the key `yes`."""
    has_yes = cases.yes >= 0
    return has_yes & (cases.gold == cases.yes), has_yes & (cases.predicted == cases.yes)


def _f1(gold: np.ndarray, predicted: np.ndarray, groups: np.ndarray, missing: np.ndarray | None = None) -> LabelF1:
    """F1 of what holds in gold and predictions."""
    return LabelF1(gold.astype(int), predicted.astype(int), groups, np.array([1]), missing)


def positive_micro_f1(cases: Sheet) -> float:
    """F1 of `yes` over all fields pooled."""
    return _f1(*_said_yes(cases), cases.group_of_field).value()


def positive_f1_by_field(cases: Sheet) -> dict[str, float]:
    """F1 of `yes` per question key, for the keys whose golds are all yes or no."""
    gold, predicted = _said_yes(cases)
    questions, groups = np.array(cases.questions), cases.group_of_field
    keys = cases.cases.gold.keys(cases.fields, cases.gold)
    binary = np.isin(keys, [YES, "no"])
    return {
        question: _f1(gold[own], predicted[own], groups[own]).value()
        for question in dict.fromkeys(cases.questions)
        if binary[own := questions == question].all()
    }


def category_macro_f1(cases: Sheet) -> float | None:
    """Mean of `positive_f1_by_field`."""
    return mean(positive_f1_by_field(cases).values())


def true_f1(cases: Sheet) -> LabelF1:
    """F1 of the noul answer true."""
    return _f1(cases.gold == TRUE, cases.predicted == TRUE, cases.group_of_field)


@dataclass(frozen=True)
class Ranking:
    """The documents of a query as an engine ranks them. facts: scoring block of the query."""

    documents: list[str]
    facts: dict

    @cached_property
    def ndcg(self) -> float | None:
        """nDCG@10, None when nothing is relevant."""
        return metrics.ndcg(self.documents, self.facts["qrels"])

    def measures(self) -> dict[str, float | None]:
        """Every retrieval measure, of the first stage too."""
        qrels, scorable, retrieved = (self.facts[name] for name in ("qrels", "scorable_ids", "retrieved_ids"))
        first_stage = metrics.rank(metrics.retrieval_probabilities(retrieved), scorable)
        return {
            "ndcg_at_10": self.ndcg,
            "mrr": metrics.reciprocal_rank(self.documents, qrels),
            "recall_at_10": metrics.recall(self.documents[: metrics.TOP], qrels),
            "candidate_recall": self.facts.get("candidate_recall"),
            "scorable_candidate_recall": metrics.recall(scorable, qrels),
            "candidates_scored": len(scorable),
            "candidates_retrieved": len(retrieved),
            "bm25_ndcg_at_10": metrics.ndcg(first_stage, qrels),
        }


def rankings(cases: Sheet) -> dict[int, Ranking]:
    """Group number -> ranking of every whole query."""
    whole = cases.select(cases.whole)
    starts, blocks = np.searchsorted(whole.request, np.arange(len(whole) + 1)), whole.blocks
    return {
        number: whole.cached(int(whole.positions[members[0]]), partial(_ranking, whole, members, starts, blocks))
        for number, members in group_members(whole).items()
    }


def _ranking(cases: Sheet, members: np.ndarray, starts: np.ndarray, blocks: list[dict]) -> Ranking:
    """The chunks of a query are merged: document -> probability of `yes` of the field that stands for it."""
    probabilities = {}
    for request in members.tolist():
        documents, fields = blocks[request]["field_to_document"], slice(starts[request], starts[request + 1])
        told = zip(cases.questions[fields], cases.p_yes[fields].tolist(), strict=True)
        probabilities |= {documents[question]: p_yes for question, p_yes in told}
    facts = blocks[members[0]]
    return Ranking(metrics.rank(probabilities, facts["scorable_ids"]), facts)


def unjudged(cases: Sheet) -> int:
    """Number of queries without any relevant document, so that no ranking of them can be measured."""
    blocks = cases.blocks
    firsts = (blocks[members[0]]["qrels"] for members in group_members(cases).values())
    return sum(not metrics.relevant(qrels, qrels) for qrels in firsts)


def means(measured: Iterable[dict[str, float | None]]) -> dict[str, float | None]:
    """Mean of each measure over the cases that have it."""
    measured = list(measured)
    values = {name: [measures.get(name) for measures in measured] for name in dict.fromkeys(chain.from_iterable(measured))}
    return {name: mean(value for value in own if value is not None) for name, own in values.items()}


def ndcg(cases: Sheet) -> Mean:
    """Mean nDCG@10 over the queries that have a relevant document."""
    values = {number: ranking.ndcg for number, ranking in rankings(cases).items()}
    known = {number: value for number, value in values.items() if value is not None}
    return Mean(np.array(list(known.values()), float), np.array(list(known), int))


def ranking_means(cases: Sheet) -> dict[str, float | None]:
    """Mean of every retrieval measure."""
    return means(ranking.measures() for ranking in rankings(cases).values())


def routing_means(cases: Sheet) -> dict[str, float | None]:
    """Means of what the choices for both objectives give; cost counts only when the objective is cost-aware."""
    return {
        f"{objective}_{name}": value
        for objective in ROUTING_OBJECTIVES
        for name, value in means(_routes(cases, objective)).items()
    }


def _routes(cases: Sheet, objective: str) -> Iterator[dict[str, float]]:
    keys = cases.cases.predicted_keys(cases.fields[asked(cases, objective)])
    for block, key in zip(cases.blocks, keys, strict=True):
        penalty = 0.0 if objective == "quality" else block["cost_penalty_per_usd"]
        yield metrics.routing(block["outcomes"], key, penalty)


def chess_regret(cases: Sheet) -> dict[str, float | None]:
    """Mean value lost by the move."""
    return {"value_regret": mean(metrics.value_regret(block["values"], key) for block, key in _choices(cases))}


def consensus_regret(cases: Sheet) -> dict[str, float | None]:
    """Mean normalized rank lost by the choice."""
    regrets = (metrics.rank_regret(block["summed_ranks"], key, block["panel_size"]) for block, key in _choices(cases))
    return {"normalized_rank_regret": mean(regrets)}


def _choices(cases: Sheet) -> Iterator[tuple[dict, str]]:
    """Scoring block and chosen option of every field."""
    blocks = cases.blocks
    return ((blocks[request], key) for request, key in zip(cases.request, cases.predicted_keys(), strict=True))


def _forecasts(cases: Sheet) -> tuple[np.ndarray, np.ndarray]:
    """Probability of yes, and whether yes came true, by request."""
    fields = asked(cases, FORECAST_FIELD)
    return cases.p_yes[fields], (cases.gold == cases.yes)[fields]


def brier(cases: Sheet) -> Mean:
    """Mean Brier score."""
    return of_requests(cases, metrics.brier(*_forecasts(cases)))


def forecast_means(cases: Sheet) -> dict[str, float | None]:
    """Mean Brier score, log loss and accuracy of p >= 0.5."""
    probability, happened = _forecasts(cases)
    return {
        "brier": brier(cases).value(),
        "log_loss": mean(map(metrics.log_loss, probability.tolist(), happened.tolist())),
        "accuracy": mean((probability >= 0.5) == happened),
    }


def subgroups(names: Callable[[Sheet], Sequence], values: Callable[[Sheet], np.ndarray], cases: Sheet) -> dict[str, dict]:
    """Count and mean of a value a field per subgroup, names sorted. `names` gives the subgroup by field."""
    members = defaultdict(list)
    for name, value in zip(names(cases), values(cases).tolist(), strict=True):
        members[str(name)].append(value)
    return {name: {"n": len(members[name]), "mean": mean(members[name])} for name in sorted(members)}


def hits(cases: Sheet) -> np.ndarray:
    """Whether a field is right."""
    return cases.hit


def by_fact(fact: str, cases: Sheet) -> list:
    """A fact of the row, by field."""
    facts = cases.facts(fact)
    return [facts[request] for request in cases.request]


def by_role(cases: Sheet) -> list[str]:
    """Role of the question, by field: what stands before the colon in `question_roles`."""
    roles = cases.facts("question_roles")
    return [
        (roles[request] or {}).get(question, "").partition(":")[0]
        for request, question in zip(cases.request, cases.questions, strict=True)
    ]


def by_kind(cases: Sheet) -> list[str]:
    """`joint` forecasts are about two things at once and have a direction; the others are `scalar`."""
    return ["scalar" if direction is None else "joint" for direction in cases.facts("direction")]


def brier_terms(cases: Sheet) -> np.ndarray:
    """Brier score by request."""
    return metrics.brier(*_forecasts(cases))


# Track scores


def raw_ndcg(cases: Sheet) -> Mean:
    """Mean nDCG@10 over all queries; 0 for one that is not whole or has no relevant document."""
    measured = {number: ranking.ndcg for number, ranking in rankings(cases).items()}
    present = np.unique(cases.group)
    return Mean(np.array([measured.get(number) or 0.0 for number in present.tolist()], float), present)


def chance_ndcg(cases: Sheet) -> Mean:
    """Mean expected nDCG@10 of random orders."""
    blocks = cases.blocks
    return of_groups(
        cases, lambda members: metrics.expected_ndcg(blocks[members[0]]["scorable_ids"], blocks[members[0]]["qrels"])
    )


def chance_quality(cases: Sheet) -> Mean:
    """Mean quality of a random option."""
    return of_requests(cases, (mean(outcome["quality"] for outcome in block["outcomes"].values()) for block in cases.blocks))


def chance_exact(cases: Sheet) -> Mean:
    """Mean over groups of the chance that random answers are all right."""
    starts = np.searchsorted(cases.request, np.arange(len(cases) + 1))
    chances = (1 / cases.options).tolist()
    return of_groups(
        cases, lambda members: math.prod(math.prod(chances[starts[one] : starts[one + 1]]) for one in members)
    )


def chance_hits(cases: Sheet, fact: str | None = None) -> Mean | MacroMean:
    """Mean of accepted options / options; with `fact` the mean over its clusters."""
    return of_fields(cases, cases.accepted / cases.options, fact)


def raw_macro_f1(cases: Sheet) -> LabelF1:
    """Macro-F1 over all option labels of the track, unanswered fields in every denominator."""
    gold, predicted = cases.label_codes()
    answered = cases.whole[cases.request]
    groups = cases.group_of_field
    return LabelF1(gold[answered], predicted[answered], groups[answered], cases.all_labels(), groups[~answered])


def raw_yes_f1(cases: Sheet) -> LabelF1:
    """F1 of `yes`, unanswered fields in the denominator."""
    gold, predicted = _said_yes(cases)
    answered = cases.whole[cases.request]
    groups = cases.group_of_field
    return _f1(gold[answered], predicted[answered], groups[answered], groups[~answered])


# Chance on the rows of an added benchmark


def chance_true_f1(cases: Sheet) -> float | None:
    """Expected F1 of random answers: p / (p + 0.5), p the share of true golds."""
    share = mean(cases.gold == TRUE)
    return share and share / (share + 0.5)
