"""The score browser: areas, benchmarks and tracks of one run, or of several one at a time."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from di_tui.display.run import duration
from di_tui.score_view import ORDERS, AreaScore, Order, View, area_scores, measure
from di_tui.scored_run import PROBLEMS, ScoredRun
from di_tui.screens.base import WorkScreen
from di_tui.screens.choice import ChoiceScreen
from di_tui.widgets.score_header import header
from di_tui.widgets.score_rows import BY_AREA, COLUMNS, score_rows
from di_tui.widgets.sortable_table import SortableTable
from suite_builder.editions import editions

if TYPE_CHECKING:
    from textual.app import App

SECONDS_TO_READ = 1.0
WHAT_TO_DO = """

`r` tries again, `e` scores it under another edition. The suite of a run is looked for where its environment.json says,
then in the edition's usual folder; where it lies elsewhere, say so:

    di-tui browse {path} --suite-dir FOLDER"""


def open_scores(app: "App", path: Path) -> None:
    """Open the score browser on a run directory."""
    app.push_screen(ScoresScreen(path))


class ScoresScreen(WorkScreen):
    """Shows scores; a run that has none yet is scored first.

    Args:
        path: run directory or results file. more: others to change to by key.
        suite_dir: suite directory or loose rows file, by default that of the run. edition: by default that of the run.
    """

    BINDINGS: ClassVar = [
        Binding("enter", "open", "Open", key_display="enter", tooltip="Open the benchmark, or fold the area."),
        Binding("space", "fold", "Fold", show=False, tooltip="Hide or show what is below an area or a benchmark."),
        Binding("z", "fold_all", "Fold all", show=False, tooltip="Hide the benchmarks of all areas, or show them again."),
        Binding("slash", "filter", "Filter", key_display="/", tooltip="List only what has a text in its name, number or area."),
        Binding("s", "sort(1)", "Sort", tooltip="Order by the next column; a click on its title does too."),
        Binding("S", "sort(-1)", "Sort back", show=False, tooltip="Order by the column before."),
        Binding("i", "turn", "Turn", show=False, tooltip="Turn the order round."),
        Binding("e", "edition", "Edition", tooltip="Score the run under another edition."),
        Binding("c", "calibration", "Calibration", tooltip="Show whether probabilities mean what they say, over all benchmarks."),
        Binding("l", "requests", "Requests", show=False, tooltip="List the requests of the benchmark under the cursor."),
        Binding("n", "run(1)", "Next run", tooltip="Show the next of the runs that were given."),
        Binding("N", "run(-1)", "Run before", show=False, tooltip="Show the run before."),
        Binding("r", "reload", "Reload", show=False, tooltip="Read the run again, and score what has come since."),
        Binding("escape", "unfilter", "All", tooltip="List everything again."),
    ]

    def __init__(self, path: Path, more: Sequence[Path] = (), suite_dir: Path | None = None, edition: str | None = None):
        super().__init__()
        self._paths = [path, *more]
        self._place = 0
        self._suite_dir = suite_dir
        self._edition = edition
        self._opened: dict[tuple[Path, str | None], ScoredRun] = {}
        self._busy_since: float | None = None
        self._areas: list[AreaScore] = []
        self.run: ScoredRun | None = None
        self.view = View()
        self.crumb = f"{self._path.name or self._path} scores"

    @property
    def _path(self) -> Path:
        return self._paths[self._place]

    def body(self) -> Iterable[Widget]:
        yield Static(id="tabs")
        yield Static(id="header")
        yield Static(id="notice", classes="notice")
        yield Input(placeholder="benchmark, number, track or area", id="filter", compact=True)
        yield SortableTable(COLUMNS, id="scores")
        yield Static(id="empty", classes="empty")

    def on_mount(self) -> None:
        for name in ("#filter", "#header", "#scores", "#notice"):
            self.query_one(name).display = False
        self.query_one("#tabs").display = len(self._paths) > 1
        self.set_interval(0.5, self._show_busy)
        self._begin()

    def on_unmount(self) -> None:
        for run in self._opened.values():
            run.close()

    def on_resize(self) -> None:
        self._refresh()

    def repaint(self) -> None:
        super().repaint()
        self._refresh()

    # Reading

    def _begin(self) -> None:
        """Show the run that is chosen now, read before or anew."""
        self.crumb = f"{self._path.name or self._path} scores"
        super().repaint()
        known = self._opened.get((self._path, self._edition))
        if known:
            self.workers.cancel_group(self, "open")
            self.show(known)
            return
        self._busy_since = time.monotonic()
        self._show_busy()
        self._open(self._path, self._edition)

    @work(thread=True, exclusive=True, group="open")
    def _open(self, path: Path, edition: str | None) -> None:
        worker = get_current_worker()
        import_module("di_tui.screens.benchmark")  # plotting takes its time to load, and the loop would stand still
        try:
            run = ScoredRun.open(path, self._suite_dir, edition, wanted=lambda: not worker.is_cancelled)
        except PROBLEMS as error:
            if not worker.is_cancelled:
                self.app.call_from_thread(self._fail, str(error))
            return
        if worker.is_cancelled:
            run.close()
        else:
            self.app.call_from_thread(self._take, run, edition)

    def _take(self, run: ScoredRun, edition: str | None) -> None:
        self._opened[run.path, edition] = run
        self.show(run)

    def _show_busy(self) -> None:
        if self._busy_since is None:
            return
        waited = time.monotonic() - self._busy_since
        text = f"… reading {self._path}"
        if waited > SECONDS_TO_READ:
            text = f"… scoring {self._path}, {duration(int(waited))} so far; a large run takes a minute, and only once"
        self._say(text, "muted")

    def _fail(self, message: str) -> None:
        self._busy_since = None
        self._say(f"× {message}", "bad", "" if self.run else WHAT_TO_DO.format(path=self._path))

    def _say(self, text: str, style: str, more: str = "") -> None:
        """One line above the table, or instead of it while there is none; nothing for an empty text."""
        shown = self.query_one("#notice" if self.run else "#empty", Static)
        shown.display = bool(text)
        if text:
            shown.update(Text.assemble((text, style), more))

    def show(self, run: ScoredRun) -> None:
        """Put a run on the screen."""
        self._busy_since = None
        self.run = run
        self._areas = area_scores(run.scores, run.edition)
        for name, seen in (("#header", True), ("#scores", True), ("#empty", False)):
            self.query_one(name).display = seen
        self._refresh()
        if not self.focused:
            self.query_one("#scores").focus()

    def _refresh(self) -> None:
        """Draw what is known, for the width and theme of now."""
        self.query_one("#tabs", Static).update(self._tabs())
        if self.run is None:
            return
        width = max(self.size.width - 2, 20)
        self.query_one("#header", Static).update(header(self.run, self._areas, width))
        self._list()

    def _list(self) -> None:
        """Fill the table as the view wants it."""
        table, order = self._table, self.view.order
        table.mark(COLUMNS if order.column else BY_AREA, order.column, order.descends)
        table.show(score_rows(self._areas, self.view, measure(self.run.edition)))
        self._tell_what_is_listed()

    def _tell_what_is_listed(self) -> None:
        if self._busy_since is not None:
            return
        if self.view.text and not self._table.rows:
            self._say(f"– nothing has {self.view.text!r} in its name, number or area; escape lists everything", "warning")
        elif self.view.text and not self.query_one("#filter").display:
            self._say(f"only what has {self.view.text!r}; escape lists everything", "muted")
        else:
            self._say("", "")

    def _tabs(self) -> Text:
        tabs = Text(no_wrap=True, overflow="ellipsis")
        for place, path in enumerate(self._paths):
            style = "reverse bold" if place == self._place else "muted"
            tabs.append(f" {path.name or path} ", style=style).append(" ")
        return tabs

    @property
    def _table(self) -> SortableTable:
        return self.query_one("#scores", SortableTable)

    # What keys do

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "run":
            return len(self._paths) > 1
        if action == "unfilter":
            return bool(self.view.text) or self.query_one("#filter").display
        return True

    def action_open(self) -> None:
        self._table.choose()

    def on_row_table_chosen(self, event: SortableTable.Chosen) -> None:
        catalog_id = _catalog_id(event.row.key)
        if catalog_id is None:
            self.action_fold()
            return
        from di_tui.screens.benchmark import BenchmarkScreen

        order = [own for own in map(_catalog_id, (row.key for row in self._table.rows)) if own is not None]
        self.app.push_screen(BenchmarkScreen(self.run, catalog_id, list(dict.fromkeys(order))))

    def action_fold(self) -> None:
        row = self._table.current
        if row is None:
            return
        if isinstance(row.key, str):
            self._change(folded=self.view.folded ^ {row.key})
        elif any(own.tracks for own in self._benchmarks if own.catalog_id == _catalog_id(row.key)):
            self._change(_catalog_id(row.key), opened=self.view.opened ^ {_catalog_id(row.key)})

    def action_fold_all(self) -> None:
        everything = frozenset(area.id for area in self._areas)
        area = next((own.area for own in self._benchmarks if own.catalog_id == _catalog_id(self._key)), None)
        key = next((own.id for own in self._areas if own.label == area), None)
        self._change(key, folded=frozenset() if self.view.folded == everything else everything)

    @property
    def _benchmarks(self) -> list:
        return [own for area in self._areas for own in area.benchmarks]

    @property
    def _key(self):
        return self._table.current and self._table.current.key

    def _change(self, key=None, **changes) -> None:
        """List something else; the cursor goes to `key`, else stays on its row."""
        self.view = replace(self.view, **changes)
        self._list()
        if key is not None:
            self._table.show(self._table.rows, key)
        self._table.reveal()

    def action_sort(self, step: int) -> None:
        ways = [None, *(key for key in self._table.shown if key in ORDERS and key != "bar")]
        now = ways.index(self.view.order.column) if self.view.order.column in ways else 0
        self._change(order=Order(ways[(now + step) % len(ways)]))

    def action_turn(self) -> None:
        order = self.view.order
        if order.column:
            self._change(order=replace(order, turned=not order.turned))

    def on_sortable_table_title_clicked(self, event: SortableTable.TitleClicked) -> None:
        if event.column in ORDERS:
            self._change(order=self.view.order.chosen(event.column))

    def action_filter(self) -> None:
        box = self.query_one("#filter", Input)
        box.display = True
        box.focus()
        self.refresh_bindings()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._change(text=event.value.strip())

    def on_input_submitted(self) -> None:
        self.query_one("#filter").display = False
        self._table.focus()
        self._refresh()

    def action_unfilter(self) -> None:
        box = self.query_one("#filter", Input)
        box.value = ""
        box.display = False
        self._change(text="")
        self._table.focus()
        self.refresh_bindings()

    def action_edition(self) -> None:
        ids = list(editions())
        ways = {f"{place} {name}": self._describe(name) for place, name in enumerate(ids, start=1)}

        def chosen(way: str | None) -> None:
            if way:
                self._edition = ways and way.split()[1]
                self._begin()

        self.app.push_screen(ChoiceScreen("Score this run under which edition?", ways), chosen)

    def _describe(self, name: str) -> str:
        own = editions()[name]
        now = ", shown now" if self.run and self.run.edition.id == name else ""
        return f"{name:<6} {own.benchmarks} benchmarks, {own.scoreable + own.added_requests:,} requests{now}"

    def action_run(self, step: int) -> None:
        self._place = (self._place + step) % len(self._paths)
        self._begin()

    def action_reload(self) -> None:
        old = self._opened.pop((self._path, self._edition), None)
        if old:
            old.close()
        self._begin()

    def action_calibration(self) -> None:
        if self.run:
            from di_tui.screens.calibration import CalibrationScreen

            self.app.push_screen(CalibrationScreen(self.run))

    def action_requests(self) -> None:
        if self.run:
            from di_tui.screens.requests import RequestsScreen

            self.app.push_screen(RequestsScreen(self.run, _catalog_id(self._key)))


def _catalog_id(key) -> int | None:
    """The benchmark that a row belongs to, None for an area."""
    if isinstance(key, tuple):
        return key[0]
    return key if isinstance(key, int) else None
