"""Home: the runs below a folder, the suites and unfinished rebuilds beside it, and what can be done with them."""

import asyncio
import sys
import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import ClassVar

import orjson
from rich.text import Text
from textual import work
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from di_tui.run_list import (
    UNREADABLE,
    ListedRebuild,
    ListedRun,
    ListedSuite,
    find_rebuilds,
    find_runs,
    find_suites,
)
from di_tui.screens.base import WorkScreen
from di_tui.shapes import age, bar, phase_mark
from di_tui.widgets.columns import Column
from di_tui.widgets.row_table import Row, RowTable

SECONDS_BETWEEN_READS = 2.0
BAR = 10
MARK = "*"
COLUMNS = (
    Column("name", "Run", 16, grow=36),
    Column("state", "State", 15),
    Column("engine", "Engine", 12, drop=3, grow=10),
    Column("model", "Model", 16, drop=5, grow=24),
    Column("edition", "Edition", 7, drop=4),
    Column("bar", "", BAR, drop=6),
    Column("share", "%", 6, "right", drop=1),
    Column("done", "Done", 15, "right", drop=4),
    Column("errors", "Errors", 7, "right", drop=7),
    Column("index", "Index", 6, "right"),
    Column("interval", "95 %", 12, "right", drop=2),
    Column("age", "Age", 4, "right"),
)
SUITE_COLUMNS = (
    Column("name", "Suite", 16, grow=14),
    Column("edition", "Edition", 7),
    Column("state", "State", 40, grow=200),
)
NO_RUNS = """No runs in {folder} yet.

n describes and starts one, u builds a suite. Runs that begin in another terminal show up here too:

    di-tui run --engine lexical --out {folder}/lexical

`di-tui demo` builds a small suite, runs and scores it."""
NO_SUITE = "none here; u builds one"
CHECKING = Text("… every row is being checked", style="muted")


class HomeScreen(WorkScreen):
    """Lists runs, suites and rebuilds.

    Args:
        folder: where run directories are looked for; suites and work folders are looked for beside it.
    """

    AUTO_FOCUS = "#runs"
    BINDINGS: ClassVar = [
        Binding("enter", "open", "Watch", key_display="enter", tooltip="Watch the run or the rebuild under the cursor."),
        Binding("n", "new_run", "New", tooltip="Describe a run and start it."),
        Binding("b", "browse", "Scores", tooltip="Browse the scores of the run under the cursor."),
        Binding("space", "mark", "Mark", key_display="space", tooltip="Mark the run under the cursor for a comparison."),
        Binding("c", "compare", "Compare", tooltip="Compare the two marked runs, or a marked one with that under the cursor."),
        Binding("u", "rebuild", "Build", tooltip="Build a suite from its sources, or go on with a rebuild."),
        Binding("v", "verify", "Verify", show=False, tooltip="Check every row of the suite under the cursor of the suites' list."),
        Binding("r", "reload", "Reload", show=False, tooltip="Read the folder again now; it is read every two seconds anyway."),
    ]

    def __init__(self, folder: Path):
        super().__init__()
        self.folder = folder
        self.crumb = str(folder)
        self.marked: list[Path] = []
        self._runs: Sequence[ListedRun] = ()
        self._suites: Sequence[ListedSuite] = ()
        self._rebuilds: Sequence[ListedRebuild] = ()
        # Suite directory -> what checking it has shown.
        self._checks: dict[Path, Text] = {}

    def body(self) -> Iterable[Widget]:
        yield RowTable(COLUMNS, id="runs")
        yield Static("… reading", id="empty", classes="empty")
        yield Static(id="problem", classes="notice")
        yield RowTable(SUITE_COLUMNS, id="suites")
        yield Static(id="no-suite")

    def on_mount(self) -> None:
        self.query_one("#runs").display = self.query_one("#suites").display = False
        self.set_interval(SECONDS_BETWEEN_READS, self.action_reload)

    def repaint(self) -> None:
        super().repaint()
        self.action_reload()

    @work(thread=True, exclusive=True, group="home")
    def action_reload(self) -> None:
        worker, beside = get_current_worker(), self.folder.absolute().parent
        found = find_runs(self.folder), find_suites(beside), find_rebuilds(beside)
        if not worker.is_cancelled:
            self.app.call_from_thread(self.show, *found)

    def show(self, runs: Sequence[ListedRun], suites: Sequence[ListedSuite], rebuilds: Sequence[ListedRebuild]) -> None:
        """Put what was found on the screen."""
        self._runs, self._suites, self._rebuilds = runs, suites, rebuilds
        table, empty = self.query_one("#runs", RowTable), self.query_one("#empty", Static)
        self._refresh()
        table.display, empty.display = bool(runs), not runs
        empty.update(Text(NO_RUNS.format(folder=self.folder)))
        if runs and not self.focused:
            table.focus()
        broken = next((run for run in runs if run.problem), None)
        problem = self.query_one("#problem", Static)
        problem.display = bool(broken)
        problem.update(Text.assemble((f"× {broken.name}: {broken.problem}", "bad")) if broken else "")

    def _refresh(self) -> None:
        """Make the rows anew from what was read last."""
        self.query_one("#runs", RowTable).show([Row(run.path, _cells(run, self.marked)) for run in self._runs])
        rows = [Row(one.work, _rebuild_cells(one)) for one in self._rebuilds]
        rows += [Row(suite.path, _suite_cells(suite, self._checks.get(suite.path))) for suite in self._suites]
        suites, none = self.query_one("#suites", RowTable), self.query_one("#no-suite", Static)
        suites.show(rows)
        suites.display, none.display = bool(rows), not rows
        none.update(Text.assemble(("Suites", "bold"), (f"  {NO_SUITE}", "muted")))

    @property
    def _chosen(self) -> Path | None:
        """The run under the cursor; says so when there is none."""
        row = self.query_one("#runs", RowTable).current
        if row is None:
            self.notify("There is no run yet; n starts one.", severity="warning")
        return row and row.key

    def action_open(self) -> None:
        focused = self.focused
        if isinstance(focused, RowTable):
            focused.choose()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        path = event.row.key
        if event.table.id == "runs":
            self.app.watch_run(path)
        elif any(path == one.work for one in self._rebuilds):
            self._follow(path)
        else:
            self.notify("v checks every row of this suite; n starts a run over it.")

    def action_new_run(self) -> None:
        from di_tui.screens.new_run import NewRunScreen

        self.app.push_screen(NewRunScreen(self.folder))

    def action_rebuild(self) -> None:
        going_on = next((one.work for one in self._rebuilds if one.state == "running"), None)
        if going_on:
            self._follow(going_on)
            return
        from di_tui.screens.new_rebuild import NewRebuildScreen

        self.app.push_screen(NewRebuildScreen())

    def _follow(self, work_folder: Path) -> None:
        from di_tui.screens.rebuild import RebuildScreen

        self.app.push_screen(RebuildScreen(work_folder))

    def action_browse(self) -> None:
        if path := self._chosen:
            from di_tui.screens.scores import open_scores

            open_scores(self.app, path)

    def action_mark(self) -> None:
        """Mark or unmark; of more than two the first is let go."""
        if path := self._chosen:
            others = [one for one in self.marked if one != path]
            self.marked = others if path in self.marked else [*others, path][-2:]
            self._refresh()

    def action_compare(self) -> None:
        pair = [*self.marked]
        if len(pair) == 1 and self._chosen not in (None, *pair):
            pair.append(self._chosen)
        if len(pair) < 2:
            self.notify("Mark two runs with space first.", severity="warning")
            return
        from di_tui.screens.compare import CompareScreen

        self.app.push_screen(CompareScreen(*pair))

    def action_verify(self) -> None:
        row = self.query_one("#suites", RowTable).current
        suite = next((suite for suite in self._suites if row and suite.path == row.key), None)
        if suite is None:
            self.notify("Put the cursor on a suite first; tab goes to the list of suites.", severity="warning")
        elif self._checks.get(suite.path) is not CHECKING:
            self._verify(suite.path)

    @work
    async def _verify(self, path: Path) -> None:
        """Check a suite in a process of its own, which ends with the app."""
        self._checks[path] = CHECKING
        self._refresh()
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "di_tui", "suite", "verify", "--json", "--suite-dir", str(path)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            told, problems = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        self._checks[path] = _check_result(told, problems)
        self._refresh()


