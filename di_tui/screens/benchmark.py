"""One benchmark of a run: what it asks, what it is worth, which labels and thresholds, how fast; and on to its requests."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding
from textual.widgets import Static
from textual.worker import get_current_worker

from di_tui.benchmark_texts import about, licence, origins
from di_tui.label_table import Bin, LabelTable, label_table, latency_bins
from di_tui.score_view import BenchmarkScore, area_scores
from di_tui.scored_run import PROBLEMS, ScoredRun
from di_tui.screens.page import PageScreen, Section
from di_tui.widgets import sections

UNKNOWN = "This is no benchmark of the suite: it is scored by the share of right answers and is in no index."
NOT_CALIBRATED = "Its answers are not right or wrong one by one: there is no calibration."


class BenchmarkScreen(PageScreen):
    """Shows one benchmark.

    Args:
        others: catalog ids to go on to by key, in the order of the list that this came from.
    """

    BINDINGS: ClassVar = [
        Binding("enter,l", "requests", "Requests", key_display="enter", tooltip="List the requests of this benchmark."),
        Binding("n,right", "other(1)", "Next", key_display="n", tooltip="Go on to the next benchmark of the list."),
        Binding("N,left", "other(-1)", "Before", key_display="N", tooltip="Go back to the benchmark before in the list."),
    ]

    def __init__(self, run: ScoredRun, catalog_id: int, others: Sequence[int] = ()):
        super().__init__()
        self.run = run
        self._others = list(others) or [catalog_id]
        self._scores = {own.catalog_id: own for area in area_scores(run.scores, run.edition) for own in area.benchmarks}
        self._choose(catalog_id)

    def _choose(self, catalog_id: int) -> None:
        self.own: BenchmarkScore = self._scores[catalog_id]
        self.crumb = f"{catalog_id} {self.own.dataset}"

    def on_mount(self) -> None:
        self._show()

    def repaint(self) -> None:
        super().repaint()
        self.query_one("#header", Static).update(self._title())

    def _title(self) -> Text:
        title = Text.assemble((self.own.dataset, "bold"), (f"   {self.own.area} · edition {self.run.edition.id}", "muted"))
        if len(self._others) > 1:
            place = self._others.index(self.own.catalog_id) + 1
            title.append(f"   {place} of {len(self._others)}", style="muted")
        return title

    def _show(self) -> None:
        """Put on the page what scores.json tells; what the cases tell follows when they are read."""
        self._fill(None, [])
        self.repaint()
        self.query_one("#page").scroll_home(animate=False)
        self._say("… reading the cases of this run", "muted")
        self._read(self.own.catalog_id)

    def _fill(self, labels: LabelTable | None, bins: list[Bin]) -> None:
        report = self.run.scores["calibration"]["benchmarks"].get(str(self.own.catalog_id))
        left, right = list(self._known()), list(calibration_sections(report))
        if bins:
            left.append(Section("Latency", sections.histogram(bins)))
        if labels:
            left.append(Section("Labels", sections.labels(labels)))
        if labels and labels.confusions:
            right.append(Section("Confusions", sections.confusions(labels)))
        self.put(left, right, bins_of(report))

    def _known(self) -> Iterator[Section]:
        own = self.own
        pages = list(origins(own.catalog_id)) or ["made by this program; nothing is downloaded"]
        source = sections.facts(
            [*(("" if place else "source", page) for place, page in enumerate(pages)), ("licence", licence(own.catalog_id))]
        )
        text = Text(about(own.catalog_id, self.run.edition) or UNKNOWN)
        yield Section("What it asks", Text("\n\n").join([text, source]))
        yield Section("Values", sections.values(own))
        if own.tracks:
            yield Section("Tracks", sections.tracks(own))

    @work(thread=True, exclusive=True, group="cases")
    def _read(self, catalog_id: int) -> None:
        worker = get_current_worker()
        try:
            cases = self.run.sheets[catalog_id]
            labels, bins = label_table(cases), latency_bins(cases.wall_ms)
        except PROBLEMS as error:
            if not worker.is_cancelled:
                self.app.call_from_thread(self._say, f"× {error}", "bad")
            return
        if not worker.is_cancelled:
            self.app.call_from_thread(self._take, labels, bins)

    def _take(self, labels: LabelTable | None, bins: list[Bin]) -> None:
        self._say("", "")
        self._fill(labels, bins)

    def _say(self, text: str, style: str) -> None:
        notice = self.query_one("#notice", Static)
        notice.update(Text.assemble((text, style)))
        notice.display = bool(text)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "other" or len(self._others) > 1

    def action_other(self, step: int) -> None:
        place = self._others.index(self.own.catalog_id)
        self._choose(self._others[(place + step) % len(self._others)])
        self._show()

    def action_requests(self) -> None:
        from di_tui.screens.requests import RequestsScreen

        self.app.push_screen(RequestsScreen(self.run, self.own.catalog_id))


def bins_of(report: dict[str, Any] | None) -> list[dict[str, Any]]:
    """The reliability table of a calibration report, empty where no field tells any."""
    return report["reliability"] if report and report["answered"] else []


def calibration_sections(report: dict[str, Any] | None) -> Iterator[Section]:
    """Reliability and thresholds of a calibration report."""
    if not bins_of(report):
        yield Section("Calibration", Text(NOT_CALIBRATED, style="muted"))
        return
    yield Section("Calibration", sections.reliability(report))
    yield Section("Thresholds", sections.thresholds(report))
