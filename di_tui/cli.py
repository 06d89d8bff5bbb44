"""The command line: one command per job. Jobs and displays are imported only by the command that needs them.

Exit codes: 0 done; 1 failed, with one line that says what to do; 2 wrong usage; 3 done, but requests ended in an error or are open;
129, 130, 143 stopped by SIGHUP, Ctrl-C or SIGTERM with everything finished so far kept.
"""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from di_tui import options as opt
from di_tui.browse_commands import add_browse_commands
from di_tui.display.base import for_programs
from di_tui.run_commands import add_run_commands
from di_tui.score_commands import add_score_commands
from di_tui.suite_commands import open_suite, suite_app
from di_tui.watch_commands import add_watch_commands, home, opens_app
from engines.base import EngineError
from engines.results import ResultsError
from engines.run_dir import RunError
from scoring.errors import ScoreError
from suite_builder.errors import SuiteError

FAILED = 1
DONE_WITH_ERRORS = 3
# Errors whose message is written for the person at the terminal.
EXPECTED = (EngineError, ResultsError, RunError, ScoreError, SuiteError)

app = typer.Typer(
    help="Terminal workbench for the Decision Index: rebuild the suite, run an engine through it, score it.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(suite_app, name="suite")


@app.callback()
def settings(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
) -> None:
    context.obj = {"debug": debug}
    if context.invoked_subcommand is None:
        home(context)


@app.command()
def run(
    engine: opt.Engine,
    out: opt.Out,
    model: opt.Model = None,
    option: opt.EngineOption = None,
    rows: opt.Rows = None,
    suite_dir: opt.SuiteDir = None,
    edition: opt.Edition = None,
    limit: opt.Limit = None,
    compact: opt.Compact = False,
    fresh: opt.Fresh = False,
    order: opt.Order = "interleaved",
    with_excluded: opt.WithExcluded = False,
    take_over: opt.TakeOver = False,
    stop_after_errors: opt.StopAfterErrors = 25,
    latency: opt.Latency = False,
    shard: opt.Shard = None,
    data_parallel: opt.DataParallel = 1,
    no_verify: opt.NoVerify = False,
    detach: opt.Detach = False,
    no_ui: opt.NoUi = False,
    json: opt.Json = False,
) -> None:
    """Run an engine over the suite, or resume a run: finished results are kept, errors are asked again.

    Example: di-tui run --engine lexical --rows sample-100.jsonl.gz --out runs/lexical
    """
    from di_tui.run_job import RunRequest, detached, foreground, in_app

    if detach:
        raise typer.Exit(detached(out, [argument for argument in sys.argv[1:] if argument != "--detach"]))
    settings = _run_settings(locals())
    suite = open_suite(rows, suite_dir, edition)
    if opens_app(no_ui, json):
        raise typer.Exit(in_app(out, sys.argv[1:]))
    raise typer.Exit(foreground(RunRequest(suite, out, settings), for_programs(json)))


@app.command()
def score(
    run_dir: Annotated[Path | None, typer.Argument(help="Run directory to score.")] = None,
    results: Annotated[Path | None, typer.Option("--results", help="A results file instead of a run directory.")] = None,
    reference: Annotated[Path | None, typer.Option("--reference", help="Results of a run to show beside it.")] = None,
    rows: opt.Rows = None,
    suite_dir: opt.SuiteDir = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where the score files go; by default beside the results.")] = None,
    edition: opt.Edition = None,
    engine: Annotated[str | None, typer.Option("--engine", help="Engine name to write into the files.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Count invalid answers as errors everywhere.")] = False,
    draws: Annotated[int | None, typer.Option("--draws", min=0, help="Resamples for intervals (1000); 0 for none.")] = None,
    json: opt.Json = False,
    no_ui: opt.NoUi = False,
) -> None:
    """Score results: benchmark-summary.json, index.json, scores.json and cases.parquet.

    Example: di-tui score runs/lexical
    """
    from di_tui.score_job import ScoreRequest, score_and_show

    if (run_dir is None) == (results is None):
        raise typer.BadParameter("give a run directory or --results FILE, and not both", param_hint="RUN_DIR")
    request = ScoreRequest(results or run_dir / "results.jsonl", reference, rows, suite_dir, out, edition, engine, strict, draws)
    score_and_show(request, for_programs(json))


@app.command()
def pipeline(
    engine: opt.Engine,
    out: opt.Out,
    model: opt.Model = None,
    option: opt.EngineOption = None,
    rows: opt.Rows = None,
    suite_dir: opt.SuiteDir = None,
    edition: opt.Edition = None,
    limit: opt.Limit = None,
    compact: opt.Compact = False,
    fresh: opt.Fresh = False,
    order: opt.Order = "interleaved",
    with_excluded: opt.WithExcluded = False,
    take_over: opt.TakeOver = False,
    stop_after_errors: opt.StopAfterErrors = 25,
    latency: opt.Latency = False,
    shard: opt.Shard = None,
    data_parallel: opt.DataParallel = 1,
    reference: Annotated[Path | None, typer.Option("--reference", help="Results of a run to show beside it.")] = None,
    no_verify: opt.NoVerify = False,
    no_ui: opt.NoUi = False,
    json: opt.Json = False,
) -> None:
    """Run an engine over the suite, then score it.

    Example: di-tui pipeline --engine transformers --model Qwen/Qwen2.5-7B-Instruct --out runs/qwen-7b
    """
    from di_tui.run_job import RunRequest, foreground, in_app
    from di_tui.score_job import ScoreRequest, score_and_show

    settings = _run_settings(locals())
    suite = open_suite(rows, suite_dir, edition)
    if opens_app(no_ui, json):
        raise typer.Exit(in_app(out, sys.argv[1:]))
    code = foreground(RunRequest(suite, out, settings), for_programs(json))
    if code in (0, DONE_WITH_ERRORS):
        score_and_show(ScoreRequest(out / "results.jsonl", reference, rows, suite_dir, None, edition, engine), for_programs(json))
    raise typer.Exit(code)


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for everything the demo makes.")] = Path("demo"),
    json: opt.Json = False,
    no_ui: opt.NoUi = False,
) -> None:
    """The main job on the embedded benchmark: rebuild and verify it, run the lexical engine through it, score it.

    Example: di-tui demo
    """
    from di_tui.demo import run_demo

    raise typer.Exit(run_demo(out, json))


