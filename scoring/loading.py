"""The cases of a run: rows as an edition reads them, with the answers of a results file or of the cases.parquet beside it."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from scoring import case_table
from scoring.cases import Cases
from scoring.columns import Columns
from scoring.editions import Edition
from scoring.errors import ScoreError
from scoring.gold import Gold
from scoring.matching import Batch, match
from scoring.processes import helpers, uncollected
from scoring.reading import begin
from suite_builder.suite import Suite

CASES = "cases.parquet"
# So many parts are matched while helpers read on.
PARTS_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class Reading:
    """Progress event: so many results are read."""

    lines: int


def load(
    suite: Suite,
    results: Path,
    rules: Edition,
    strict: bool = False,
    emit: Callable[[Reading], None] = lambda _event: None,
    gold: Gold | None = None,
) -> Cases:
    """Read the rows and the answers of a run.

    Args:
        strict: invalid results are errors everywhere. gold: the rows, where they have been read before.

    Raises:
        ResultsError: the results file is missing or malformed.
        SuiteError: a row is malformed.
        ScoreError: no result belongs to the suite, or a row cannot be scored.
    """
    answers = None
    if case_table.made_from(results.with_name(CASES), results):
        with ThreadPoolExecutor(1) as background:
            stored = background.submit(case_table.Stored, results.with_name(CASES))
            gold = gold or Gold.read(suite, rules.benchmark)
            answers = stored.result().answers(gold, suite.excluded)
    if answers is None:
        with uncollected(), helpers(results) as processes:
            columns = None if gold else Columns.begin(suite, rules.benchmark, processes)
            parts = begin(results, processes)
            gold = gold or Gold.of(columns(), rules.benchmark)
            answers = match(gold, _counted(parts.batches(PARTS_AT_ONCE), emit), suite.excluded)
    others = answers.others.counts.total()
    if others and not answers.status.any():
        raise ScoreError(
            f"none of the {others:,} results in {results} belongs to a row that edition {rules.id}"
            f" reads in {suite.name}; give the --suite-dir and --edition of the run"
        )
    return Cases.join(gold, answers, rules.benchmark, strict)


def _counted(batches: Iterator[Batch], emit: Callable[[Reading], None]) -> Iterator[Batch]:
    lines = 0
    for first, parts in batches:
        lines += sum(len(part.run_id) for part in parts)
        emit(Reading(lines))
        yield first, parts
