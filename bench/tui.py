"""Time the app over a run of the real size: `python bench/tui.py`.

Uses the suite and the run of bench/runner.py (random words, about 150,000 requests that are answered instantly; made once in
the work folder). Each step is done by its keys in the app without a terminal; the table says when the screen is painted
first, when what it is about is there, and the longest time for which the event loop stood still. `--attached` instead tells
the rate of such a run with and without the monitor in a terminal beside it.
"""

import argparse
import asyncio
import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

import runner  # noqa: E402
from textual.app import App  # noqa: E402
from textual.pilot import Pilot  # noqa: E402

from di_tui.app import DiTui  # noqa: E402
from di_tui.screens.compare import CompareScreen  # noqa: E402
from di_tui.widgets.row_table import RowTable  # noqa: E402

SIZE = (120, 40)
SECONDS_BETWEEN_BEATS = 0.002
SECONDS_BETWEEN_STEPS = 0.5
SECONDS_TO_GIVE_UP = 120.0
HEADER = "| step | first paint, ms | ready, ms | longest stall, ms |\n|---|---:|---:|---:|"
RATES = "| round | alone, requests/s | watched, requests/s | ratio |\n|---|---:|---:|---:|"


class Heart:
    """Beats in the event loop; `worst` is the longest time between two beats, in seconds."""

    def __init__(self) -> None:
        self.worst = 0.0
        self._task = asyncio.create_task(self._beat())

    async def _beat(self) -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(SECONDS_BETWEEN_BEATS)
            now = time.perf_counter()
            self.worst = max(self.worst, now - last - SECONDS_BETWEEN_BEATS)
            last = now

    def stop(self) -> None:
        self._task.cancel()


class Painted(DiTui):
    """Knows when it last painted which screen."""

    painted = ("", 0.0)

    def _display(self, screen, renderable) -> None:
        super()._display(screen, renderable)
        self.painted = type(screen).__name__, time.perf_counter()


@dataclass(frozen=True)
class Step:
    """Keys to press one after the other, the screen that the last of them leads to, and how to see that all is there."""

    name: str
    keys: tuple[str, ...]
    screen: str
    ready: Callable[[App], bool]


def listed(rows: int) -> Callable[[App], bool]:
    """Whether a table of the screen has so many rows."""
    return lambda app: any(len(table.rows) >= rows for table in app.screen.query(RowTable))


def at_once(_app: App) -> bool:
    return True


def searched(app: App) -> bool:
    return not app.screen._search or not app.screen._search.running


STEPS = (
    Step("home", (), "HomeScreen", listed(1)),
    Step("monitor of the finished run", ("enter",), "MonitorScreen", lambda app: app.screen.run.ended and listed(45)(app)),
    Step("back home", ("q",), "HomeScreen", listed(1)),
    Step("score browser", ("b",), "ScoresScreen", listed(40)),
    Step("sort it, six times", ("s",) * 6, "ScoresScreen", at_once),
    Step("filter it", ("slash", *"MMLU-Pro", "enter"), "ScoresScreen", at_once),
    Step("benchmark", ("end", "enter"), "BenchmarkScreen", at_once),
    Step("its 12,032 requests", ("enter",), "RequestsScreen", listed(10_000)),
    Step("page down, thirty times", ("pagedown",) * 30, "RequestsScreen", at_once),
    Step("last row", ("end",), "RequestsScreen", at_once),
    Step("only wrong ones", ("w",), "RequestsScreen", at_once),
    Step("search a word", ("slash", *"lantern", "enter"), "RequestsScreen", searched),
    Step("request", ("enter",), "RequestScreen", at_once),
    Step("next request, ten times", ("n",) * 10, "RequestScreen", at_once),
)
COMPARE = (
    Step("compare with itself", (), "CompareScreen", listed(40)),
    Step("page down, ten times", ("pagedown",) * 10, "CompareScreen", at_once),
)


async def measure(app: Painted, steps: tuple[Step, ...]) -> None:
    async with app.run_test(size=SIZE) as pilot:
        for step in steps:
            print(await timed(pilot, step), flush=True)
            await pilot.pause(SECONDS_BETWEEN_STEPS)


async def timed(pilot: Pilot, step: Step) -> str:
    """A line of the table; of several keys the slowest counts."""
    app, heart, began, slowest = pilot.app, Heart(), time.perf_counter(), 0.0
    for key in step.keys:
        pressed = time.perf_counter()
        app.simulate_key(key)
        wanted = step.screen if key == step.keys[-1] else app.painted[0]
        while not (app.painted[0] == wanted and app.painted[1] > pressed):
            await wait(began, step)
        slowest = max(slowest, app.painted[1] - pressed)
    while not step.ready(app):
        await wait(began, step)
    ready = time.perf_counter() - began
    heart.stop()
    return f"| {step.name} | {1000 * slowest:,.0f} | {1000 * ready:,.0f} | {1000 * heart.worst:,.0f} |"


async def wait(began: float, step: Step) -> None:
    await asyncio.sleep(SECONDS_BETWEEN_BEATS)
    if time.perf_counter() - began > SECONDS_TO_GIVE_UP:
        sys.exit(f"error: {step.name} was not there after {SECONDS_TO_GIVE_UP:.0f} s")


def prepare(work: Path) -> None:
    """Make suite, run and scores."""
    from scoring.report import SCORES, score
    from suite_builder.suite import Suite

    if not (work / "run" / SCORES).is_file():
        runner.prepare(work, 1.0)
        runner.run_apart(work, False, 64)
        score(Suite.open(work / "suite"), work / "run" / "results.jsonl", work / "run", "instant")


def rate(work: Path, watched: bool) -> float:
    """Requests a second of an instantly answered run."""
    shutil.rmtree(work / "run", ignore_errors=True)
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(runner.run_apart, work, False, 64)
        if watched:
            watch_until_done(work / "run", running.done)
        found = running.result()
    return found["requests"] / found["wall"]


def watch_until_done(run_dir: Path, is_done: Callable[[], bool]) -> None:
    """Show a run in a terminal of 120 x 40 until it is done."""
    while not (run_dir / "status.json").is_file():
        time.sleep(0.01)
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", SIZE[1], SIZE[0], 0, 0))
    watching = subprocess.Popen(
        [sys.executable, "-m", "di_tui", "watch", run_dir], stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"},
    )
    os.close(terminal)
    threading.Thread(target=_drain, args=(controller,), daemon=True).start()
    while not is_done():
        time.sleep(0.05)
    watching.kill()
    watching.wait()


def _drain(controller: int) -> None:
    try:
        while os.read(controller, 1 << 16):
            pass
    except OSError:  # the terminal is closed
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("work/bench-runner"), help="folder to work in (default: %(default)s)")
    parser.add_argument("--attached", action="store_true", help="compare rates with and without the monitor")
    parser.add_argument("--rounds", type=int, default=3, help="of rates (default: %(default)s)")
    given = parser.parse_args()
    prepare(given.work)
    if given.attached:
        print(RATES)
        for number in range(1, given.rounds + 1):
            alone, watched = rate(given.work, False), rate(given.work, True)
            print(f"| {number} | {alone:,.0f} | {watched:,.0f} | {watched / alone:.3f} |", flush=True)
        return
    run = given.work / "run"
    print(HEADER)
    asyncio.run(measure(Painted(given.work), STEPS))
    asyncio.run(measure(Painted(first=lambda: CompareScreen(run, run)), COMPARE))


if __name__ == "__main__":
    main()