def _cells(run: ListedRun, marked: Collection[Path]) -> dict[str, Text | str]:
    mark = phase_mark(run.state)
    share = run.done / run.total if run.total and run.done is not None else None
    name = Text.assemble((f"{MARK} ", "accent")) if run.path in marked else Text()
    return {
        "name": name.append(run.name, style="bold" if run.live else ""),
        "state": Text(str(mark), style=mark.style),
        "engine": run.engine or "–",
        "model": run.model or "–",
        "edition": run.edition or "–",
        "bar": Text(bar(share or 0.0, BAR), style="accent" if run.live else "muted"),
        "share": "–" if share is None else f"{share:.1%}",
        "done": f"{run.done:,}/{run.total:,}" if share is not None else "–",
        "errors": Text(f"× {run.errors:,}", style="bad") if run.errors else Text("·", style="muted"),
        "index": "–" if run.index is None else f"{run.index:.2f}",
        "interval": Text("…".join(f"{bound:.2f}" for bound in run.interval) if run.interval else "–", style="muted"),
        "age": "" if run.state == UNREADABLE else age(time.time() - run.changed),
    }


def _rebuild_cells(rebuild: ListedRebuild) -> dict[str, Text | str]:
    mark = phase_mark(rebuild.state)
    then = "enter shows it" if rebuild.state == "running" else "enter shows it, and p there goes on"
    state = Text.assemble((f"{mark.symbol} rebuild {mark.word}", mark.style), (f"  {then}", "muted"))
    return {"name": rebuild.work.name, "edition": rebuild.edition, "state": state}


def _suite_cells(suite: ListedSuite, check: Text | None) -> dict[str, Text | str]:
    return {"name": suite.path.name, "edition": suite.edition or "–", "state": check or _suite_state(suite)}


def _suite_state(suite: ListedSuite) -> Text:
    if suite.problem:
        return Text(f"× {suite.problem}", style="bad")
    if suite.partial:
        return Text("○ partial: its scores are not those of the edition", style="warning")
    if suite.published is None:
        return Text("· whole, not checked yet; v does", style="muted")
    if suite.published:
        return Text("✓ published rows", style="good")
    return Text("× not the published rows: import or rebuild it again", style="bad")


def _check_result(told: bytes, problems: bytes) -> Text:
    """What `suite verify` came to, from its JSON lines."""
    checks = [orjson.loads(line) for line in told.splitlines()]
    wrong = [check for check in checks if not check["ok"]]
    if wrong:
        return Text(f"× {wrong[0]['name']}: {wrong[0]['detail']}", style="bad")
    if problems or not checks:
        return Text(f"× {problems.decode('utf-8', 'replace').strip() or 'nothing could be checked'}", style="bad")
    return Text(f"✓ checked just now: {len(checks)} checks hold", style="good")
