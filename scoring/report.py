"""The score job: a suite and a results file in, the score files out.

Writes benchmark-summary.json, index.json, scores.json (contents: documents.py) and cases.parquet (case_table.py).
"""

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from engines.results import read_results
from scoring import case_table, documents, index
from scoring.cases import ERROR, Case, Joined, Problem, groups, join
from scoring.editions import Edition, edition
from scoring.errors import ScoreError
from scoring.index import Value
from scoring.native import entry
from scoring.scorers import is_unjudged
from scoring.tracks import TrackScore, score_tracks
from suite_builder.catalog import benchmarks as catalog
from suite_builder.suite import Suite

SUMMARY, INDEX, SCORES, CASES = "benchmark-summary.json", "index.json", "scores.json", "cases.parquet"
RESULTS_A_STEP = 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """Progress event: so many lines of the results file are read."""

    lines: int


@dataclass(frozen=True, slots=True)
class Scoring:
    """Progress event: so many benchmarks are scored."""

    benchmarks: int
    of: int


Emit = Callable[[Reading | Scoring], None]


@dataclass(frozen=True)
class Scores:
    """The three documents, what a reader should be told beside them, and the results that were invalid."""

    summary: dict
    index: dict
    scores: dict
    warnings: list[str] = field(default_factory=list)
    invalid: list[Problem] = field(default_factory=list)


def score(
    suite: Suite,
    results: Path,
    out: Path,
    engine_name: str,
    reference: Path | None = None,
    emit: Emit | None = None,
) -> Scores:
    """Score a results file under the suite's edition and write the score files into `out`.

    Args:
        reference: results of another run, whose values on the same cases stand beside each score.

    Raises:
        ResultsError: a results file is missing or malformed.
        SuiteError: a row is malformed.
        ScoreError: no result belongs to the suite, a row cannot be scored, or `out` cannot be written.
    """
    emit = emit or (lambda _event: None)
    rules = edition(suite.edition.id)
    joined = join(suite.labels(), _counting(read_results(results), emit), rules.benchmark)
    compared = reference and join(suite.labels(), read_results(reference), rules.benchmark)
    if joined.statuses and not joined.counted:
        raise ScoreError(
            f"none of the {len(joined.statuses):,} results in {results} belongs to a row that edition {rules.id}"
            f" reads in {suite.name}; give the --suite-dir and --edition of the run"
        )
    scores = _score(suite, rules, joined, compared, engine_name, emit)
    _write(out, scores, rules, joined.cases)
    return scores


def _counting(rows: Iterator[dict], emit: Emit) -> Iterator[dict]:
    for number, row in enumerate(rows, start=1):
        if number % RESULTS_A_STEP == 0:
            emit(Reading(number))
        yield row


def _score(
    suite: Suite, rules: Edition, joined: Joined, compared: Joined | None, engine_name: str, emit: Emit
) -> Scores:
    reference = compared and {case.run_id: case for case in compared.cases}
    by_benchmark = _by_benchmark(rules, joined.cases)
    entries, track_scores = [], {}
    for number, (catalog_id, cases) in enumerate(by_benchmark.items(), start=1):
        entries.append(entry(catalog_id, cases[0].dataset, rules.benchmark(catalog_id), cases, reference))
        if catalog_id in rules.track_scored:
            track_scores[catalog_id] = score_tracks(catalog_id, cases)
        emit(Scoring(number, len(by_benchmark)))
    absent = [catalog_id for catalog_id in (*rules.panel, *rules.shown) if catalog_id not in by_benchmark]
    empty = [entry(catalog_id, catalog()[catalog_id].dataset, rules.benchmark(catalog_id), []) for catalog_id in absent]
    values = _values(rules, {report["catalog_id"]: report for report in entries + empty}, track_scores)
    summary = documents.summary(rules, engine_name, joined, entries)
    indexed = documents.index_document(rules, values, index.build(rules, values), track_scores)
    scores = documents.scores_document(rules, engine_name, joined, entries + empty, values, indexed)
    scores["generated_utc"] = datetime.now(UTC).isoformat(timespec="seconds")
    if suite.partial:
        scores["partial_suite"] = True
    if joined.problems:
        scores["invalid"] = [asdict(problem) for problem in joined.problems]
    return Scores(summary, indexed, scores, _warnings(suite, rules, joined, absent), joined.problems)


