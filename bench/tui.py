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
SECONDS_TO_GIVE_UP = 300.0
HEADER = "| step | painted, ms | ready, ms | longest stall, ms |\n|---|---:|---:|---:|"
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


@dataclass(frozen=True)
class Step:
    """Keys to press, and how to see that they did what they are for."""

    name: str
    keys: tuple[str, ...]
    ready: Callable[[App], bool]


def listed(rows: int, table: str = "RowTable") -> Callable[[App], bool]:
    """Whether a table of the screen has so many rows."""
    return lambda app: any(len(found.rows) >= rows for found in app.screen.query(table).results(RowTable))


def on(name: str) -> Callable[[App], bool]:
    return lambda app: type(app.screen).__name__ == name


def both(*conditions: Callable[[App], bool]) -> Callable[[App], bool]:
    return lambda app: all(condition(app) for condition in conditions)


STEPS = (
    Step("home", (), listed(1)),
    Step("monitor of the finished run", ("enter",), both(on("MonitorScreen"), lambda app: app.screen.run.ended, listed(45))),
    Step("back home", ("q",), both(on("HomeScreen"), listed(1))),
    Step("score browser", ("b",), both(on("ScoresScreen"), listed(40))),
    Step("sort it, six times", ("s",) * 6, listed(40)),
    Step("benchmark", ("slash", *"MMLU-Pro", "enter", "end", "enter"), on("BenchmarkScreen")),
    Step("its 12,032 requests", ("enter",), both(on("RequestsScreen"), listed(10_000))),
    Step("page down, thirty times", ("pagedown",) * 30, listed(10_000)),
    Step("last row", ("end",), listed(10_000)),
    Step("only wrong ones", ("w",), listed(1_000)),
    Step("search a word", ("slash", *"lantern", "enter"), lambda app: not app.screen._search or not app.screen._search.running),
    Step("request", ("enter",), on("RequestScreen")),
    Step("next request, ten times", ("n",) * 10, on("RequestScreen")),
)
COMPARE = (
    Step("compare with itself", (), both(on("CompareScreen"), listed(40))),
    Step("page down, ten times", ("pagedown",) * 10, listed(40)),
)


async def measure(app: DiTui, steps: tuple[Step, ...]) -> None:
    async with app.run_test(size=SIZE) as pilot:
        for step in steps:
            print(await timed(pilot, step), flush=True)


async def timed(pilot: Pilot, step: Step) -> str:
    heart, began = Heart(), time.perf_counter()
    await pilot.press(*step.keys)
    await pilot.pause()
    painted = time.perf_counter() - began
    while not step.ready(pilot.app):
        await asyncio.sleep(0.01)
        if time.perf_counter() - began > SECONDS_TO_GIVE_UP:
            sys.exit(f"error: {step.name} was not there after {SECONDS_TO_GIVE_UP:.0f} s")
    await pilot.pause()
    ready = time.perf_counter() - began
    heart.stop()
    share = len(step.keys) if len(set(step.keys)) == 1 else 1
    return f"| {step.name} | {1000 * painted / share:,.0f} | {1000 * ready / share:,.0f} | {1000 * heart.worst:,.0f} |"


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
    asyncio.run(measure(DiTui(given.work), STEPS))
    asyncio.run(measure(DiTui(first=lambda: CompareScreen(run, run)), COMPARE))


if __name__ == "__main__":
    main()
