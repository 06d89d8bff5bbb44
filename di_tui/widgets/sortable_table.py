"""A table whose column titles can be clicked and show how the rows are ordered."""

from collections.abc import Sequence
from dataclasses import replace

from textual import events
from textual.message import Message

from di_tui.widgets.columns import GAP, Column, fit
from di_tui.widgets.row_table import HEADER_LINES, RowTable

DOWN, UP = "↓", "↑"


class SortableTable(RowTable):
    """Says which title was clicked; the screen orders the rows and calls `mark`."""

    class TitleClicked(Message):
        """A column title was clicked."""

        def __init__(self, column: str):
            super().__init__()
            self.column = column

    def __init__(self, columns: Sequence[Column], **more) -> None:
        super().__init__(columns, **more)
        self._plain = columns

    @property
    def shown(self) -> list[str]:
        """Keys of the columns that there is room for."""
        return [column.key for column, _width in self._fitted()]

    def mark(self, columns: Sequence[Column], column: str | None, descends: bool = False) -> None:
        """Show these columns, and by which of them the rows are ordered, if any."""
        arrow = DOWN if descends else UP
        self._plain = columns
        self._columns = [replace(own, title=f"{own.title}{arrow}") if own.key == column else own for own in self._plain]
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        if event.y >= HEADER_LINES:
            return
        end = 1
        for column, width in self._fitted():
            end += width + GAP
            if event.x < end:
                self.post_message(self.TitleClicked(column.key))
                return

    def _fitted(self) -> list[tuple[Column, int]]:
        return fit(self._plain, self.size.width - 2)
