"""Scoring as the command line starts it: find the rows of a run, read its cases, score, show."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from di_tui.display.scores import show_scores
from di_tui.suite_commands import open_suite
from engines.environment import find_shown_path
from engines.run_dir import RunDir, read_json
from suite_builder.errors import SuiteError
from suite_builder.suite import Suite

if TYPE_CHECKING:
    from scoring.cases import Cases
    from scoring.editions import Edition

RESULTS = "results.jsonl"


class Place(NamedTuple):
    """Where rows come from: `rows`, else `suite_dir`, else what the run's environment.json names, else the edition's default
    directory. edition: None for that of the run."""

    rows: Path | None = None
    suite_dir: Path | None = None
    edition: str | None = None


@dataclass(frozen=True)
class ScoreRequest:
    """One scoring to do; rows, suite_dir and edition as in `Place`."""

    results: Path
    reference: Path | None = None
    rows: Path | None = None
    suite_dir: Path | None = None
    out: Path | None = None
    edition: str | None = None
    engine: str | None = None
    strict: bool = False
    draws: int | None = None


class LoadedRun(NamedTuple):
    """A run as scoring sees it."""

    name: str
    suite: Suite
    rules: "Edition"
    cases: "Cases"


def score_and_show(request: ScoreRequest, as_json: bool) -> None:
    """Score, write the files, print a table or one JSON line.

    Raises:
        ScoreError, ResultsError, SuiteError: with a message for the person who asked.
    """
    from scoring.report import score
    from scoring.stats import DRAWS

    suite = find_suite(request.results, Place(request.rows, request.suite_dir, request.edition))
    engine = request.engine or _environment(request.results).get("engine") or request.results.parent.name
    out = request.out or request.results.parent
    draws = DRAWS if request.draws is None else request.draws
    scores = score(suite, request.results, out, engine, request.reference, strict=request.strict, draws=draws)
    show_scores(scores, suite, out, as_json)


def load_run(run: Path, place: Place, other: LoadedRun | None = None) -> LoadedRun:
    """Read the cases of a run directory, or of a results file.

    Args:
        other: a run that was read before; rows that both share are read once.

    Raises:
        ScoreError, ResultsError, SuiteError: with a message for the person who asked.
    """
    from scoring.editions import edition
    from scoring.loading import load

    results = run / RESULTS if run.is_dir() else run
    suite = find_suite(results, place)
    rules = edition(suite.edition.id)
    gold = other.cases.gold if other and other.suite == suite else None
    return LoadedRun(run.name, suite, rules, load(suite, results, rules, gold=gold))


def find_suite(results: Path, place: Place) -> Suite:
    """The suite that results belong to.

    Raises:
        SuiteError: it is not there, or cannot be read as the edition that is asked for.
    """
    if place.rows or place.suite_dir:
        return open_suite(*place)
    environment = _environment(results)
    recorded = environment.get("rows_path")
    found = recorded and find_shown_path(recorded, results.parent)
    edition = place.edition or environment.get("edition")
    if not found:
        return open_suite(None, None, edition)
    if not found.is_dir():
        return open_suite(found, None, edition)
    try:
        return open_suite(None, found, edition)
    except SuiteError:
        # Another edition than that of the run may read other files.
        return open_suite(None, None, edition)


def _environment(results: Path) -> dict:
    return read_json(RunDir(results.parent).environment) or {}
