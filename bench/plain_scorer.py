"""The straightforward way to score a run, to measure against: one process, the json module, a Python loop a metric.

Gives the value of every benchmark of edition 0.2.1 and the index, and no more: no details, no tables, no intervals. Its
numbers equal those of `scoring` (bench/scoring.py checks it).
"""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean

from engines.wire import InvalidResponse, validate
from scoring import index, metrics
from scoring.benchmarks import BENCHMARKS, BRIER, EXACT, HALLUCINATION_F1, MACRO_F1, NDCG
from scoring.editions import Edition, frozen_chance
from suite_builder.suite import Suite

CLUSTERS = {20: "variant", 22: "song_id", 23: "user_id", 24: "subject"}


class Row:
    """One row with its last result. Has what cuts look at."""

    def __init__(self, row: dict):
        facts = row["_evaluation"]
        self.run_id, self.catalog_id, self.group_id = facts["run_id"], facts["catalog_id"], facts["group_id"]
        self.track, self.questions, self.expected = facts["track"], row["questions"], row["expected"]
        self.scoring = row.get("scoring") or {}
        self.facts = {**(row.get("provenance") or {}), **(row.get("metadata") or {})}
        self.answers, self.ok, self.whole = {}, False, False

    @property
    def fields(self):
        """(gold, prediction, answer, question) of every scored question."""
        for name, question in self.questions.items():
            if name not in self.scoring.get("unscored_fields", ()) and (self.catalog_id != 56 or name == "verdict"):
                answer = self.answers.get(name, {})
                prediction = answer["noul"] >= 0.5 if "noul" in answer else answer.get("choice")
                yield self.expected.get(name), prediction, answer, question

    def hits(self):
        """Whether each field is right."""
        accepted = self.scoring.get("accepted") if self.catalog_id in (31, 50) else None
        return [self.whole and (prediction in accepted if accepted else prediction == gold) for gold, prediction, *_ in self.fields]


def score(suite: Suite, results: Path, edition: Edition) -> index.Index:
    """The index of a run."""
    rows = read_rows(suite)
    read_results(results, rows)
    groups = defaultdict(list)
    for row in rows.values():
        added = row.catalog_id in BENCHMARKS and BENCHMARKS[row.catalog_id].added
        groups[row.catalog_id, row.run_id if added else row.group_id].append(row)
    for group in groups.values():
        for row in group:
            row.whole = all(other.ok for other in group)
    cases = defaultdict(list)
    for row in rows.values():
        cases[row.catalog_id].append(row)
    values = {key: value(edition, key, cases[key]) for key in edition.panel}
    return index.build(edition, values)


def read_rows(suite: Suite) -> dict[str, Row]:
    rows = {}
    for path in suite.files:
        with gzip.open(path) as stream:
            for line in stream:
                row = Row(json.loads(line))
                if row.run_id not in suite.excluded and suite.edition.reads(row):
                    rows[row.run_id] = row
    return rows


def read_results(path: Path, rows: dict[str, Row]) -> None:
    with path.open("rb") as stream:
        for line in stream:
            result = json.loads(line)
            row = rows.get(result["run_id"])
            if row is None:
                continue
            row.answers, row.ok = {}, False
            if result["status"] == "ok":
                try:
                    validate(row.questions, result["response"])
                except InvalidResponse:
                    if BENCHMARKS[row.catalog_id].added:
                        continue
                row.answers, row.ok = result["response"]["answers"], True


def value(edition: Edition, catalog_id: int, rows: list[Row]) -> index.Value:
    rule = edition.value_rule(catalog_id)
    if rule == "track":
        return index.track_value(tracks(catalog_id, rows), True, edition.chance[catalog_id])
    whole = [row for row in rows if row.whole]
    answered = sum(row.ok for row in rows)
    score = native(edition.benchmark(catalog_id).metric, whole) if whole else None
    return index.native_value(rule, score, answered, len(rows), edition.chance[catalog_id])


def by_group(rows: list[Row]) -> list[list[Row]]:
    groups = defaultdict(list)
    for row in rows:
        groups[row.group_id].append(row)
    return list(groups.values())


