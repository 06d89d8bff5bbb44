"""`di-tui compare`, `calibration`, `board` and `editions`: what scored runs are worth beside each other."""

from pathlib import Path
from typing import Annotated

import typer

from di_tui import options as opt
from di_tui.display.base import for_programs
from di_tui.watch_commands import opens_app

FORMATS = ("table", "json", "csv", "md")

RunArgument = Annotated[Path, typer.Argument(help="Run directory, or a results file.")]
Draws = Annotated[int, typer.Option("--draws", min=10, help="Bootstrap resamples.")]
Format = Annotated[str | None, typer.Option("--format", help="table (on a terminal), json, csv or md.")]


def add_score_commands(app: typer.Typer) -> None:
    """Make the commands of this module commands of `app`."""
    for command in (compare, calibration, board, editions):
        app.command()(command)


def compare(
    run_a: RunArgument,
    run_b: RunArgument,
    common: Annotated[bool, typer.Option("--common", help="Other suites: compare the requests that both have.")] = False,
    flips: Annotated[bool, typer.Option("--flips", help="List the requests that one has right and the other wrong.")] = False,
    draws: Draws = 1000,
    format: Format = None,
    rows: opt.Rows = None,
    suite_dir: opt.SuiteDir = None,
    edition: opt.Edition = None,
    no_ui: opt.NoUi = False,
    json: opt.Json = False,
) -> None:
    """Compare two runs where both answered: values, differences with 95 % intervals, verdicts, flips, latency.

    Example: di-tui compare runs/qwen-7b runs/qwen-14b
    """
    if format is None and opens_app(no_ui, json):
        _compare_in_app(run_a, run_b, common=common, draws=draws, suite_dir=rows or suite_dir, edition=edition, flips=flips)
        return
    from di_tui.display.comparison import show_comparison
    from di_tui.score_job import Place, load_run
    from scoring.compare import compare as compare_cases

    chosen = _format(format, json)
    a = load_run(run_a, Place(rows, suite_dir, edition))
    b = load_run(run_b, Place(rows, suite_dir, a.rules.id), a)
    show_comparison(compare_cases(a.cases, b.cases, a.rules, (a.name, b.name), common, draws), chosen, flips)


def _compare_in_app(run_a: Path, run_b: Path, **options) -> None:
    from di_tui.app import DiTui
    from di_tui.screens.compare import CompareScreen

    DiTui(first=lambda: CompareScreen(run_a, run_b, **options)).run()


def calibration(
    run: RunArgument,
    bins: Annotated[int, typer.Option("--bins", min=2, help="Bins of equal width of the reliability table.")] = 10,
    format: Format = None,
    rows: opt.Rows = None,
    suite_dir: opt.SuiteDir = None,
    edition: opt.Edition = None,
    json: opt.Json = False,
) -> None:
    """Show whether probabilities mean what they say: calibration error, Brier score, reliability, thresholds, net value.

    Example: di-tui calibration runs/qwen-7b
    """
    from di_tui.display.calibration import show_calibration
    from di_tui.score_job import Place, load_run
    from scoring.calibration import of_run

    chosen = _format(format, json)
    loaded = load_run(run, Place(rows, suite_dir, edition))
    sheets = loaded.cases.sheets()
    names = {catalog_id: sheet.dataset for catalog_id, sheet in sheets.items()}
    show_calibration(of_run(sheets, loaded.rules, bins), loaded.name, names, chosen)


def board(
    runs: Annotated[list[Path], typer.Argument(help="Scored run directories.")],
    published: Annotated[Path | None, typer.Option("--published", help="JSON file with published board figures.")] = None,
    format: Format = None,
    json: opt.Json = False,
) -> None:
    """Rank scored runs, by the board's 0.25-point tie rule and by overlapping intervals, beside published figures.

    Example: di-tui board runs/qwen-7b runs/qwen-14b
    """
    from di_tui.display.board import show_board
    from scoring.board import build_board

    chosen = _format(format, json)
    show_board(build_board(runs, published), chosen)


def editions(json: opt.Json = False) -> None:
    """Show the editions that runs can be scored under: benchmarks, areas with weights, requests.

    Example: di-tui editions
    """
    from di_tui.display.editions import show_editions

    show_editions(for_programs(json))


def _format(name: str | None, as_json: bool) -> str:
    """The output format: as asked for, else a table on a terminal and a JSON line for programs.

    Raises:
        typer.BadParameter: no such format.
    """
    if name is None:
        return "line" if for_programs(as_json) else "table"
    if name not in FORMATS:
        raise typer.BadParameter(f"{name!r} is none of {', '.join(FORMATS)}", param_hint="--format")
    return name
