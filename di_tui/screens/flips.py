"""The requests that one of two runs has right and the other wrong; enter shows one with both answers."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Input, Static

from di_tui.screens.base import WorkScreen
from di_tui.screens.request import RequestScreen
from di_tui.widgets.flip_rows import COLUMNS, FlipRows, flips_of
from di_tui.widgets.row_table import RowTable
from scoring.compare import Comparison

if TYPE_CHECKING:
    from di_tui.scored_run import ScoredRun

# What is listed: direction -> how it is called.
DIRECTIONS = {None: "lost and won", True: "only lost", False: "only won"}
NOTHING = """Nothing flipped here.

Both runs have the same requests right, or the benchmark has no requests that are right or wrong one by one
(rankings, routes, forecasts). `d` changes the direction, escape ends a filter."""


class FlipsScreen(WorkScreen):
    """Lists flips.

    Args:
        runs: A and B; they are not closed here. name: what the benchmarks are called. catalog_ids: flips of these.
    """

    BINDINGS: ClassVar = [
        Binding("enter", "open", "Open", key_display="enter", tooltip="Show the request under the cursor with both answers."),
        Binding("d", "direction", "Lost/won", tooltip="List what B lost, what it won, or both."),
        Binding("slash", "filter", "Filter", key_display="/", tooltip="List only benchmarks or requests with a text in their name."),
    ]

    def __init__(self, runs: "Sequence[ScoredRun]", comparison: Comparison, name: str, catalog_ids: Sequence[int]):
        super().__init__()
        self._runs = list(runs)
        self._flips = flips_of([shared for shared in comparison.benchmarks if shared.catalog_id in set(catalog_ids)])
        self._lost: bool | None = None
        self._text = ""
        self.crumb = name

    def body(self) -> Iterable[Widget]:
        yield Static(id="header")
        yield RowTable(COLUMNS, id="flips")
        yield Static(NOTHING, id="empty", classes="empty")
        yield Input(placeholder="benchmark or request; enter keeps it, escape ends it", id="search", compact=True)

    def on_mount(self) -> None:
        self.query_one("#search").display = False
        self.show()

    def repaint(self) -> None:
        super().repaint()
        self.query_one(RowTable).refresh()

    def show(self) -> None:
        """List what direction and filter leave; the cursor stays on its row where that is still there."""
        text = self._text.lower()
        kept = [
            flip
            for flip in self._flips
            if self._lost in (None, flip.lost) and (text in flip.dataset.lower() or text in flip.run_id.lower())
        ]
        table = self.query_one(RowTable)
        table.show(FlipRows(kept, tuple(run.cases for run in self._runs)))
        table.reveal()
        table.display, self.query_one("#empty").display = bool(kept), not kept
        lost = sum(flip.lost for flip in kept)
        line = Text.assemble((f"× {lost:,} lost", "bad"), "  ", (f"✓ {len(kept) - lost:,} won", "good"))
        line.append(f"  by B ({self._runs[1].name}) against A ({self._runs[0].name})")
        line.append(f"  {DIRECTIONS[self._lost]}{f', with “{self._text}”' if text else ''}", style="accent")
        self.query_one("#header", Static).update(line)

    def action_direction(self) -> None:
        directions = list(DIRECTIONS)
        self._lost = directions[(directions.index(self._lost) + 1) % len(directions)]
        self.show()

    def action_filter(self) -> None:
        box = self.query_one("#search", Input)
        box.display = True
        box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self._text = event.value.strip()
        self.show()

    def on_input_submitted(self) -> None:
        self._close_box()

    def _close_box(self) -> None:
        self.query_one("#search").display = False
        self.query_one(RowTable).focus()

    def action_back(self) -> None:
        """End the filter, else leave."""
        if self.query_one("#search").display or self._text:
            self.query_one("#search", Input).value = ""
            self._close_box()
        else:
            super().action_back()

    def action_open(self) -> None:
        self.query_one(RowTable).choose()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        flips = event.table.rows.flips

        def moved(place: int) -> None:
            event.table.show(event.table.rows, flips[place].run_id)
            event.table.reveal()

        place = event.table.rows.place_of(event.row.key)
        self.app.push_screen(RequestScreen(self._runs, [flip.run_id for flip in flips], place, moved))
