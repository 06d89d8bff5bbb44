"""`di-tui` without a command, `di-tui watch` and `di-tui runs`: what is there and what is going on, in the app or as lines."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from di_tui import options as opt
from di_tui.display.base import for_programs

SECONDS_BETWEEN_LINES = 1.0
EXIT_CODES = {"complete": 0, "limited": 0}


def opens_app(no_ui: bool = False, json: bool = False) -> bool:
    """Whether there is a person at a terminal that can draw, who did not ask for lines."""
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return not (no_ui or json) and all(stream.isatty() for stream in streams) and os.environ.get("TERM") != "dumb"


def home(context: typer.Context) -> None:
    """Open the app at home; where it cannot be drawn, show the help.

    Raises:
        typer.Exit: with 2 after the help.
    """
    if not opens_app():
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(2)
    from di_tui.app import DiTui

    DiTui().run()


def watch(
    run_dir: Annotated[Path, typer.Argument(help="Run directory that some process writes, or wrote; or a work folder.")],
    no_ui: opt.NoUi = False,
    json: opt.Json = False,
) -> None:
    """Follow a run that any process writes: progress, rates, errors; pause and stop it. As lines where no app can be drawn.

    A rebuild is followed by its work folder.

    Example: di-tui watch runs/lexical
    """
    from di_tui.rebuild_record import RebuildFiles
    from di_tui.run_list import is_run_dir

    rebuild = RebuildFiles(run_dir).events.is_file()
    if not rebuild and not is_run_dir(run_dir):
        raise typer.BadParameter(f"no run in {run_dir}; `di-tui runs` lists the runs that there are", param_hint="RUN_DIR")
    if not opens_app(no_ui, json):
        raise typer.Exit(_follow_rebuild(run_dir) if rebuild else _follow(run_dir))
    from di_tui.app import DiTui
    from di_tui.screens.rebuild import RebuildScreen

    (DiTui(first=lambda: RebuildScreen(run_dir)) if rebuild else DiTui(watched=run_dir)).run()


def _follow(run_dir: Path) -> int:
    """Print a progress line a second until the run has ended; returns 0 when it came to its end."""
    from di_tui.display.run import progress_record, write_line
    from di_tui.run_follower import RunFollower

    follower = RunFollower(run_dir)
    while True:
        follower.look()
        run = follower.snapshot()
        write_line({"event": run.progress.phase, **progress_record(run.progress), "error": run.reason})
        if run.ended:
            return EXIT_CODES.get(run.progress.phase, 1)
        time.sleep(SECONDS_BETWEEN_LINES)


def _follow_rebuild(work: Path) -> int:
    """Print a progress line a second until the rebuild has ended; returns 0 when it came to its end."""
    from di_tui.display.run import write_line
    from di_tui.rebuild_follower import RebuildFollower

    follower = RebuildFollower(work)
    while True:
        follower.look()
        rebuild = follower.snapshot()
        write_line({"event": rebuild.phase, **rebuild.record()})
        if rebuild.began and not rebuild.alive:
            return EXIT_CODES.get(rebuild.phase, 1)
        time.sleep(SECONDS_BETWEEN_LINES)


def runs(
    folder: Annotated[Path, typer.Argument(help="Folder to look in.")] = Path("runs"),
    json: opt.Json = False,
) -> None:
    """List the runs below a folder: state, engine, progress and index.

    Example: di-tui runs
    """
    from di_tui.display.runs import show_runs
    from di_tui.run_list import find_runs

    show_runs(find_runs(folder), folder, for_programs(json))


def add_watch_commands(app: typer.Typer) -> None:
    """Give the command line these commands."""
    app.command()(watch)
    app.command()(runs)
