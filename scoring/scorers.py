"""From the cases of one benchmark (or one of its tracks) to a number: which fields and groups a metric is fed with.

Each scorer takes a sequence of cases and returns a number or a dictionary of numbers; None stands for a value that
these cases do not give. The native report feeds whole cases only (every request of the group is ok). Track scores are
made of all cases, so their scorers count a case that is not whole as wrong.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scoring import metrics
from scoring.cases import Case, Field, groups
from scoring.metrics import mean

Cases = Sequence[Case]
YES = "yes"
FORECAST_FIELD = "answer"
ROUTING_OBJECTIVES = ("quality", "cost_aware")


def fields(cases: Cases) -> Iterator[Field]:
    """All scored fields in order."""
    return (field for case in cases for field in case.fields)


def only(case: Case, question: str) -> Field:
    """The field of a case that has this question."""
    return next(field for field in case.fields if field.question == question)


def answers(cases: Cases) -> tuple[list, list]:
    """Gold answers and predictions of all fields, as option keys."""
    return [field.gold for field in fields(cases)], [field.prediction for field in fields(cases)]


def labels(cases: Cases) -> tuple[list[str], list[str]]:
    """Gold and predicted label texts of all fields."""
    return (
        [field.label(field.gold) for field in fields(cases)],
        [field.label(field.prediction) for field in fields(cases)],
    )


# Native report and track scores


def accuracy(cases: Cases, fact: str | None = None) -> float | None:
    """Share of right fields; with `fact` the mean over clusters of rows that share that fact."""
    return _field_means(cases, lambda case, field: case.whole and field.hit, fact)


def _field_means(cases: Cases, value: Callable[[Case, Field], float], fact: str | None = None) -> float | None:
    values = [value(case, field) for case in cases for field in case.fields]
    if fact is None:
        return mean(values)
    return metrics.macro_mean(values, [case.facts.get(fact) for case in cases for _field in case.fields])


def case_exact_accuracy(cases: Cases) -> float | None:
    """Share of groups with every field right."""
    return mean(group[0].whole and all(field.hit for field in fields(group)) for group in groups(cases))


def routed_quality(cases: Cases) -> float | None:
    """Mean quality of what was chosen for question `quality`."""
    return mean(routing_outcome(case, "quality")["quality"] if case.whole else 0.0 for case in cases)


def routing_outcome(case: Case, objective: str) -> dict[str, float]:
    """What the option chosen for one of ROUTING_OBJECTIVES gives; cost counts only when the objective is cost-aware."""
    penalty = 0.0 if objective == "quality" else case.scoring["cost_penalty_per_usd"]
    return metrics.routing(case.scoring["outcomes"], only(case, objective).prediction, penalty)


# Native report


def macro_f1(cases: Cases) -> float | None:
    """Macro-F1 over the labels that occur."""
    return metrics.macro_f1(*labels(cases))


def review_f1(cases: Cases) -> float | None:
    """Mean over reviews (groups) of the F1 of `yes` over all fields of the review."""
    return mean(metrics.review_f1(*answers(group), YES) for group in groups(cases))


def positive_micro_f1(cases: Cases) -> float:
    """F1 of `yes` over all fields pooled."""
    return metrics.binary_f1(*answers(cases), YES)


def positive_f1_by_field(cases: Cases) -> dict[str, float]:
    """F1 of `yes` per question key, for the keys whose golds are all yes or no."""
    by_question = defaultdict(list)
    for field in fields(cases):
        by_question[field.question].append(field)
    return {
        question: metrics.binary_f1([field.gold for field in asked], [field.prediction for field in asked], YES)
        for question, asked in by_question.items()
        if {field.gold for field in asked} <= {YES, "no"}
    }


def category_macro_f1(cases: Cases) -> float | None:
    """Mean of `positive_f1_by_field`."""
    return mean(positive_f1_by_field(cases).values())


def true_f1(cases: Cases) -> float:
    """F1 of the noul answer true."""
    return metrics.binary_f1(*answers(cases), True)


def rankings(cases: Cases) -> list[dict[str, float | None]]:
    """Every retrieval measure of every query (group)."""
    return [ranking_measures(group) for group in groups(cases)]


def ranking_measures(group: Cases) -> dict[str, float | None]:
    """The chunks of a query are merged: document -> probability of `yes` of the field that stands for it."""
    block = group[0].scoring
    qrels, scorable, retrieved = block["qrels"], block["scorable_ids"], block["retrieved_ids"]
    probabilities = {
        case.scoring["field_to_document"][field.question]: field.p_yes for case in group for field in case.fields
    }
    ranking = metrics.rank(probabilities, scorable)
    first_stage = metrics.rank(metrics.retrieval_probabilities(retrieved), scorable)
    return {
        "ndcg_at_10": metrics.ndcg(ranking, qrels),
        "mrr": metrics.reciprocal_rank(ranking, qrels),
        "recall_at_10": metrics.recall(ranking[: metrics.TOP], qrels),
        "candidate_recall": block.get("candidate_recall"),
        "scorable_candidate_recall": metrics.recall(scorable, qrels),
        "candidates_scored": len(scorable),
        "candidates_retrieved": len(retrieved),
        "bm25_ndcg_at_10": metrics.ndcg(first_stage, qrels),
    }


def is_unjudged(group: Cases) -> bool:
    """Whether a query has no relevant document at all, so that no ranking of it can be measured."""
    qrels = group[0].scoring["qrels"]
    return not metrics.relevant(qrels, qrels)


def means(measured: Sequence[dict[str, float | None]]) -> dict[str, float | None]:
    """Mean of each measure over the cases that have it."""
    names = dict.fromkeys(name for measures in measured for name in measures)
    return {name: mean(measures[name] for measures in measured if measures.get(name) is not None) for name in names}


def ndcg(cases: Cases) -> float | None:
    """Mean nDCG@10 over the queries that have a relevant document."""
    return means(rankings(cases)).get("ndcg_at_10")


def ranking_means(cases: Cases) -> dict[str, float | None]:
    """Mean of every retrieval measure."""
    return means(rankings(cases))


def routing_means(cases: Cases) -> dict[str, float | None]:
    """Means of what the choices for both objectives give."""
    return means([_both_outcomes(case) for case in cases])


def _both_outcomes(case: Case) -> dict[str, float]:
    return {
        f"{objective}_{name}": value
        for objective in ROUTING_OBJECTIVES
        for name, value in routing_outcome(case, objective).items()
    }


def chess_regret(cases: Cases) -> dict[str, float | None]:
    """Mean value lost by the move."""
    return {
        "value_regret": mean(
            metrics.value_regret(case.scoring["values"], field.prediction) for case in cases for field in case.fields
        )
    }


def consensus_regret(cases: Cases) -> dict[str, float | None]:
    """Mean normalized rank lost by the choice."""
    return {
        "normalized_rank_regret": mean(
            metrics.rank_regret(case.scoring["summed_ranks"], field.prediction, case.scoring["panel_size"])
            for case in cases
            for field in case.fields
        )
    }


def forecast(case: Case) -> tuple[float, bool]:
    """Probability of yes, and whether yes came true."""
    field = only(case, FORECAST_FIELD)
    return field.p_yes, field.gold == YES


def brier(cases: Cases) -> float | None:
    """Mean Brier score."""
    return mean(metrics.brier(*forecast(case)) for case in cases)


def forecast_means(cases: Cases) -> dict[str, float | None]:
    """Mean Brier score, log loss and accuracy of p >= 0.5."""
    forecasts = [forecast(case) for case in cases]
    return {
        "brier": brier(cases),
        "log_loss": mean(metrics.log_loss(*made) for made in forecasts),
        "accuracy": mean((probability >= 0.5) == happened for probability, happened in forecasts),
    }


def subgroups(members: Callable[[Case], Iterator[tuple[Any, float]]], cases: Cases) -> dict[str, dict]:
    """Count and mean per subgroup, names sorted. `members` gives (subgroup, value) pairs of a case."""
    values = defaultdict(list)
    for case in cases:
        for name, value in members(case):
            values[str(name)].append(value)
    return {name: {"n": len(values[name]), "mean": mean(values[name])} for name in sorted(values)}


def hits_of_fact(fact: str, case: Case) -> Iterator[tuple[Any, bool]]:
    """By a fact of the row."""
    return ((case.facts.get(fact), field.hit) for field in case.fields)


def hits_of_role(case: Case) -> Iterator[tuple[Any, bool]]:
    """By role of the question: what stands before the colon in `question_roles`."""
    roles = case.facts.get("question_roles", {})
    return ((roles.get(field.question, "").partition(":")[0], field.hit) for field in case.fields)


def brier_of_kind(case: Case) -> Iterator[tuple[str, float]]:
    """`joint` forecasts are about two things at once and have a direction; the others are `scalar`."""
    yield "scalar" if case.facts.get("direction") is None else "joint", metrics.brier(*forecast(case))


# Track scores


def raw_ndcg(cases: Cases) -> float:
    """Mean nDCG@10 over all queries; 0 for one that is not whole or has no relevant document."""
    return mean((ranking_measures(group)["ndcg_at_10"] or 0.0) if group[0].whole else 0.0 for group in groups(cases))


def chance_ndcg(cases: Cases) -> float:
    """Mean expected nDCG@10 of random orders."""
    blocks = (group[0].scoring for group in groups(cases))
    return mean(metrics.expected_ndcg(block["scorable_ids"], block["qrels"]) for block in blocks)


def chance_quality(cases: Cases) -> float:
    """Mean quality of a random option."""
    return mean(mean(outcome["quality"] for outcome in case.scoring["outcomes"].values()) for case in cases)


def chance_exact(cases: Cases) -> float:
    """Mean over groups of the chance that random answers are all right."""
    return mean(math.prod(1 / len(field.options) for field in fields(group)) for group in groups(cases))


def chance_hits(cases: Cases, fact: str | None = None) -> float:
    """Mean of 1 / options; with `fact` the mean over its clusters."""
    return _field_means(cases, lambda _case, field: 1 / len(field.options), fact)


def chance_accepted(cases: Cases) -> float:
    """Mean of accepted options / options."""
    return _field_means(cases, lambda _case, field: len(field.accepted) / len(field.options))


def raw_macro_f1(cases: Cases) -> float:
    """Macro-F1 over all option labels of the track, unanswered fields in every denominator."""
    universe = {label for field in fields(cases) for label in field.options.values()}
    return metrics.conservative_macro_f1(*labels(_whole(cases)), universe, _missing(cases))


def raw_yes_f1(cases: Cases) -> float:
    """F1 of `yes`, unanswered fields in the denominator."""
    return metrics.binary_f1(*answers(_whole(cases)), YES, _missing(cases))


def _whole(cases: Cases) -> list[Case]:
    return [case for case in cases if case.whole]


def _missing(cases: Cases) -> int:
    return sum(len(case.fields) for case in cases if not case.whole)


# Chance on the rows of an added benchmark


def chance_true_f1(cases: Cases) -> float | None:
    """Expected F1 of random answers: p / (p + 0.5), p the share of true golds."""
    share = mean(field.gold is True for field in fields(cases))
    return share and share / (share + 0.5)
