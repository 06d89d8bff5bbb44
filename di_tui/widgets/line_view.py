"""A pane of lines that is fast however long the text is: lines are broken once for a width, only those in view are drawn."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual.binding import Binding
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

Line = Text | str
# Latin, Greek and Cyrillic text, in which every character takes one cell.
_ONE_CELL = re.compile("[ -\u02ff\u0370-\u0482‐-…]*")
# What a terminal would obey instead of show.
_CONTROLS = str.maketrans(dict.fromkeys([*range(9), *range(10, 32), *range(127, 160)], "·") | {9: "    "})


class LineView(ScrollView, can_focus=True):
    """Shows lines that fit its width, made by `make(width)` anew when the width changes; scrolls up and down."""

    BINDINGS: ClassVar = [
        Binding("j", "scroll_down", "Down", show=False, tooltip="Scroll down by a line."),
        Binding("k", "scroll_up", "Up", show=False, tooltip="Scroll up by a line."),
    ]

    def __init__(self, **more) -> None:
        super().__init__(**more)
        self._make: Callable[[int], Sequence[Line]] = lambda _width: ()
        self._lines: Sequence[Line] = ()
        self._width = 0

    def show(self, make: Callable[[int], Sequence[Line]], from_start: bool = True) -> None:
        """Replace the lines.

        Args:
            make: gives the lines for a width in cells. from_start: scroll to the first line.
        """
        self._make = make
        self._width = 0
        if from_start:
            self.scroll_to(0, 0, animate=False)
        self._lay_out()

    def _lay_out(self) -> None:
        width = self.scrollable_content_region.width
        if width > 0 and width != self._width:
            self._width = width
            self._lines = self._make(width)
            self.virtual_size = Size(0, len(self._lines))
        self.refresh()

    def on_resize(self) -> None:
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        place = self.scroll_offset.y + y
        width = self.scrollable_content_region.width
        if place >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        line = self._lines[place]
        text = line.copy() if isinstance(line, Text) else Text(line)
        text.end = ""
        text.stylize_before(text.style)
        return Strip(text.render(self.app.console)).adjust_cell_length(width).apply_style(self.rich_style)


def wrapped(text: str, width: int, indent: int = 0) -> list[str]:
    """Lines of at most `width` cells, broken at spaces where there are some; a broken line keeps its own indentation.

    Args:
        indent: cells by which all lines are indented beside that.
    """
    lines = []
    for line in map(printable, text.split("\n")):
        own = min(indent + len(line) - len(line.lstrip(" ")), width // 2)
        lines += [" " * own + piece for piece in _pieces(line.strip(" "), max(width - own, 1))]
    return lines


def printable(text: str) -> str:
    """A text in one line that a terminal shows and does not obey: control characters become dots."""
    return text.translate(_CONTROLS)


def _pieces(line: str, width: int) -> list[str]:
    if len(line) <= width and cell_len(line) <= width:
        return [line]
    if _ONE_CELL.fullmatch(line):
        return [piece.rstrip(" ") for piece in _breaker(width).findall(line)]
    pieces, start = [], 0
    while start < len(line):
        end = _end(line, start, width)
        pieces.append(line[start:end].rstrip(" "))
        start = end + len(line[end : end + width]) - len(line[end : end + width].lstrip(" "))
    return pieces


@lru_cache(maxsize=64)
def _breaker(width: int) -> re.Pattern:
    """Finds pieces of at most `width` characters: up to a space, or all that fits where there is none."""
    return re.compile(rf"\S.{{0,{width - 1}}}(?=\s|$)|\S.{{0,{width - 1}}}")


def _end(line: str, start: int, width: int) -> int:
    """Where a piece that starts at `start` and fits `width` cells ends: at a space if it has one; at least one character."""
    end, used = start, 0
    while end < len(line) and used + cell_len(line[end]) <= width:
        used += cell_len(line[end])
        end += 1
    if end == len(line) or line[end] == " ":
        return max(end, start + 1)
    space = line.rfind(" ", start + 1, end)
    return space if space > 0 else max(end, start + 1)
