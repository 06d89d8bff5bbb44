"""The rebuild screen: follows a work folder and steers the process that builds in it, whichever that is."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Static

from di_tui.job import Job
from di_tui.rebuild_follower import ENDED, GONE, RebuildFollower
from di_tui.rebuild_state import BenchmarkState, Rebuild
from di_tui.screens.base import WorkScreen
from di_tui.screens.choice import ChoiceScreen, ask_and_leave
from di_tui.shapes import phase_mark
from di_tui.widgets.rebuild_header import header
from di_tui.widgets.rebuild_rows import COLUMNS, rebuild_rows
from di_tui.widgets.row_table import RowTable
from engines.control import send
from engines.run_dir import RunError
from suite_builder.catalog import benchmarks

SECONDS_BETWEEN_LOOKS = 0.2
LEAVE = {
    "leave": "Leave it going; `di-tui watch` with the work folder shows it again.",
    "stop": "Stop it; what is finished is kept, and the next rebuild goes on from there.",
    "back": "Stay here.",
}
STOP = {"stop": "Stop; what is finished is kept, and `p` goes on from there.", "back": "Let it go on."}


class RebuildScreen(WorkScreen):
    """Shows the rebuild of one work folder.

    Args:
        job: the process that builds in it, when this app started that; leaving asks what is to become of it then.
    """

    BINDINGS: ClassVar = [
        Binding("enter", "open", "Details", key_display="enter", tooltip="Show sources, licence, log and failure of a benchmark."),
        Binding("p", "pause", "Pause/resume", tooltip="Pause downloads and recipes, let them go on, or start a stopped rebuild."),
        Binding("s", "stop", "Stop", tooltip="Stop the rebuild; what is finished is kept."),
        Binding("f", "filter", "Failed", tooltip="Show only the benchmarks that failed, or all again."),
        Binding("r", "retry", "Retry", tooltip="Try the failed benchmark under the cursor again."),
        Binding("R", "retry_all", "Retry all", show=False, tooltip="Try all failed benchmarks again."),
    ]

    def __init__(self, work: Path, job: Job | None = None):
        super().__init__()
        self.crumb = f"rebuild in {work}"
        self.work = work
        self.job = job
        self.follower = RebuildFollower(work)
        self.rebuild = self.follower.snapshot()
        self.again: set[int] = set()
        self._only_failed = False

    def body(self) -> Iterable[Widget]:
        yield Static(id="header")
        yield Static(id="notice", classes="notice")
        yield RowTable(COLUMNS, id="blocks")

    def on_mount(self) -> None:
        self.show(self.rebuild)
        self.call_after_refresh(self.follower.start)
        self.set_interval(SECONDS_BETWEEN_LOOKS, self._look)

    def on_unmount(self) -> None:
        self.follower.stop()

    def on_resize(self) -> None:
        self.show(self.rebuild)

    @property
    def starting(self) -> bool:
        """Whether a process was started whose record has not begun yet."""
        began = self.rebuild.began
        return bool(self.job and self.job.code is None and not (began and began.pid == self.job.pid))

    def _look(self) -> None:
        self.show(self.follower.snapshot())
        if self.again and not self.rebuild.alive and not self.starting:
            self._start(sorted(self.again))

    def show(self, rebuild: Rebuild) -> None:
        """Put a snapshot on the screen."""
        self.rebuild = rebuild
        self.query_one("#header", Static).update(header(rebuild, max(self.size.width - 2, 20)))
        table = self.query_one("#blocks", RowTable)
        table.show(rebuild_rows(rebuild.failed if self._only_failed else rebuild.benchmarks, self.again))
        notice = self.query_one("#notice", Static)
        text = self._notice()
        notice.update(text)
        notice.display = bool(text)

    def _notice(self) -> Text:
        """What the table does not say: what is awaited, what to do now, why the benchmark under the cursor failed."""
        lines = [Text(text, style=style) for text, style in (self._state(),) if text]
        if self._only_failed:
            lines.append(Text(f"only what failed is shown ({len(self.rebuild.failed)}); f shows all", style="muted"))
        chosen = self.chosen
        if chosen and chosen.failed:
            lines.append(Text(f"× {benchmarks()[chosen.catalog_id].dataset}: {chosen.last.reason}", style="bad"))
        return Text("\n").join(lines)

    def _state(self) -> tuple[str, str]:
        rebuild, phase = self.rebuild, self.rebuild.phase
        if self.starting:
            return f"… process {self.job.pid} is starting", "muted"
        if self.job and self.job.code and not rebuild.alive and not (rebuild.began and rebuild.began.pid == self.job.pid):
            return f"× {self.job.last_word()}", "bad"
        if phase == "starting":
            return f"… no rebuild has begun in {self.work} yet; it shows here when it does", "muted"
        if phase == GONE:
            return f"× process {rebuild.began.pid} is gone; what it finished is kept, and p goes on from there", "bad"
        if phase == "complete":
            rows = f"{rebuild.written.rows:,} rows" if rebuild.written else "the suite"
            state = "unchanged" if rebuild.written and rebuild.written.unchanged else "ready"
            return f"✓ {rows} in {rebuild.began.suite_dir}, {state}; next: `n` at home begins a run", "good"
        if phase == "failed":
            return f"× {rebuild.reason}; r tries the one under the cursor again, R all that failed", "bad"
        if phase == "interrupted":
            return f"{phase_mark(phase).symbol} stopped; what is finished is kept, and p goes on from there", "warning"
        if phase == "paused":
            return "○ downloads and recipes wait; p lets them go on", "warning"
        if phase == "indexing":
            return "… the suite is written; its label file and row store are being made", "muted"
        if rebuild.benchmarks and all(one.done or one.failed for one in rebuild.benchmarks):
            return f"… writing the suite into {rebuild.began.suite_dir}", "muted"
        return "", ""

    @property
    def chosen(self) -> BenchmarkState | None:
        """The benchmark under the cursor."""
        row = self.query_one("#blocks", RowTable).current
        return row and self.rebuild.benchmark(row.key)

    def action_pause(self) -> None:
        """Pause, resume what is paused or about to be, or begin a rebuild again that did not come to its end."""
        if self.rebuild.alive:
            self._send("run" if "pause" in (self.rebuild.asked, self.rebuild.phase.removesuffix("d")) else "pause")
        elif self.rebuild.phase == "complete":
            self.notify("This rebuild is complete.")
        elif not self.starting:
            self._start()

    def action_stop(self) -> None:
        if self.starting:
            self.job.stop()
        elif not self.rebuild.alive:
            self.notify("No process builds here now.", severity="warning")
        else:
            self.app.push_screen(ChoiceScreen("Stop this rebuild?", STOP), lambda way: way == "stop" and self._send("stop"))

    def _send(self, command: str) -> None:
        try:
            send(self.follower.files.control, command)
        except RunError as error:
            self.notify(str(error), severity="error", markup=False)

    def _start(self, again: Iterable[int] = ()) -> None:
        """Begin the same rebuild once more in a new process; of what is missing only `again`, where that is given."""
        from di_tui.rebuild_job import RebuildJob

        if not self.rebuild.began:
            self.notify(f"No rebuild has begun in {self.work} yet.", severity="warning")
            return
        retry = ("--retry", ",".join(map(str, again))) if again else ()
        self.again.clear()
        try:
            self.job = RebuildJob(self.work, [*self.rebuild.began.arguments, *retry])
        except RunError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self.app.attend(self.job, f"The rebuild in {self.work}")

    def action_filter(self) -> None:
        if not self._only_failed and not self.rebuild.failed:
            self.notify("No benchmark has failed.")
            return
        self._only_failed = not self._only_failed
        self.show(self.rebuild)

    def action_retry(self) -> None:
        if self.chosen and self.chosen.failed:
            self.retry(self.chosen.catalog_id)
        else:
            self.notify("Put the cursor on a benchmark that failed; R tries all of them.", severity="warning")

    def action_retry_all(self) -> None:
        if failed := [one.catalog_id for one in self.rebuild.failed]:
            self.retry(*failed)
        else:
            self.notify("No benchmark has failed.")

    def retry(self, *catalog_ids: int) -> None:
        """Try failed benchmarks again, at once or when the rebuild that goes on has ended."""
        self.again.update(catalog_ids)
        if self.rebuild.alive:
            self.notify("It is tried again as soon as this rebuild has ended; stop the rebuild to try it at once.")
        self._look()

    def action_open(self) -> None:
        self.query_one("#blocks", RowTable).choose()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        from di_tui.screens.rebuild_detail import RebuildDetailScreen

        self.app.push_screen(RebuildDetailScreen(self, event.row.key))

    def leave(self, go: Callable[[], None]) -> None:
        """Ask what is to become of a rebuild that was started here and still goes, then go."""
        if not (self.job and self.job.code is None) or self.rebuild.phase in ENDED and not self.starting:
            go()
            return
        ask_and_leave(self.app, self.job, "This rebuild is still going.", LEAVE, go)
