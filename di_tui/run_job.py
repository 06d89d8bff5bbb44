"""Runs as the command line starts them: in the foreground with a display and signals, or detached."""

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from di_tui.display.base import Display
from di_tui.display.run import run_display
from di_tui.signals import StopOnSignal
from engines import events
from engines.control import Control
from engines.run_dir import RunDir, read_json
from engines.runner import RunSettings
from engines.runner import run as run_engine
from suite_builder.suite import Suite

EXIT_CODES = {"complete": 0, "limited": 0, "failed": 1}
DONE_WITH_ERRORS = 3
SECONDS_TO_START = 10.0
UNDER_WAY = ("ready", "progress", "paused", "complete", "limited")


@dataclass(frozen=True)
class RunRequest:
    """One run to do."""

    suite: Suite
    out: Path
    settings: RunSettings


def foreground(request: RunRequest, as_json: bool, display: Display | None = None) -> int:
    """Run with a display until the end or a signal; returns the exit code and says on stderr what to do next."""
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


def detached(out: Path, arguments: list[str]) -> int:
    """Start the same command in a session of its own, so that a closed terminal does not end it.

    Returns 0 when the run has begun, and the run's own exit code when it ended at once.
    """
    run_dir = RunDir(out)
    run_dir.create()
    began = time.monotonic()
    with run_dir.log.open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "di_tui", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    while time.monotonic() - began < SECONDS_TO_START:
        code = process.poll()
        if code is not None and code != 0:
            print(_last_line(run_dir.log), file=sys.stderr)
            return code
        status = read_json(run_dir.status) or {}
        if code == 0 or (status.get("pid") == process.pid and status["event"] in UNDER_WAY):
            break
        time.sleep(0.1)
    print(f"running as process {process.pid}; progress in {run_dir.status}, log in {run_dir.log}")
    print(f"stop it with: kill {process.pid}")
    return 0


def _last_line(log: Path) -> str:
    lines = log.read_text("utf-8", "replace").splitlines()
    return lines[-1] if lines else "the run ended without a word"
