"""Pictures of the rebuild and of the forms with fixed data; see test_snapshots.py."""

from dataclasses import replace
from pathlib import Path

import pytest
from textual.widgets import Input

from di_tui.app import DiTui
from di_tui.rebuild_record import Began, Ended, Recorded
from di_tui.rebuild_state import RebuildState
from di_tui.screens import rebuild, rebuild_detail
from di_tui.screens.new_rebuild import NewRebuildScreen
from di_tui.screens.new_run import NewRunScreen
from di_tui.screens.rebuild import RebuildScreen
from suite_builder.events import Download, Planned, Stage

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
START = 1_790_000_000.0
GATED = (
    "45/data/test-00000-of-00001.parquet is gated: 1. accept the terms at https://huggingface.co/datasets/cais/hle "
    "2. run `hf auth login` 3. run this command again"
)


def done(catalog_id, records, sha256, size=300_000, seconds=0.8, matches=True):
    yield Stage(catalog_id, "sources", "done", size=size, seconds=seconds)
    yield Stage(catalog_id, "normalize", "done", records=records, sha256=sha256, seconds=seconds, matches=True)
    yield Stage(catalog_id, "freeze", "done", records=records, sha256=sha256, seconds=seconds, matches=matches)


def at_work(phase):
    """A rebuild half-way; with a phase, as it ended."""
    events = [
        Began("0.2.1", "suite-0.2", None, ("suite", "rebuild"), 4711, START, "vm"),
        *(Stage(key, "sources", "waiting") for key in (4, 9, 5, 36, 39, 40, 45, 58, 59, 1)),
        Planned({4: 300_000, 5: 40_000_000, 36: 2_000_000_000, 45: 274_000_000}),
        *done(4, 3_080, "53e4e94c0011"),
        Stage(9, "sources", "done", unchanged=True),
        Stage(9, "normalize", "done", records=160, sha256="13862aa65d24", unchanged=True),
        Stage(9, "freeze", "done", records=160, sha256="6fe8105d735b", matches=True, unchanged=True),
        Stage(5, "sources", "done", size=40_000_000, seconds=4.0),
        Stage(5, "normalize", "running"),
        Stage(36, "sources", "running"),
        Download(36, "documents", 900_000_000, 2_000_000_000),
        *done(39, 61, "0a1b2c3d4e5f", size=2_000_000, seconds=75.0),
        *done(40, 9_999, None),
        Stage(45, "sources", "running"),
        Stage(45, "sources", "failed", reason=GATED),
        Stage(58, "sources", "done", size=7_000_000, seconds=1.0),
        Stage(58, "freeze", "done", records=5_511, sha256="77aa88bb99cc", seconds=2.0, matches=None),
        Stage(59, "sources", "running"),
    ]
    state = RebuildState()
    for event in events:
        state.take(Recorded(START, event))
    state.take(Recorded(START + 55, Download(36, "documents", 1_000_000_000, 2_000_000_000)))
    if phase:
        state.take(Recorded(START + 60, Ended(phase, "1 failed")))
    return state.snapshot(START + 60)


def following(monkeypatch, phase=None):
    """The app on a rebuild that has only this to tell."""
    seen = replace(at_work(phase), alive=phase is None)

    class Fixed:
        def __init__(self, _work):
            pass

        def snapshot(self):
            return seen

        def start(self):
            pass

        stop = start

    monkeypatch.setattr(rebuild, "RebuildFollower", Fixed)
    monkeypatch.setattr(rebuild_detail, "clock", lambda _seconds: "12:00:00")
    return DiTui(first=lambda: RebuildScreen(Path("work")))


@pytest.fixture(autouse=True)
def empty_place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


async def settle(pilot):
    for field in pilot.app.screen.query(Input):
        field.cursor_blink = False
    await pilot.app.workers.wait_for_complete()
    await pilot.pause(0.1)


@SIZES
def test_rebuild(snap_compare, monkeypatch, size):
    assert snap_compare(following(monkeypatch), terminal_size=size, run_before=settle)


def test_rebuild_that_failed_shows_why(snap_compare, monkeypatch):
    assert snap_compare(following(monkeypatch, "failed"), press=["f"], terminal_size=(80, 24), run_before=settle)


@SIZES
def test_benchmark_of_a_rebuild(snap_compare, monkeypatch, size):
    async def open_the_gated_one(pilot):
        await pilot.press(*["down"] * 6, "enter")
        await settle(pilot)

    assert snap_compare(following(monkeypatch, "failed"), terminal_size=size, run_before=open_the_gated_one)


@SIZES
def test_new_run(snap_compare, size):
    assert snap_compare(DiTui(first=lambda: NewRunScreen(Path("runs"))), terminal_size=size, run_before=settle)


def test_new_run_with_what_is_wrong(snap_compare):
    async def start(pilot):
        await settle(pilot)
        pilot.app.screen.query_one("#field-shipped").value = "http"
        await pilot.press("ctrl+s")
        await settle(pilot)

    assert snap_compare(DiTui(first=lambda: NewRunScreen(Path("runs"))), terminal_size=(80, 24), run_before=start)


@SIZES
def test_new_rebuild(snap_compare, size):
    assert snap_compare(DiTui(first=NewRebuildScreen), terminal_size=size, run_before=settle)
