"""Whether the probabilities of a run mean what they say: over all benchmarks, and which are the worst."""

from collections.abc import Iterator

from rich.text import Text
from textual.widgets import Static

from di_tui.scored_run import ScoredRun
from di_tui.screens.benchmark import bins_of, calibration_sections
from di_tui.screens.page import PageScreen, Section
from di_tui.widgets import sections


class CalibrationScreen(PageScreen):
    """Shows the calibration of all fields of a run together, and of each benchmark in a line."""

    crumb = "calibration"
    plot_first = True

    def __init__(self, run: ScoredRun):
        super().__init__()
        self.run = run

    def on_mount(self) -> None:
        self.query_one("#notice").display = False
        calibration = self.run.scores["calibration"]
        overall = calibration["overall"]
        self.put(self._benchmarks(calibration["benchmarks"]), calibration_sections(overall), bins_of(overall))

    def repaint(self) -> None:
        super().repaint()
        scope = f"   edition {self.run.edition.id}, all fields that are right or wrong"
        self.query_one("#header", Static).update(Text.assemble((self.run.name, "bold"), (scope, "muted")))

    def _benchmarks(self, reports: dict[str, dict]) -> Iterator[Section]:
        names = {key: own["dataset"] for key, own in self.run.scores["benchmarks"].items()}
        if reports:
            yield Section("Benchmarks, the worst calibrated first", sections.calibrations(reports, names))
