"""Runs as the command line starts them: in the foreground with a display and signals, or detached."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from di_tui.display.base import Display
from di_tui.display.run import run_display
from di_tui.job import Job, after_the_app
from di_tui.signals import StopOnSignal
from engines import events
from engines.control import Control
from engines.run_dir import RunDir, read_json
from suite_builder.suite import Suite

if TYPE_CHECKING:
    from engines.runner import RunSettings

EXIT_CODES = {"complete": 0, "limited": 0, "failed": 1}
DONE_WITH_ERRORS = 3
SECONDS_TO_START = 10.0
UNDER_WAY = ("ready", "progress", "paused", "complete", "limited")


@dataclass(frozen=True)
class RunRequest:
    """One run to do."""

    suite: Suite
    out: Path
    settings: "RunSettings"


def foreground(request: RunRequest, as_json: bool, display: Display | None = None) -> int:
    """Run with a display until the end or a signal; returns the exit code and says on stderr what to do next."""
    from engines.runner import run as run_engine

    control = Control()
    with StopOnSignal(control) as signals, display or run_display(as_json) as shown:
        ended = run_engine(request.suite, RunDir(request.out), request.settings, shown.emit, control)
    hint = _hint(ended)
    if hint:
        print(hint, file=sys.stderr)
    if ended.state == "interrupted":
        return 128 + signals.received if signals.received else 1
    return EXIT_CODES[ended.state] or (DONE_WITH_ERRORS if ended.counts.get("error") else 0)


def _hint(ended: events.Ended) -> str | None:
    if ended.state == "interrupted":
        return f"{ended.reason}: {ended.completed:,} of {ended.total:,} results are safe; the same command goes on from there"
    if ended.state == "failed":
        return f"error: {ended.reason}"
    errors = ended.counts.get("error")
    return f"{errors:,} requests ended in an error; run the same command again to ask them once more" if errors else None


class RunJob(Job):
    """A run in a process of its own. It is the same command, headless; what it says goes to run.log."""

    def __init__(self, out: Path, arguments: Sequence[str]):
        """Start it.

        Raises:
            RunError: the run directory cannot be made.
        """
        self.run_dir = RunDir(out)
        self.run_dir.create()
        super().__init__(self.run_dir.log, arguments)

    @property
    def under_way(self) -> bool:
        """Whether its engine is loaded and the run has begun."""
        status = read_json(self.run_dir.status) or {}
        return status.get("pid") == self.pid and status["event"] in UNDER_WAY


def detached(out: Path, arguments: list[str]) -> int:
    """Start the same command as a job and return when it has begun, or has ended at once with its own exit code."""
    job = RunJob(out, arguments)
    began = time.monotonic()
    while job.code is None and not job.under_way and time.monotonic() - began < SECONDS_TO_START:
        time.sleep(0.1)
    if job.code:
        print(job.last_word(), file=sys.stderr)
        return job.code
    print(f"running as process {job.pid}; progress in {job.run_dir.status}, log in {job.run_dir.log}")
    print(f"stop it with: kill {job.pid}")
    return 0


def in_app(out: Path, arguments: list[str]) -> int:
    """Start the same command as a job and watch it in the app; returns its exit code, 0 when it was left running."""
    from di_tui.app import DiTui

    job = RunJob(out, arguments)
    DiTui(watched=out, job=job).run()
    return after_the_app(job, f"di-tui watch {out}")
