"""The run monitor: follows a run directory and steers the process that writes it, whichever that is."""

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding
from textual.widget import Widget
from textual.widgets import Static

from di_tui.display.run import duration
from di_tui.run_follower import FollowedRun, RequestError, RunFollower
from di_tui.screens.base import WorkScreen
from di_tui.screens.choice import ChoiceScreen, ask_and_leave
from di_tui.screens.text import TextScreen
from di_tui.shapes import phase_mark
from di_tui.widgets.benchmark_rows import COLUMNS, benchmark_rows
from di_tui.widgets.columns import Column
from di_tui.widgets.row_table import Row, RowTable
from di_tui.widgets.run_header import header
from engines.control import send
from engines.run_dir import RunDir, RunError

if TYPE_CHECKING:
    from di_tui.job import Job

SECONDS_BETWEEN_LOOKS = 0.25
SILENCE = 15.0
# Exit codes of a run that came to its end, with or without requests that failed.
DONE = (0, 3)
ERROR_COLUMNS = (
    Column("time", "Last errors", 11),
    Column("benchmark", "Benchmark", 14, grow=10),
    Column("exception", "Error", 16, grow=8, drop=2),
    Column("message", "Message", 30, grow=200),
    Column("run_id", "Request", 40, drop=3),
)
LEAVE = {
    "leave": "Leave it running; `di-tui watch` shows it again.",
    "stop": "Stop it after the batch in flight; the same command goes on from there.",
    "back": "Stay here.",
}
STOP = {"stop": "Stop after the batch in flight; the same command goes on from there.", "back": "Let it run."}


