"""Two runs beside each other: index, areas and benchmarks with differences and their intervals; leads to the flips."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Static
from textual.worker import get_current_worker

from di_tui.display.comparison import comparison_text
from di_tui.scored_run import PROBLEMS, ScoredRun
from di_tui.screens.base import WorkScreen
from di_tui.screens.choice import ChoiceScreen
from di_tui.screens.file_name import FileNameScreen
from di_tui.screens.flips import FlipsScreen
from di_tui.widgets.comparison_header import header, overlap_notice
from di_tui.widgets.comparison_rows import COLUMNS, comparison_rows
from di_tui.widgets.row_table import RowTable
from scoring.compare import Comparison, compare
from scoring.stats import DRAWS

if TYPE_CHECKING:
    from textual.worker import Worker

FORMATS = {
    "md": "Markdown: a table to paste into a text.",
    "csv": "CSV: one line a score, area and benchmark, for a spreadsheet.",
    "json": "JSON: all of it, with the run ids of the flips.",
    "svg": "SVG: a picture of this screen.",
}
COMMON_HELPS = "\n\n`t` compares only the requests that both suites have."
WHAT_TO_DO = "\n\n`r` tries again, `q` goes back."


class CompareScreen(WorkScreen):
    """Compares run B with run A over the requests that both answered.

    Args:
        path_a, path_b: run directories or results files; a run without scores is scored first.
        common: over different suites, compare the requests that both have. draws: resamples for the intervals.
        suite_dir, edition: by default those of the runs; B is read under the edition of A. flips: open their list at once.
    """

    BINDINGS: ClassVar = [
        Binding("enter", "open", "Flips", key_display="enter", tooltip="List the flips of the benchmark or area under the cursor."),
        Binding("f", "flips", "All flips", tooltip="List all requests that one run has right and the other wrong."),
        Binding("s", "sort", "Sort", tooltip="Order by areas, or by the size of the difference."),
        Binding("t", "common", "Common", tooltip="Compare only the requests that both suites have, or insist on the same suite."),
        Binding("x", "export", "Export", tooltip="Write the comparison as Markdown, CSV, JSON or a picture."),
        Binding("r", "reload", "Reload", show=False, tooltip="Read both runs again."),
    ]

    def __init__(
        self,
        path_a: Path,
        path_b: Path,
        common: bool = False,
        draws: int = DRAWS,
        suite_dir: Path | None = None,
        edition: str | None = None,
        flips: bool = False,
    ):
        super().__init__()
        self._paths = path_a, path_b
        self._common = common
        self._draws = draws
        self._suite_dir, self._edition = suite_dir, edition
        self._by_size = False
        self._flips_at_once = flips
        self._working = False
        self.runs: list[ScoredRun] = []
        self.comparison: Comparison | None = None
        self.crumb = f"{path_a.name} and {path_b.name}"

    def body(self) -> Iterable[Widget]:
        yield Static(id="header")
        yield Static(id="notice", classes="notice")
        yield RowTable(COLUMNS, id="comparison")
        yield Static(id="empty", classes="empty")

    def on_mount(self) -> None:
        self._start()

    def on_unmount(self) -> None:
        if not self._working:
            self._close()

    def _close(self) -> None:
        for run in self.runs:
            run.close()
        self.runs = []

    def repaint(self) -> None:
        super().repaint()
        if self.comparison and not self._working:
            self._show()

    def on_resize(self) -> None:
        self.repaint()

    def _start(self) -> None:
        self._working = True
        self.comparison = None
        self._say("… reading both runs")
        self._work()

    @work(thread=True)
    def _work(self) -> None:
        """Open the runs that are not open, compare them, then read what single requests need."""
        worker, runs = get_current_worker(), list(self.runs)
        try:
            self._open(worker, runs)
            self._tell(worker, self._say, f"… comparing on {self._draws:,} resamples")
            a, b = runs
            compared = compare(a.cases, b.cases, a.edition, (a.name, b.name), self._common, self._draws)
            self._tell(worker, self._take, runs, compared)
            for run in runs:
                run.prepare()
        except PROBLEMS as error:
            self._tell(worker, self._fail, runs, str(error))
        finally:
            if worker.is_cancelled:
                for run in runs:
                    run.close()
            else:
                self._tell(worker, self._done)

    def _open(self, worker: "Worker", runs: list[ScoredRun]) -> None:
        for path in self._paths[len(runs) :]:
            self._tell(worker, self._say, f"… reading {path.name}; a run without scores is scored first")
            edition = runs[0].edition.id if runs else self._edition
            runs.append(ScoredRun.open(path, self._suite_dir, edition, wanted=lambda: not worker.is_cancelled))

    def _tell(self, worker: "Worker", what: Callable[..., None], *facts: object) -> None:
        if not worker.is_cancelled:
            self.app.call_from_thread(what, *facts)

    def _done(self) -> None:
        self._working = False

    def _say(self, text: str, style: str = "muted") -> None:
        """Show a text in place of the table."""
        self.query_one("#comparison").display = self.query_one("#notice").display = False
        self.query_one("#header", Static).update("")
        empty = self.query_one("#empty", Static)
        empty.display = True
        empty.update(Text(text, style=style))

    def _fail(self, runs: list[ScoredRun], problem: str) -> None:
        self.runs = runs
        if self.comparison:
            self.notify(problem, severity="error", markup=False)
        else:
            self._say(f"× {problem}{COMMON_HELPS if '--common' in problem else ''}{WHAT_TO_DO}", "bad")

    def _take(self, runs: list[ScoredRun], comparison: Comparison) -> None:
        self.runs, self.comparison = runs, comparison
        self._show()
        self.query_one(RowTable).focus()
        if self._flips_at_once:
            self._flips_at_once = False
            self.action_flips()

    def _show(self) -> None:
        width = max(self.size.width - 2, 20)
        self.query_one("#header", Static).update(header(self.comparison, width))
        notice = self.query_one("#notice", Static)
        notice.update(overlap_notice(self.comparison, self._common))
        table = self.query_one(RowTable)
        table.show(comparison_rows(self.comparison, self._by_size))
        table.display = notice.display = True
        self.query_one("#empty").display = False

    def action_reload(self) -> None:
        if not self._working:
            self._close()
            self._start()

    def action_common(self) -> None:
        if not self._working:
            self._common = not self._common
            self._start()

    def action_sort(self) -> None:
        self._by_size = not self._by_size
        if self.comparison:
            self._show()

    def action_open(self) -> None:
        self.query_one(RowTable).choose()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        areas = {area.id: area for area in self.comparison.areas}
        if event.row.key in areas:
            area = areas[event.row.key]
            self._open_flips(area.label, area.benchmarks)
        elif isinstance(event.row.key, int):
            shared = next(shared for shared in self.comparison.benchmarks if shared.catalog_id == event.row.key)
            self._open_flips(shared.dataset, (shared.catalog_id,))
        else:
            self.action_flips()

    def action_flips(self) -> None:
        if self.comparison:
            self._open_flips("flips", tuple(shared.catalog_id for shared in self.comparison.benchmarks))

    def _open_flips(self, name: str, catalog_ids: tuple[int, ...]) -> None:
        self.app.push_screen(FlipsScreen(self.runs, self.comparison, name, catalog_ids))

    def action_export(self) -> None:
        if not self.comparison:
            return

        def named(form: str | None) -> None:
            if form:
                a, b = self.comparison.names
                suggested = self._paths[0].absolute().parent / f"{a}-and-{b}.{form}"
                self.app.push_screen(FileNameScreen("Write to", suggested), lambda path: path and self._write(path, form))

        self.app.push_screen(ChoiceScreen("Export as", FORMATS), named)

    def _write(self, path: Path, form: str) -> None:
        text = self.app.export_screenshot() if form == "svg" else comparison_text(self.comparison, form)
        try:
            path.write_text(text, "utf-8")
        except OSError as error:
            self.notify(f"cannot write {path}: {error.strerror or error}", severity="error", markup=False)
        else:
            self.notify(f"Written to {path}.", markup=False)