def _by_benchmark(rules: Edition, cases: list[Case]) -> dict[int, list[Case]]:
    """Cases by catalog id: base benchmarks in order of first appearance, then the added ones by id."""
    members = defaultdict(list)
    for case in cases:
        members[case.catalog_id].append(case)
    added = sorted(catalog_id for catalog_id in members if rules.benchmark(catalog_id).added)
    base = [catalog_id for catalog_id in members if catalog_id not in added]
    return {catalog_id: members[catalog_id] for catalog_id in base + added}


def _values(rules: Edition, reports: dict[int, dict], track_scores: dict[int, TrackScore | None]) -> dict[int, Value]:
    """What every benchmark of the index, counted or only shown, brings to it."""
    values = {
        catalog_id: _value(rules, catalog_id, reports[catalog_id], track_scores.get(catalog_id))
        for catalog_id in (*rules.panel, *rules.shown)
    }
    older = [catalog_id for area in rules.frozen_panel for catalog_id in area.benchmarks]
    return dict.fromkeys(older, index.track_value(None, rounded=False)) | values


def _value(rules: Edition, catalog_id: int, report: dict, tracks: TrackScore | None) -> Value:
    rule, chance = rules.value_rule(catalog_id), rules.chance[catalog_id]
    if rule == "track":
        return index.track_value(tracks, rules.format > 1, chance)
    return index.native_value(rule, report["score"], report["answered"], report["requests"], chance)


def _warnings(suite: Suite, rules: Edition, joined: Joined, absent: list[int]) -> list[str]:
    """What a reader must know to read the numbers right."""
    warnings = []
    known = suite.excluded.union(case.run_id for case in joined.cases)
    strangers = [run_id for run_id in joined.statuses if run_id not in known]
    if not joined.statuses:
        warnings.append("the results file holds no results: every request counts as pending")
    if strangers:
        warnings.append(
            f"{len(strangers):,} results belong to no row that edition {rules.id} reads and are not scored,"
            f" first {strangers[0]}"
        )
    if joined.problems:
        errors = sum(problem.counted_as == ERROR for problem in joined.problems)
        first = joined.problems[0]
        warnings.append(
            f"{len(joined.problems):,} results are invalid ({errors:,} of them counted as errors),"
            f" first {first.run_id}: {first.problem}"
        )
    unjudged = sum(is_unjudged(group) for group in groups(case for case in joined.cases if "qrels" in case.scoring))
    if unjudged:
        warnings.append(f"{unjudged:,} retrieval queries have no relevant document: left out of means, 0 in the index")
    unknown = {case.catalog_id for case in joined.cases} - catalog().keys()
    if unknown:
        warnings.append(
            f"catalog ids {', '.join(map(str, sorted(unknown)))} are no benchmarks of the suite:"
            " scored by accuracy of fields, in no index"
        )
    missing = sum(catalog_id in absent for catalog_id in rules.panel)
    if missing:
        warnings.append(
            f"{missing} of {len(rules.panel)} benchmarks of the index have no rows in this suite and count as 0:"
            f" the index is not that of edition {rules.id}"
        )
    return warnings


def _write(out: Path, scores: Scores, rules: Edition, cases: list[Case]) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        for name, document in ((SUMMARY, scores.summary), (INDEX, scores.index), (SCORES, scores.scores)):
            text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
            with _replacing(out / name) as temporary:
                temporary.write_text(text, "utf-8")
        with _replacing(out / CASES) as temporary:
            case_table.write(temporary, cases, rules)
    except OSError as error:
        reason = error.strerror or error
        raise ScoreError(f"cannot write the scores into {out}: {reason}; free some space or give --out") from None


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` at the end of a `with` block without error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
