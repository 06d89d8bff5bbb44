"""A table for any number of rows: only the lines in view are made, columns drop by priority, the cursor stays on its row."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.binding import Binding
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from di_tui.widgets.columns import GAP, Column, fit

HEADER_LINES = 1


@dataclass(frozen=True)
class Row:
    """One row. key: what stays the same when its cells change. cells: by column key, may leave some out. Styles in cells are
    those of the palette (`good`, `bad`, `warning`, `muted`, `accent`). heading: stands out, as an area above its members."""

    key: Hashable
    cells: Mapping[str, Text | str] = field(default_factory=dict)
    heading: bool = False


class LazyRows(Sequence[Row]):
    """Rows that are made when asked for, so that there may be any number of them."""

    def place_of(self, key: Hashable) -> int | None:
        """Where the row with a key is, None when there is none; makes no rows."""
        raise NotImplementedError


class RowTable(ScrollView, can_focus=True):
    """Shows a sequence of rows, which may be made only when asked for (`LazyRows`)."""

    COMPONENT_CLASSES: ClassVar = {"row-table--header", "row-table--cursor", "row-table--heading"}
    BINDINGS: ClassVar = [
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="Go to the row above."),
        Binding("down,j", "move(1)", "Down", show=False, tooltip="Go to the row below."),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="Go up by one screen of rows."),
        Binding("pagedown", "page(1)", "Page down", show=False, tooltip="Go down by one screen of rows."),
        Binding("home,g", "edge(0)", "First", show=False, tooltip="Go to the first row."),
        Binding("end,G", "edge(1)", "Last", show=False, tooltip="Go to the last row."),
    ]

    class Chosen(Message):
        """A row was opened: by the screen's enter key or a double click."""

        def __init__(self, table: "RowTable", row: Row):
            super().__init__()
            self.table = table
            self.row = row

        @property
        def control(self) -> "RowTable":
            return self.table

    def __init__(self, columns: Sequence[Column], **more) -> None:
        super().__init__(**more)
        self._columns = columns
        self._rows: Sequence[Row] = ()
        self._cursor = 0

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    @property
    def current(self) -> Row | None:
        """The row under the cursor."""
        return self._rows[self._cursor] if self._rows else None

    def show(self, rows: Sequence[Row], key: Hashable = None) -> None:
        """Replace the rows; the cursor goes to `key`, else stays on the row it was on where that is still there."""
        wanted = key if key is not None else (self.current and self.current.key)
        self._rows = rows
        if wanted is not None and not (self._cursor < len(rows) and rows[self._cursor].key == wanted):
            place = _place_of(rows, wanted)
            self._cursor = self._cursor if place is None else place
        self._cursor = max(min(self._cursor, len(rows) - 1), 0)
        self.virtual_size = Size(0, len(rows) + HEADER_LINES)
        self.refresh()

    def reveal(self) -> None:
        """Scroll so that the cursor is in view."""
        self._move_to(self._cursor)

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if y < HEADER_LINES:
            cells = {column.key: column.title for column in self._columns}
            return self._line(cells, width, self.get_component_rich_style("row-table--header"))
        place = self.scroll_offset.y + y - HEADER_LINES
        if place >= len(self._rows):
            return Strip.blank(width, self.rich_style)
        row = self._rows[place]
        style = self.get_component_rich_style("row-table--heading") if row.heading else self.rich_style
        if place == self._cursor and self.has_focus:
            style += self.get_component_rich_style("row-table--cursor")
        return self._line(row.cells, width, style)

    def _line(self, cells: Mapping[str, Text | str], width: int, style: Style) -> Strip:
        segments: list[Segment] = []
        for column, room in fit(self._columns, width - 2):
            segments += self._cell(cells.get(column.key, ""), column, room)
        strip = Strip([Segment(" "), *segments[:-1], Segment(" ")]) if segments else Strip([])
        return strip.adjust_cell_length(width).apply_style(style)

    def _cell(self, content: Text | str, column: Column, room: int) -> list[Segment]:
        text = content.copy() if isinstance(content, Text) else Text(content)
        text.end = ""
        # `render` leaves the style of a text without spans out, so it becomes one.
        text.stylize_before(text.style)
        text.truncate(room, overflow="ellipsis")
        text.align(column.justify, room)
        return [*text.render(self.app.console), Segment(" " * GAP)]

    def _move_to(self, place: int) -> None:
        if not self._rows:
            return
        self._cursor = max(min(place, len(self._rows) - 1), 0)
        # The header covers the line above the row; the region takes it in, so that the row is never under it.
        self.scroll_to_region(Region(0, self._cursor, 1, 1 + HEADER_LINES), animate=False, force=True)
        self.refresh()

    def action_move(self, by: int) -> None:
        self._move_to(self._cursor + by)

    def action_page(self, direction: int) -> None:
        self._move_to(self._cursor + direction * max(self.size.height - HEADER_LINES, 1))

    def action_edge(self, last: int) -> None:
        self._move_to(len(self._rows) - 1 if last else 0)

    def choose(self) -> None:
        """Open the row under the cursor, if there is one; the screen's enter key does this."""
        if self.current:
            self.post_message(self.Chosen(self, self.current))

    def on_click(self, event: events.Click) -> None:
        place = self.scroll_offset.y + event.y - HEADER_LINES
        if event.y < HEADER_LINES or place >= len(self._rows):
            return
        if place == self._cursor and event.chain > 1:
            self.choose()
        self._move_to(place)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


def _place_of(rows: Sequence[Row], key: Hashable) -> int | None:
    if isinstance(rows, LazyRows):
        return rows.place_of(key)
    return next((place for place, row in enumerate(rows) if row.key == key), None)
