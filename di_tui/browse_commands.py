"""`di-tui browse`: the scores of runs in the app, or as tables."""

from pathlib import Path
from typing import Annotated

import typer

from di_tui import options as opt
from di_tui.display.base import for_programs


def browse(
    runs: Annotated[list[Path], typer.Argument(help="Run directories, or results files.")],
    rows: opt.Rows = None,
    suite_dir: opt.SuiteDir = None,
    edition: opt.Edition = None,
    no_ui: opt.NoUi = False,
    json: opt.Json = False,
) -> None:
    """Browse the scores of runs: areas, benchmarks, tracks, calibration, single requests. Scores what has no scores yet.

    Example: di-tui browse runs/qwen-7b runs/qwen-14b
    """
    from di_tui.watch_commands import opens_app

    for run in runs:
        if not run.exists():
            raise typer.BadParameter(f"no run in {run}; `di-tui runs` lists the runs that there are", param_hint="RUNS")
    if not opens_app(no_ui, json):
        for run in runs:
            _show(run, rows or suite_dir, edition, for_programs(json))
        return
    from di_tui.app import DiTui
    from di_tui.screens.scores import ScoresScreen

    DiTui(first=lambda: ScoresScreen(runs[0], runs[1:], rows or suite_dir, edition)).run()


def _show(path: Path, suite_dir: Path | None, edition: str | None, as_json: bool) -> None:
    from di_tui.display.scores import show_scores
    from di_tui.scored_run import ScoredRun
    from scoring.report import Scores

    run = ScoredRun.open(path, suite_dir, edition)
    try:
        show_scores(Scores(run.summary, {}, run.scores), run.suite, None, as_json)
    finally:
        run.close()


def add_browse_commands(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command()(browse)
