"""`di-tui suite ...`: rebuild, import, verify, sample and show a suite, list its sources."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from di_tui import options as opt
from di_tui.display.base import for_programs
from di_tui.watch_commands import opens_app
from suite_builder.editions import edition as find_edition
from suite_builder.suite import Suite

suite_app = typer.Typer(help="Make and check the frozen suite.", no_args_is_help=True, rich_markup_mode=None)


def open_suite(rows: Path | None, suite_dir: Path | None, edition: str | None) -> Suite:
    """The suite that a command's options name: a loose rows file, a directory, or the edition's default directory."""
    if rows is not None:
        return Suite.from_rows_file(rows, edition)
    return Suite.open(suite_dir or Path(find_edition(edition).suite_dir), edition)


def rebuild_and_index(
    work: Path,
    suite_dir: Path | None,
    edition: str | None,
    only: list[int] | None,
    mirror: Path | None,
    allow_partial: bool,
    as_json: bool,
    **more: object,
) -> Suite:
    """Rebuild a suite directory with a display, then write its label file and row store. Arguments as of `RebuildRequest`.

    Raises:
        typer.Exit: a benchmark failed, or a signal came; what worked stays for the next call.
        SuiteError: the suite cannot be written.
    """
    from di_tui.rebuild_job import FAILED, Interrupted, RebuildRequest, run_rebuild

    try:
        suite = run_rebuild(RebuildRequest(work, suite_dir, edition, only, mirror, allow_partial, **more), as_json)
    except Interrupted as stop:
        print(stop, file=sys.stderr)
        raise typer.Exit(stop.code) from None
    if suite is None:
        raise typer.Exit(FAILED)
    return suite


@suite_app.command()
def rebuild(
    work: opt.Work = Path("work"),
    suite_dir: opt.SuiteDir = None,
    edition: opt.Edition = None,
    only: opt.Only = None,
    mirror: opt.Mirror = None,
    allow_partial: opt.AllowPartial = False,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="Recipes at a time; by default all cores.")] = None,
    skip_download: Annotated[bool, typer.Option("--skip-download", help="Use only sources that are there.")] = False,
    retry: Annotated[list[str] | None, typer.Option("--retry", help="Of what is missing, try only these catalog ids.")] = None,
    compare: opt.Compare = None,
    no_ui: opt.NoUi = False,
    json: opt.Json = False,
) -> None:
    """Build the suite from its pinned public sources, each file checked against its published sha256.

    Example: di-tui suite rebuild --only 4 9 32 34 58 --suite-dir suite-small
    """
    find_edition(edition)
    chosen, again = opt.parse_only(only), opt.parse_only(retry, "--retry")
    if opens_app(no_ui, json) and not compare:
        from di_tui.rebuild_job import in_app

        raise typer.Exit(in_app(work, sys.argv[1:]))
    as_json = for_programs(json)
    suite = rebuild_and_index(
        work, suite_dir, edition, chosen, mirror, allow_partial, as_json, jobs=jobs, skip_download=skip_download, retry=again
    )
    if compare:
        from di_tui.display.differences import show_differences

        if show_differences(suite, compare, as_json):
            raise typer.Exit(1)


@suite_app.command()
def sources(
    work: opt.Work = Path("work"),
    only: opt.Only = None,
    mirror: opt.Mirror = None,
    json: opt.Json = False,
) -> None:
    """List the pinned sources, what of them is there, and how much is still to be downloaded.

    Example: di-tui suite sources --only 4 32 45
    """
    from di_tui.display.sources import show_sources
    from suite_builder.inventory import survey
    from suite_builder.store import Store

    show_sources(survey(Store(work, mirror), opt.parse_only(only)), for_programs(json))


@suite_app.command()
def verify(suite_dir: opt.SuiteDir = None, edition: opt.Edition = None, json: opt.Json = False) -> None:
    """Check a suite against the published sha256, and every row against its payload hash.

    Example: di-tui suite verify --suite-dir suite-0.2
    """
    from di_tui.display.checks import show_checks

    suite = open_suite(None, suite_dir, edition)
    if not show_checks(suite, for_programs(json)):
        raise typer.Exit(1)


@suite_app.command()
def sample(
    out: Annotated[Path, typer.Option("--out", help="Rows file to write (.jsonl.gz).")],
    n: Annotated[int, typer.Option("--n", help="At least so many rows.")] = 100,
    seed: Annotated[int, typer.Option("--seed", help="Another seed draws other groups.")] = 20260919,
    single_requests: Annotated[bool, typer.Option("--single-requests", help="Only the first row of a group.")] = False,
    rows: opt.Rows = None,
    suite_dir: opt.SuiteDir = None,
    edition: opt.Edition = None,
) -> None:
    """Write a stratified sample of whole groups: round the benchmarks, one group a turn.

    Example: di-tui suite sample --n 100 --out sample-100.jsonl.gz
    """
    from suite_builder.sample import sample as write_sample

    count = write_sample(open_suite(rows, suite_dir, edition), out, n, seed, single_requests)
    print(f"{count:,} rows in {out}; try: di-tui run --engine lexical --rows {out} --out runs/sample")


@suite_app.command()
def status(suite_dir: opt.SuiteDir = None, edition: opt.Edition = None, json: opt.Json = False) -> None:
    """Show what a suite directory holds: edition, benchmarks, rows, and what is missing.

    Example: di-tui suite status
    """
    from di_tui.display.suite import show_status

    show_status(open_suite(None, suite_dir, edition), for_programs(json))


@suite_app.command("import")
def import_(
    rows: Annotated[Path, typer.Option("--rows", help="selected-rows.jsonl.gz, or plain .jsonl.")],
    added_rows: Annotated[Path | None, typer.Option("--added-rows", help="added-rows.jsonl.gz of edition 0.2 on.")] = None,
    suite_dir: opt.SuiteDir = None,
    edition: opt.Edition = None,
    no_verify: opt.NoVerify = False,
) -> None:
    """Stage row files that were built elsewhere; refuses files that are not the published ones.

    Example: di-tui suite import --rows selected-rows.jsonl.gz --added-rows added-rows.jsonl.gz
    """
    from suite_builder.import_rows import import_rows

    wanted = find_edition(edition)
    sources = {"selected-rows": rows} | ({"added-rows": added_rows} if added_rows else {})
    suite = import_rows(wanted, sources, suite_dir or Path(wanted.suite_dir), not no_verify, emit=print)
    print(f"{suite.name} is ready{' (partial)' if suite.partial else ''}; next: di-tui run --engine lexical --out runs/lexical")
