"""Render the pictures of README from the app: `python docs/screens/render.py WORK RUN_A RUN_B`.

WORK is the work folder of a rebuild, RUN_A and RUN_B are run directories over one suite. The picture of the monitor is taken
from a run that this script starts over the rows of RUN_A, while it goes on.
"""

import argparse
import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from textual.pilot import Pilot
from textual.screen import Screen

from di_tui.app import DiTui
from di_tui.screens.compare import CompareScreen
from di_tui.screens.monitor import MonitorScreen
from di_tui.screens.rebuild import RebuildScreen
from di_tui.screens.scores import ScoresScreen
from engines.run_dir import RunDir, read_json

HERE = Path(__file__).parent
SIZE = (120, 36)
SECONDS_TO_SETTLE = 0.5
SHOWN_AFTER = 0.4  # of the live run


async def settle(pilot: Pilot) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause(SECONDS_TO_SETTLE)


async def picture(name: str, first: Callable[[], Screen], then: Callable[[Pilot], Awaitable[None]] = settle) -> None:
    """Open a screen, do something, keep what it shows."""
    app = DiTui(first=first)
    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await then(pilot)
        app.save_screenshot(f"{name}.svg", str(HERE))
    print(HERE / f"{name}.svg")


async def live_run(rows: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "lexical"
        command = [sys.executable, "-m", "di_tui", "run", "--no-ui", "--engine", "lexical", "--rows", rows, "--out", out]
        job = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        async def until_under_way(pilot: Pilot) -> None:
            while job.poll() is None and not _share_done(out) > SHOWN_AFTER:
                await pilot.pause(0.1)
            await pilot.pause(SECONDS_TO_SETTLE)

        try:
            await picture("monitor", lambda: MonitorScreen(out), until_under_way)
        finally:
            job.terminate()
            job.wait()


def _share_done(out: Path) -> float:
    status = read_json(RunDir(out).status) or {}
    return status.get("completed", 0) / (status.get("total") or 1)


async def one_request(pilot: Pilot) -> None:
    await pilot.press("slash", *"appliance", "enter", "down", "down", "enter")
    await settle(pilot)
    await pilot.press("enter")
    await settle(pilot)
    await pilot.press("enter")
    await settle(pilot)


async def render(work: Path, run_a: Path, run_b: Path) -> None:
    rows = Path(read_json(RunDir(run_a).environment)["rows_path"])
    await picture("rebuild", lambda: RebuildScreen(work))
    await live_run(rows)
    await picture("scores", lambda: ScoresScreen(run_a))
    await picture("request", lambda: ScoresScreen(run_a), one_request)
    await picture("compare", lambda: CompareScreen(run_a, run_b))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path, help="work folder of a rebuild")
    parser.add_argument("run_a", type=Path)
    parser.add_argument("run_b", type=Path)
    given = parser.parse_args()
    asyncio.run(render(given.work, given.run_a, given.run_b))


if __name__ == "__main__":
    main()