class MonitorScreen(WorkScreen):
    """Shows one run directory.

    Args:
        job: the process that writes it, when this app started that; leaving asks what is to become of it then.
    """

    BINDINGS: ClassVar = [
        Binding("enter", "open", "Traceback", key_display="enter", tooltip="Show the traceback of the error under the cursor."),
        Binding("p", "pause", "Pause/resume", tooltip="Pause the run after the batch in flight, or let it go on."),
        Binding("b", "scores", "Scores", tooltip="Browse the scores of what is answered so far."),
        Binding("s", "stop", "Stop", tooltip="Stop the run after the batch in flight; finished results are kept."),
        Binding("e", "errors", "Errors", tooltip="Go to the list of the latest errors; enter there shows the traceback."),
    ]

    def __init__(self, path: Path, job: "Job | None" = None):
        super().__init__()
        self.crumb = path.name or str(path)
        self.run_dir = RunDir(path)
        self.job = job
        self.follower = RunFollower(path)
        self.run = self.follower.snapshot()
        self._stop_asked: float | None = None
        self._was_live = False

    def body(self) -> Iterable[Widget]:
        yield Static(id="header")
        yield Static(id="notice", classes="notice")
        yield RowTable(COLUMNS, id="benchmarks")
        yield RowTable(ERROR_COLUMNS, id="errors")

    def on_mount(self) -> None:
        self.query_one("#errors").display = False
        self.show(self.run)
        self.call_after_refresh(self.follower.start)
        self.set_interval(SECONDS_BETWEEN_LOOKS, self._look)

    def on_unmount(self) -> None:
        self.follower.stop()

    def on_resize(self) -> None:
        self.show(self.run)

    def _look(self) -> None:
        run = self.follower.snapshot()
        if self.job and self.job.code is None and not run.live and run.pid != self.job.pid:
            # What is there is of an earlier session until the new process has taken the directory.
            run = replace(run, reason=None, progress=replace(run.progress, phase="starting"))
        self.show(run)

    def show(self, run: FollowedRun) -> None:
        """Put a snapshot on the screen."""
        self.run = run
        if self._was_live and run.ended and not self.job:
            self.app.announce(f"The run in {self.run_dir.path} has ended: {phase_mark(run.progress.phase).word}.")
        self._was_live = run.live
        if not run.live:
            self._stop_asked = None
        self.query_one("#header", Static).update(header(run, max(self.size.width - 2, 20)))
        notice = self.query_one("#notice", Static)
        text, style = self._notice(run)
        notice.update(Text.assemble((text, style)))
        notice.display = bool(text)
        self.query_one("#benchmarks", RowTable).show(benchmark_rows(run))
        errors = self.query_one("#errors", RowTable)
        errors.show([Row(error.run_id, _error_cells(error)) for error in run.errors])
        errors.display = bool(run.errors)

    def _notice(self, run: FollowedRun) -> tuple[str, str]:
        """What the numbers do not say, and its style: that something is awaited, or what to do now."""
        phase, silent = run.progress.phase, time.time() - run.heartbeat
        if run.read < 1 and self.run_dir.results.exists():
            return f"… reading results  {run.read:.0%}", "muted"
        if phase == "gone":
            return f"× {run.writer} is gone; what it finished is kept, and the same command goes on from there", "bad"
        if run.live and run.heartbeat and silent > SILENCE:
            return f"– {run.writer} has shown no sign of life for {duration(silent)}", "warning"
        if self._stop_asked is not None:
            waited = duration(time.monotonic() - self._stop_asked)
            return f"… the engine finishes its batch ({waited}); `kill {run.writer.pid}` if it hangs", "warning"
        if self.job and self.job.code not in (None, *DONE) and not run.live:
            return f"× {self.job.last_word()}", "bad"
        if run.reason:
            return f"{phase_mark(phase).symbol} {run.reason}", phase_mark(phase).style
        if phase in ("complete", "limited") and self.job and self.job.code is None:
            return "… all is answered; the run is being scored", "muted"
        if phase in ("complete", "limited"):
            return "✓ finished; b shows its scores", "good"
        if phase == "starting" and self.job:
            return f"… process {self.job.pid} is starting", "muted"
        if phase == "starting":
            return f"… no results in {run.path} yet; they show here as they come", "muted"
        return (f"– {run.skipped_lines:,} lines of results.jsonl are not readable", "warning") if run.skipped_lines else ("", "")

    def action_pause(self) -> None:
        """Pause, or resume what is paused or about to be."""
        paused = self.run.asked == "pause" or self.run.progress.phase == "paused"
        self._send("run" if paused else "pause")

    def action_stop(self) -> None:
        if self._writes():
            self.app.push_screen(ChoiceScreen("Stop this run?", STOP), lambda way: way == "stop" and self._stop())

    def _stop(self) -> None:
        if self._send("stop"):
            self._stop_asked = time.monotonic()

    def _send(self, command: str) -> bool:
        if not self._writes():
            return False
        try:
            send(self.run_dir.control, command)
        except RunError as error:
            self.notify(str(error), severity="error", markup=False)
            return False
        return True

    def _writes(self) -> bool:
        """Whether there is a process to steer; says so when not."""
        if not self.run.live:
            self.notify("No process writes this run now; start it again with the same command.", severity="warning")
        return self.run.live

    def action_scores(self) -> None:
        if not self.run.progress.done:
            self.notify("Nothing is answered yet.", severity="warning")
            return
        from di_tui.screens.scores import open_scores

        open_scores(self.app, self.run_dir.path)

    def action_errors(self) -> None:
        errors = self.query_one("#errors", RowTable)
        if errors.display:
            errors.focus()
        else:
            self.notify("No errors.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "open" or self.query_one("#errors").has_focus

    def action_open(self) -> None:
        self.query_one("#errors", RowTable).choose()

    def on_row_table_chosen(self, event: RowTable.Chosen) -> None:
        error = next((error for error in self.run.errors if error.run_id == event.row.key), None)
        if error:
            facts = {"request": error.run_id, "at": error.completed_utc, "message": error.message}
            self.app.push_screen(TextScreen(f"{error.dataset}: {error.exception}", facts, error.traceback))

    def leave(self, go: Callable[[], None]) -> None:
        """Ask what is to become of a run that was started here and still goes, then go."""
        if not (self.job and self.job.code is None):
            go()
            return
        ask_and_leave(self.app, self.job, "This run is still going.", LEAVE, go)


def _error_cells(error: RequestError) -> dict[str, Text | str]:
    return {
        "time": Text(f"× {error.completed_utc[11:19]}", style="bad"),
        "benchmark": error.dataset,
        "exception": error.exception,
        "message": error.message.replace("\n", " "),
        "run_id": Text(error.run_id, style="muted"),
    }
