"""Shows the runs below a folder as a table, or one JSON object a run."""

import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from di_tui.display.run import write_line
from di_tui.display.table import Column, fitting_table, shorten
from di_tui.run_list import ListedRun
from di_tui.shapes import age, phase_mark

COLUMNS = {
    "name": Column("Run"),
    "state": Column("State"),
    "engine": Column("Engine"),
    "model": Column("Model", from_width=110),
    "edition": Column("Edition", from_width=100),
    "share": Column("%", "right"),
    "done": Column("Done", "right", 96),
    "index": Column("Index", "right"),
    "age": Column("Age", "right"),
}
STYLES = {"good": "green", "bad": "red", "warning": "yellow", "muted": "dim", "accent": "cyan"}


def show_runs(runs: Sequence[ListedRun], folder: Path, as_json: bool) -> None:
    """Print the runs; when there are none, how to start one."""
    if as_json:
        for run in runs:
            write_line({"event": "run", **run.record()})
        return
    if not runs:
        print(f"no runs in {folder}; start one with `di-tui run --engine lexical --out {folder}/lexical`")
        return
    console = Console(highlight=False)
    console.print(fitting_table(COLUMNS, map(_row, runs), console.width))
    for run in runs:
        if run.problem:
            console.print(Text(f"× {run.name}: {run.problem}", style="red"), soft_wrap=True)


def _row(run: ListedRun) -> dict[str, Text | str]:
    mark = phase_mark(run.state)
    known = run.total and run.done is not None
    return {
        "name": Text(shorten(run.name, 30), style="bold" if run.live else ""),
        "state": Text(str(mark), style=STYLES[mark.style]),
        "engine": shorten(run.engine or "–", 24),
        "model": shorten(run.model or "–", 30),
        "edition": run.edition or "–",
        "share": f"{run.done / run.total:.1%}" if known else "–",
        "done": f"{run.done:,}/{run.total:,}" if known else "–",
        "index": "–" if run.index is None else f"{run.index:.2f}",
        "age": age(time.time() - run.changed),
    }