def native(metric: str, rows: list[Row]) -> float:
    if metric == MACRO_F1:
        return metrics.macro_f1(*labels(rows))
    if metric == EXACT:
        return mean(all(hit for row in group for hit in row.hits()) for group in by_group(rows))
    if metric == "per-review F1":
        return mean(metrics.review_f1(*answers(group), "yes") for group in by_group(rows))
    if metric == BRIER:
        return mean(
            (answer["probabilities"]["yes"] - (gold == "yes")) ** 2 for row in rows for gold, _, answer, _ in row.fields
        )
    if metric == HALLUCINATION_F1:
        return metrics.binary_f1(*answers(rows), True)
    return mean(hit for row in rows for hit in row.hits())


def answers(rows: list[Row]) -> tuple[list, list]:
    return tuple(map(list, zip(*((gold, prediction) for row in rows for gold, prediction, *_ in row.fields), strict=True)))


def label(question: dict, key: str) -> str:
    description = question["criteria"].get(key)
    return key if description is None else json.dumps(description, ensure_ascii=False, sort_keys=True)


def labels(rows: list[Row]) -> tuple[list[str], list[str]]:
    fields = [field for row in rows for field in row.fields]
    return (
        [label(question, gold) for gold, _, _, question in fields],
        [label(question, prediction) for _, prediction, _, question in fields],
    )


def tracks(catalog_id: int, rows: list[Row]) -> dict[str, float]:
    members = defaultdict(list)
    for row in rows:
        if "-B-" not in row.track or catalog_id != 40:
            members[row.track if catalog_id in (30, 40) else "all"].append(row)
    scored = [track(catalog_id, name, own) for name, own in members.items()]
    if catalog_id == 40:
        return scored[list(members).index("iSarcasmEval-A-En")]
    return {name: mean(values[name] for values in scored) for name in scored[0]}


def track(catalog_id: int, name: str, rows: list[Row]) -> dict[str, float]:
    raw, chance = raw_and_chance(catalog_id, name, rows)
    coverage = mean(group[0].whole for group in by_group(rows))
    return {"raw": raw, "chance": chance, "skill": metrics.skill(raw, chance), "coverage": coverage, "pending": 0.0}


def raw_and_chance(catalog_id: int, name: str, rows: list[Row]) -> tuple[float, float]:
    frozen = frozen_chance().get(catalog_id, {}).get(name)
    if frozen is not None:
        whole, missing = [row for row in rows if row.whole], sum(len(row.questions) for row in rows if not row.whole)
        if catalog_id == 40:
            return metrics.binary_f1(*answers(whole), "yes", missing), frozen
        universe = {label(question, key) for row in rows for *_, question in row.fields for key in question["criteria"]}
        return metrics.conservative_macro_f1(*labels(whole), universe, missing), frozen
    if BENCHMARKS.get(catalog_id) and BENCHMARKS[catalog_id].metric == NDCG:
        return mean(map(ndcg, by_group(rows))), mean(map(expected_ndcg, by_group(rows)))
    if catalog_id == 1:
        exact = [all(hit for row in group for hit in row.hits()) for group in by_group(rows)]
        return mean(exact), mean(by_chance(group) for group in by_group(rows))
    clusters = [row.facts.get(CLUSTERS.get(catalog_id)) for row in rows for _field in row.fields]
    right = [hit for row in rows for hit in row.hits()]
    lucky = [
        (len(row.scoring["accepted"]) if catalog_id in (31, 50) else 1) / len(question["criteria"])
        for row in rows
        for *_, question in row.fields
    ]
    return metrics.macro_mean(right, clusters), metrics.macro_mean(lucky, clusters)


def ndcg(group: list[Row]) -> float:
    if not group[0].whole:
        return 0.0
    block = group[0].scoring
    probabilities = {
        row.scoring["field_to_document"][name]: answer["probabilities"]["yes"]
        for row in group
        for name, answer in row.answers.items()
    }
    return metrics.ndcg(metrics.rank(probabilities, block["scorable_ids"]), block["qrels"]) or 0.0


def expected_ndcg(group: list[Row]) -> float:
    return metrics.expected_ndcg(group[0].scoring["scorable_ids"], group[0].scoring["qrels"])


def by_chance(group: list[Row]) -> float:
    product = 1.0
    for row in group:
        for *_, question in row.fields:
            product *= 1 / len(question["criteria"])
    return product
