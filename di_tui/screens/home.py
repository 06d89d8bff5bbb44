"""Home: the runs below a folder and the suites beside it, read again every few seconds."""

import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from di_tui.run_list import UNREADABLE, ListedRun, ListedSuite, find_runs, find_suites
from di_tui.screens.base import WorkScreen
from di_tui.shapes import age, bar, phase_mark
from di_tui.widgets.columns import Column
from di_tui.widgets.row_table import Row, RowTable

SECONDS_BETWEEN_READS = 2.0
BAR = 10
COLUMNS = (
    Column("name", "Run", 16, grow=36),
    Column("state", "State", 15),
    Column("engine", "Engine", 12, drop=2, grow=10),
    Column("model", "Model", 16, drop=4, grow=24),
    Column("edition", "Edition", 7, drop=3),
    Column("bar", "", BAR, drop=5),
    Column("share", "%", 6, "right", drop=1),
    Column("done", "Done", 15, "right", drop=3),
    Column("errors", "Errors", 7, "right", drop=6),
    Column("index", "Index", 6, "right"),
    Column("age", "Age", 4, "right"),
)
NO_RUNS = """No runs in {folder} yet.

Start one in this or another terminal, and it shows up here:

    di-tui run --engine lexical --out {folder}/lexical

No suite at hand? `di-tui demo` rebuilds a small one, runs and scores it."""
NO_SUITE = "none here; `di-tui suite rebuild` makes one"


class HomeScreen(WorkScreen):
    """Lists runs and suites.

    Args:
        folder: where run directories are looked for; suites are looked for beside it.
    """

    BINDINGS: ClassVar = [
        Binding("enter", "open", "Watch", key_display="enter", tooltip="Watch the run under the cursor."),
        Binding("r", "reload", "Reload", tooltip="Read the folder again now; it is read every two seconds anyway."),
    ]

    def __init__(self, folder: Path):
        super().__init__()
        self.folder = folder
        self.crumb = str(folder)

    def body(self) -> Iterable[Widget]:
        yield RowTable(COLUMNS, id="runs")
        yield Static("… reading", id="empty", classes="empty")
        yield Static(id="problem", classes="notice")
        yield Static(id="suites")

    def on_mount(self) -> None:
        self.query_one("#runs").display = False
        self.set_interval(SECONDS_BETWEEN_READS, self.action_reload)

    def repaint(self) -> None:
        super().repaint()
        self.action_reload()

    @work(thread=True, exclusive=True, group="home")
    def action_reload(self) -> None:
        worker = get_current_worker()
        runs, suites = find_runs(self.folder), find_suites(self.folder.absolute().parent)
        if not worker.is_cancelled:
            self.app.call_from_thread(self.show, runs, suites)

    def show(self, runs: Sequence[ListedRun], suites: Sequence[ListedSuite]) -> None:
        """Put what was found on the screen."""
        table, empty = self.query_one(RowTable), self.query_one("#empty", Static)
        table.show([Row(run.path, _cells(run)) for run in runs])
        table.display, empty.display = bool(runs), not runs
        empty.update(Text(NO_RUNS.format(folder=self.folder)))
        if runs and not self.focused:
            table.focus()
        self.query_one("#suites", Static).update(_suite_lines(suites))
        broken = next((run for run in runs if run.problem), None)
        problem = self.query_one("#problem", Static)
        problem.display = bool(broken)
        problem.update(Text.assemble((f"✗ {broken.name}: {broken.problem}", "bad")) if broken else "")

    def action_open(self) -> None:
        self.query_one(RowTable).choose()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        self.app.watch_run(event.row.key)


def _cells(run: ListedRun) -> dict[str, Text | str]:
    mark = phase_mark(run.state)
    share = run.done / run.total if run.total and run.done is not None else None
    return {
        "name": Text(run.name, style="bold" if run.live else ""),
        "state": Text(str(mark), style=mark.style),
        "engine": run.engine or "–",
        "model": run.model or "–",
        "edition": run.edition or "–",
        "bar": Text(bar(share or 0.0, BAR), style="accent" if run.live else "muted"),
        "share": "–" if share is None else f"{share:.1%}",
        "done": f"{run.done:,}/{run.total:,}" if share is not None else "–",
        "errors": Text(f"✗ {run.errors:,}", style="bad") if run.errors else Text("·", style="muted"),
        "index": "–" if run.index is None else f"{run.index:.2f}",
        "age": "" if run.state == UNREADABLE else age(time.time() - run.changed),
    }


def _suite_lines(suites: Sequence[ListedSuite]) -> Text:
    lines = Text.assemble(("Suites", "bold"), no_wrap=True, overflow="ellipsis")
    if not suites:
        return lines.append(f"  {NO_SUITE}", style="muted")
    for suite in suites:
        lines.append(f"\n  {suite.path.name:<12} ").append_text(_suite_state(suite))
    return lines


def _suite_state(suite: ListedSuite) -> Text:
    if suite.problem:
        return Text(f"✗ {suite.problem}", style="bad")
    line = Text(f"edition {suite.edition}  ")
    if suite.partial:
        return line.append("○ partial: its scores are not those of the edition", style="warning")
    if suite.published is None:
        return line.append("· whole, not checked yet: `di-tui suite verify` does", style="muted")
    if suite.published:
        return line.append("✓ published rows", style="good")
    return line.append("✗ not the published rows: import or rebuild it again", style="bad")
