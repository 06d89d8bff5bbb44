"""Scoring as the command line starts it: find the rows of a run, score, show the result."""

from dataclasses import dataclass
from pathlib import Path

from di_tui.display.scores import show_scores
from di_tui.suite_commands import open_suite
from engines.environment import find_shown_path
from engines.run_dir import RunDir, read_json
from suite_builder.suite import Suite


@dataclass(frozen=True)
class ScoreRequest:
    """One scoring to do. Rows come from `rows`, else `suite_dir`, else what the run's environment.json names, else the
    edition's default directory."""

    results: Path
    reference: Path | None = None
    rows: Path | None = None
    suite_dir: Path | None = None
    out: Path | None = None
    edition: str | None = None
    engine: str | None = None


def score_and_show(request: ScoreRequest, as_json: bool) -> None:
    """Score, write the files, print a table or one JSON line.

    Raises:
        ScoreError, ResultsError, SuiteError: with a message for the person who asked.
    """
    from scoring.report import score

    environment = read_json(RunDir(request.results.parent).environment) or {}
    suite = _find_suite(request, environment)
    engine = request.engine or environment.get("engine") or request.results.parent.name
    out = request.out or request.results.parent
    scores = score(suite, request.results, out, engine, request.reference)
    show_scores(scores, suite, out, as_json)


def _find_suite(request: ScoreRequest, environment: dict) -> Suite:
    if request.rows or request.suite_dir:
        return open_suite(request.rows, request.suite_dir, request.edition)
    recorded = environment.get("rows_path")
    found = recorded and find_shown_path(recorded, request.results.parent)
    if not found:
        return open_suite(None, None, request.edition)
    edition = request.edition or environment.get("edition")
    return open_suite(None, found, edition) if found.is_dir() else open_suite(found, None, edition)