@app.command()
def doctor(json: opt.Json = False) -> None:
    """Show Python, packages, device, free disk and Hub login, and what to do about what is missing.

    Example: di-tui doctor
    """
    from di_tui.doctor import report

    report(for_programs(json))


add_run_commands(app)
add_score_commands(app)
add_browse_commands(app)
add_watch_commands(app)


def _run_settings(given: dict):
    from engines.plan import ORDERS, Shard
    from engines.runner import RunSettings

    if given["order"] not in ORDERS:
        raise typer.BadParameter(f"{given['order']!r} is none of {', '.join(ORDERS)}", param_hint="--order")
    names = ("engine", "model", "limit", "compact", "fresh", "order", "with_excluded", "take_over", "stop_after_errors", "latency")
    options = opt.parse_options(given["option"])
    try:
        shard = given["shard"] and Shard.parse(given["shard"])
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--shard") from None
    return RunSettings(
        options=options,
        verify=not given["no_verify"],
        shard=shard,
        data_parallel=given["data_parallel"],
        **{name: given[name] for name in names},
    )


def main() -> None:
    """Entry point of `di-tui` and `python -m di_tui`."""
    arguments = opt.join_only(sys.argv[1:])
    try:
        app(args=arguments, prog_name="di-tui")
    except EXPECTED as error:
        if "--debug" in arguments:
            raise
        print(f"error: {error}", file=sys.stderr)
        sys.exit(FAILED)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read the output has gone; nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
