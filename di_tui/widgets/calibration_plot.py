"""How often answers are right against how sure the engine was: a plot. The only place that plots."""

from collections.abc import Sequence
from typing import Any

from textual.color import Color
from textual_plotext import PlotextPlot


class CalibrationPlot(PlotextPlot):
    """Shows a reliability table: a point a bin, and the line on which probabilities mean what they say."""

    def __init__(self, **more) -> None:
        super().__init__(**more)
        self._bins: list[dict[str, Any]] = []

    def show(self, reliability: Sequence[dict[str, Any]]) -> None:
        """Plot the bins that hold answers."""
        self._bins = [row for row in reliability if row["n"]]
        self._draw()

    def on_mount(self) -> None:
        super().on_mount()
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self._draw())
        self._draw()

    def _draw(self) -> None:
        variables = self.app.theme_variables
        line, points = (Color.parse(variables[name]).rgb for name in ("muted", "accent"))
        plot = self.plt
        plot.clear_figure()
        plot.xlim(0, 1)
        plot.ylim(0, 1)
        plot.xticks([0, 0.25, 0.5, 0.75, 1], ["0", ".25", ".5", ".75", "1"])
        plot.yticks([0, 0.5, 1], ["0", ".5", "1"])
        plot.title("how many are right")
        plot.plot([0, 1], [0, 1], marker="·", color=line)
        plot.scatter([row["confidence"] for row in self._bins], [row["accuracy"] for row in self._bins], marker="o", color=points)
        plot.xlabel("how sure")
        self.refresh()
