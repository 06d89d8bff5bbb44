"""The requests of a run, or of one benchmark of it: filters, order, search in their texts; enter opens one."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from rich.text import Text
from textual import work
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from di_tui.request_list import FILTERS, ORDERS, Search, chosen, fields_of
from di_tui.screens.base import WorkScreen
from di_tui.screens.request import RequestScreen
from di_tui.widgets.request_rows import RequestRows, columns
from di_tui.widgets.row_table import RowTable
from suite_builder.catalog import benchmarks

if TYPE_CHECKING:
    from di_tui.scored_run import ScoredRun

SECONDS_BETWEEN_LOOKS = 0.4
NONE_LEFT = "Nothing to list: {filter}{text}.\n\n`a` shows all requests, escape ends a search."


class RequestsScreen(WorkScreen):
    """Lists scored fields of requests.

    Args:
        run: whose. It is not closed here. catalog_id: of this benchmark only; None for all.
    """

    BINDINGS: ClassVar = [
        Binding("enter", "open", "Open", key_display="enter", tooltip="Show the request under the cursor."),
        Binding("slash", "search", "Find", key_display="/", tooltip="Find a text in the states and questions of the list."),
        Binding("a", "filter('all')", "All", show=False, tooltip="Show all requests, whatever became of them."),
        Binding("w", "filter('wrong')", "Wrong", tooltip="Show only wrong answers."),
        Binding("c", "filter('confident')", "Sure", tooltip="Show only wrong answers with a probability of 0.9 or more."),
        Binding("u", "filter('unsupported')", "Unsup", tooltip="Show only requests that the engine does not support."),
        Binding("e", "filter('error')", "Errors", tooltip="Show only requests that ended in an error."),
        Binding("n", "filter('unanswered')", "Not answered", show=False, tooltip="Show only requests without an answer."),
        Binding("s", "sort", "Sort", tooltip="Change the order: as in the suite, by how sure the answers are, or by latency."),
    ]

    def __init__(self, run: "ScoredRun", catalog_id: int | None):
        super().__init__()
        self._run = run
        self._catalog_id = catalog_id
        self._filter, self._order = "all", "suite"
        self._fields: np.ndarray | None = None
        self._search: Search | None = None
        self._looked = (0, False, 0)
        self.crumb = benchmarks()[catalog_id].dataset if catalog_id in benchmarks() else "requests"

    def body(self) -> Iterable[Widget]:
        yield Static("… reading the requests", id="header")
        yield RowTable(columns(self._catalog_id is not None), id="request-list")
        yield Static(id="empty", classes="empty")
        yield Input(placeholder="text in state or questions; enter searches, escape leaves", id="search", compact=True)

    def on_mount(self) -> None:
        self.query_one("#search").display = False
        self.query_one("#empty").display = False
        self._load()
        self.set_interval(SECONDS_BETWEEN_LOOKS, self._look)

    def on_unmount(self) -> None:
        self._stop_search()

    @work(thread=True, exclusive=True, group="load")
    def _load(self) -> None:
        from di_tui.scored_run import PROBLEMS

        worker = get_current_worker()
        try:
            fields, problem = fields_of(self._run.cases, self._catalog_id), None
        except PROBLEMS as error:
            fields, problem = None, str(error)
        if not worker.is_cancelled:
            self.app.call_from_thread(self._take, fields, problem)

    def _take(self, fields: np.ndarray | None, problem: str | None) -> None:
        if problem:
            self.query_one("#header", Static).update(Text.assemble((f"× {problem}", "bad")))
            return
        self._fields = fields
        self.show()

    def repaint(self) -> None:
        super().repaint()
        if self._fields is not None:
            self._tell()
            self.query_one(RowTable).refresh()

    def show(self, from_start: bool = False) -> None:
        """List what filter, order and search leave.

        Args:
            from_start: put the cursor on the first row; else it stays on its row where that is still there.
        """
        cases, search = self._run.cases, self._search
        fields = chosen(cases, self._fields, self._filter, self._order, search and search.found)
        table, empty = self.query_one(RowTable), self.query_one("#empty", Static)
        table.show(RequestRows(cases, fields, self._catalog_id is not None), int(fields[0]) if from_start and len(fields) else None)
        table.reveal()
        table.display, empty.display = bool(len(fields)), not len(fields)
        text = f", with “{search.text}”" if search else ""
        empty.update("" if search and search.running else Text(NONE_LEFT.format(filter=FILTERS[self._filter].word, text=text)))
        self._tell()

    def _tell(self) -> None:
        search, shown = self._search, len(self.query_one(RowTable).rows)
        line = Text.assemble((self._run.name, "bold"), f"  {shown:,} of {len(self._fields):,} questions  ")
        line.append(f"{FILTERS[self._filter].word}, {ORDERS[self._order].word}", style="accent")
        if self._filter != "all":
            line.append("  `a` lists all", style="muted")
        if search:
            line.append(f"  with “{search.text}”", style="accent")
            if search.done < len(search.positions):
                state = "… searched" if search.running else "– stopped after"
                line.append(f"  {state} {search.done:,} of {len(search.positions):,} requests", style="warning")
        self.query_one("#header", Static).update(line)

    def action_filter(self, kind: str) -> None:
        self._filter = kind
        if self._fields is not None:
            self.show()

    def action_sort(self) -> None:
        orders = list(ORDERS)
        self._order = orders[(orders.index(self._order) + 1) % len(orders)]
        if self._fields is not None:
            self.show(from_start=True)

    def action_search(self) -> None:
        box = self.query_one("#search", Input)
        box.display = True
        box.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._close_box()
        self._stop_search()
        self._search = None
        if self._fields is None:
            return
        if text := event.value.strip():
            gold = self._run.cases.gold
            self._search = Search(text, np.unique(gold.request[self._fields]), np.zeros(len(gold), bool))
            self._run_search(self._search)
        self.show()

    @work(thread=True, exclusive=True, group="search")
    def _run_search(self, search: Search) -> None:
        from di_tui.scored_run import PROBLEMS

        worker = get_current_worker()
        try:
            search.run(self._run.cases, self._run.row)
        except (*PROBLEMS, OSError) as error:
            search.running = False
            if not worker.is_cancelled:
                self.app.call_from_thread(self.notify, f"cannot search: {error}", severity="error", markup=False)

    def _look(self) -> None:
        """Show what the search has found since the last look."""
        search = self._search
        if not search or (now := (search.done, search.running, int(search.found.sum()))) == self._looked:
            return
        found_more = now[1:] != self._looked[1:]
        self._looked = now
        self.show() if found_more else self._tell()

    def _stop_search(self) -> None:
        if self._search:
            self._search.running = False

    def _close_box(self) -> None:
        self.query_one("#search").display = False
        self.query_one(RowTable).focus()

    def action_back(self) -> None:
        """Close the search box, else stop a search, else end it, else leave."""
        if self.query_one("#search").display:
            self._close_box()
        elif self._search and self._search.running:
            self._stop_search()
        elif self._search:
            self._search = None
            self.show()
        else:
            super().action_back()

    def action_open(self) -> None:
        self.query_one(RowTable).choose()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        rows, gold = event.table.rows, self._run.cases.gold
        positions = gold.request[rows.fields]
        first = np.sort(np.unique(positions, return_index=True)[1])
        place = int(np.searchsorted(first, rows.place_of(event.row.key), side="right")) - 1

        def moved(place: int) -> None:
            event.table.show(rows, int(rows.fields[first[place]]))
            event.table.reveal()

        run_ids = [gold.run_ids[position] for position in positions[first].tolist()]
        self.app.push_screen(RequestScreen([self._run], run_ids, place, moved))
