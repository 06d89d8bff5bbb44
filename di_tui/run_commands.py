"""`di-tui merge`: what is done with run directories that are not being written."""

from pathlib import Path
from typing import Annotated

import typer

from di_tui import options as opt
from di_tui.display.base import for_programs

DONE_WITH_GAPS = 3


def merge(
    runs: Annotated[list[Path], typer.Argument(help="Run directories of one engine over one suite, such as its shards.")],
    out: opt.Out,
    rows: opt.Rows = None,
    suite_dir: opt.SuiteDir = None,
    edition: opt.Edition = None,
    json: opt.Json = False,
) -> None:
    """Join run directories into one that scores, resumes and browses as any other; say what is missing in it.

    Example: di-tui merge runs/qwen-1 runs/qwen-2 runs/qwen-3 --out runs/qwen
    """
    from di_tui.display.merged import show_merged
    from di_tui.score_job import Place, find_suite
    from engines.merge import merge as merge_runs
    from engines.run_dir import RunDir
    from suite_builder.errors import SuiteError

    sources = [RunDir(run) for run in runs]
    try:
        suite = find_suite(sources[0].results, Place(rows, suite_dir, edition))
    except SuiteError:
        if rows or suite_dir:
            raise
        suite = None
    merged = merge_runs(sources, RunDir(out), suite)
    show_merged(merged, out, for_programs(json))
    if merged.gaps or merged.absent_shards or merged.counts.get("error"):
        raise typer.Exit(DONE_WITH_GAPS)


def add_run_commands(app: typer.Typer) -> None:
    """Make the commands of this module commands of `app`."""
    app.command()(merge)
