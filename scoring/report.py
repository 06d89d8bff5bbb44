"""The score job: a suite and a results file in, the score files out.

Writes benchmark-summary.json, index.json, scores.json (contents: documents.py) and cases.parquet (case_table.py).
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from engines.run_dir import RunDir, read_json
from scoring import calibration, case_table, documents, index, stats
from scoring.answers import PENDING
from scoring.cases import Cases, Problem, Sheet
from scoring.editions import Edition, edition
from scoring.errors import ScoreError
from scoring.estimates import Estimate
from scoring.loading import CASES, Reading, load
from scoring.native import entry
from scoring.scorers import unjudged
from suite_builder.catalog import benchmarks as catalog
from suite_builder.suite import Suite

SUMMARY, INDEX, SCORES = "benchmark-summary.json", "index.json", "scores.json"
MISSING_SHOWN = 5


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
    emit: Emit = lambda _event: None,
    strict: bool = False,
    draws: int = stats.DRAWS,
) -> Scores:
    """Score a results file under the suite's edition and write the score files into `out`.

    Args:
        reference: results of another run, whose values on the same cases stand beside each score.
        strict: invalid results are errors everywhere; otherwise base benchmarks count them, as published.
        draws: resamples for the intervals; 0 for none.

    Raises:
        ResultsError: a results file is missing or malformed.
        SuiteError: a row is malformed.
        ScoreError: no result belongs to the suite, a row cannot be scored, or `out` cannot be written.
    """
    rules = edition(suite.edition.id)
    cases = load(suite, results, rules, strict, emit)
    compared = reference and load(suite, reference, rules, strict, gold=cases.gold)
    try:
        out.mkdir(parents=True, exist_ok=True)
        with _replacing(out / CASES) as table, ThreadPoolExecutor(1) as background:
            written = background.submit(case_table.write, table, cases, results)
            scores = _score(suite, rules, cases, compared, engine_name, emit, draws)
            written.result()
        mode = (read_json(RunDir(results.parent).environment) or {}).get("mode")
        scores.scores["latency_mode"] = mode or "unknown"
        _write(out, scores)
    except OSError as error:
        reason = error.strerror or error
        raise ScoreError(f"cannot write the scores into {out}: {reason}; free some space or give --out") from None
    return scores


def _score(
    suite: Suite, rules: Edition, cases: Cases, compared: Cases | None, engine_name: str, emit: Emit, draws: int
) -> Scores:
    sheets, reference = cases.sheets(), compared.sheets() if compared else {}
    entries = []
    for number, (catalog_id, sheet) in enumerate(sheets.items(), start=1):
        entries.append(entry(catalog_id, sheet.dataset, rules.benchmark(catalog_id), sheet, reference.get(catalog_id)))
        emit(Scoring(number, len(sheets)))
    absent = [catalog_id for catalog_id in (*rules.panel, *rules.shown) if catalog_id not in sheets]
    empty = [entry(catalog_id, catalog()[catalog_id].dataset, rules.benchmark(catalog_id), None) for catalog_id in absent]
    estimates = {key: Estimate.of(rules, key, sheets.get(key)) for key in (*rules.panel, *rules.shown)}
    older = [catalog_id for area in rules.frozen_panel for catalog_id in area.benchmarks]
    values = dict.fromkeys(older, index.track_value(None, is_rounded=False))
    values |= {catalog_id: estimate.published() for catalog_id, estimate in estimates.items()}
    summary = documents.summary(rules, engine_name, cases.answers, entries)
    indexed = documents.index_document(rules, values, index.build(rules, values), estimates)
    scores = documents.scores_document(rules, summary, cases.answers, entries + empty, values, indexed)
    scores["generated_utc"] = datetime.now(UTC).isoformat(timespec="seconds")
    if suite.partial:
        scores["partial_suite"] = True
    documents.add_chance_on_rows(scores, rules, sheets, estimates)
    if draws:
        groups = {catalog_id: sheet.groups for catalog_id, sheet in sheets.items()}
        (drawn,) = stats.draw_all([estimates], groups, draws)
        documents.add_intervals(scores, stats.intervals(rules, values, drawn), draws)
    scores["calibration"] = calibration.of_run(sheets, rules)
    if cases.invalid:
        scores["invalid"] = [asdict(problem) for problem in cases.problems]
    return Scores(summary, indexed, scores, list(_warnings(suite, rules, cases, sheets, absent)), cases.problems)


def _warnings(
    suite: Suite, rules: Edition, cases: Cases, sheets: dict[int, Sheet], absent: list[int]
) -> Iterator[str]:
    """What a reader must know to read the numbers right."""
    answers, problems = cases.answers, cases.problems
    if not answers.status.any() and not answers.others.counts:
        yield "the results file holds no results: every request counts as pending"
    elif pending := _pending(cases):
        yield pending
    if answers.others.strangers:
        yield (
            f"{answers.others.strangers:,} results belong to no row that edition {rules.id} reads and are not scored,"
            f" first {answers.others.first}"
        )
    if answers.repeated:
        yield (
            f"{len(answers.repeated):,} run ids have several results that differ, of which the last counts,"
            f" first {answers.repeated[0]}"
        )
    if problems:
        errors = sum(problem.counted_as == "error" for problem in problems)
        yield (
            f"{len(problems):,} results are invalid ({errors:,} of them counted as errors),"
            f" first {problems[0].run_id}: {problems[0].problem}"
        )
    without = sum(unjudged(sheet) for key, sheet in sheets.items() if "qrels" in rules.benchmark(key).block)
    if without:
        yield f"{without:,} retrieval queries have no relevant document: left out of means, 0 in the index"
    unknown = sheets.keys() - catalog().keys()
    if unknown:
        yield (
            f"catalog ids {', '.join(map(str, sorted(unknown)))} are no benchmarks of the suite:"
            " scored by accuracy of fields, in no index"
        )
    missing = sum(catalog_id in absent for catalog_id in rules.panel)
    if missing:
        yield (
            f"{missing} of {len(rules.panel)} benchmarks of the index have no rows in this suite and count as 0:"
            f" the index is not that of edition {rules.id}"
        )


def _pending(cases: Cases) -> str | None:
    """Which benchmarks have requests without a result."""
    columns = cases.gold.columns
    missing = np.flatnonzero(cases.answers.status == PENDING).tolist()
    if not missing:
        return None
    counts = Counter(f"{columns.catalog_id[position]} {columns.dataset[position]}" for position in missing)
    named = [f"{name} ({count:,})" for name, count in counts.most_common(MISSING_SHOWN)]
    more = f" and {len(counts) - len(named)} more benchmarks" if len(counts) > len(named) else ""
    return f"{len(missing):,} of {len(cases.gold):,} requests have no result and count as wrong: {', '.join(named)}{more}"


def _write(out: Path, scores: Scores) -> None:
    for name, document in ((SUMMARY, scores.summary), (INDEX, scores.index), (SCORES, scores.scores)):
        with _replacing(out / name) as temporary:
            temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")


@contextmanager
def _replacing(path: Path) -> Iterator[Path]:
    """A path to write to, which takes the place of `path` at the end of a `with` block without error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
