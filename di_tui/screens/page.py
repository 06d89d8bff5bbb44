"""A page of titled sections to scroll through, with a calibration plot: one column, or two where there is room."""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, NamedTuple

from rich.text import Text
from textual.binding import Binding
from textual.containers import Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Static

from di_tui.screens.base import WorkScreen
from di_tui.widgets.calibration_plot import CalibrationPlot


class Section(NamedTuple):
    """A title and the text below it."""

    title: str
    text: Text


class PageScreen(WorkScreen):
    """A page. Sub-classes call `put`; sections are texts and not widgets, which a large page would lay out too slowly.

    plot_first: the right sections and the plot come before the left ones.
    """

    plot_first = False
    AUTO_FOCUS = "#page"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (150, "-wide")]
    BINDINGS: ClassVar = [
        Binding("up,k", "scroll(-1)", "Up", show=False, tooltip="Scroll up by a line."),
        Binding("down,j", "scroll(1)", "Down", show=False, tooltip="Scroll down by a line."),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._left: Sequence[Section] = ()
        self._right: Sequence[Section] = ()

    def body(self) -> Iterable[Widget]:
        yield Static(id="header")
        yield Static(id="notice", classes="notice")
        left = Vertical(Static(id="left"), classes="column")
        right = Vertical(CalibrationPlot(id="plot"), Static(id="right"), classes="column")
        yield VerticalScroll(*((right, left) if self.plot_first else (left, right)), id="page", can_focus=True)

    def put(self, left: Iterable[Section], right: Iterable[Section], reliability: Sequence[dict[str, Any]] = ()) -> None:
        """Replace the sections. reliability: bins to plot above the right ones."""
        self._left, self._right = list(left), list(right)
        plot = self.query_one("#plot", CalibrationPlot)
        plot.display = bool(reliability)
        plot.show(reliability)
        self._write()

    def repaint(self) -> None:
        super().repaint()
        self._write()

    def _write(self) -> None:
        for name, sections in (("#left", self._left), ("#right", self._right)):
            self.query_one(name, Static).update(Text("\n\n").join(map(_titled, sections)))

    def action_scroll(self, by: int) -> None:
        self.query_one("#page").scroll_relative(y=by, animate=False)


def _titled(section: Section) -> Text:
    title = Text(section.title, style="accent")
    title.stylize("bold")
    return Text.assemble(title, "\n", section.text)
