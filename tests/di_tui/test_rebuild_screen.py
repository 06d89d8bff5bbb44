"""The rebuild screen as its keys drive it, on rebuilds of their own process."""

import os
import signal
import time
from contextlib import suppress

import psutil
import pytest
from suites import ENVIRONMENT
from web import Server

from di_tui.app import DiTui
from di_tui.rebuild_follower import RebuildFollower
from di_tui.rebuild_job import RebuildJob, RebuildRequest
from di_tui.rebuild_record import RebuildFiles
from di_tui.screens.choice import ChoiceScreen
from di_tui.screens.rebuild import RebuildScreen
from di_tui.screens.rebuild_detail import RebuildDetailScreen
from engines.control import send
from suite_builder.suite import Suite

SIZE = (120, 40)


@pytest.fixture
def work(tmp_path, monkeypatch):
    """A work folder in a place of its own, for processes that find the packages."""
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    return tmp_path / "work"


@pytest.fixture
def begin(work, tmp_path):
    """Begin a rebuild of benchmarks; it is ended with the test, and so is what it was held by."""
    begun = []

    def start(*only, **more):
        request = RebuildRequest(work, tmp_path / "suite", only=only, allow_partial=True, **more)
        begun.append(RebuildJob(work, request.arguments()))
        return begun[-1]

    yield start
    for job in begun:
        with suppress(psutil.NoSuchProcess):
            for process in [*psutil.Process(job.pid).children(recursive=True), psutil.Process(job.pid)]:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
        job.wait()


@pytest.fixture
def mirror(tmp_path):
    """A folder without the sources of any benchmark."""
    (tmp_path / "mirror").mkdir()
    return tmp_path / "mirror"


@pytest.fixture
def stalling(monkeypatch):
    """A Hub that gets asked and does not answer."""
    asked = []

    def stall(handler):
        asked.append(handler.path)
        time.sleep(2)

    with Server(stall) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        yield asked


async def test_a_rebuild_is_followed_to_its_end(begin, work, tmp_path, until, screen_text):
    app = DiTui(first=lambda: RebuildScreen(work, job))
    job = begin(9)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "✓ complete" in screen_text(app) and "ready" in screen_text(app))
        text = " ".join(screen_text(app).split())
        assert "suite 0.2.1 into" in text and "1/1 done" in text and "× 0 failed" in text
        assert "9 Home appliance simulator ✓ ✓ 160 ✓ 13862aa6…" in text
        assert "160 rows in" in text and "ready" in text
        await pilot.press("p")
        await until(pilot, lambda: "This rebuild is complete." in screen_text(app))
        await pilot.press("q")
    job.wait()
    assert app.return_code == 0 and job.code == 0
    assert Suite.open(tmp_path / "suite").partial


async def test_what_failed_is_told_filtered_looked_into_and_tried_again(begin, work, mirror, shared, until, screen_text):
    job = begin(9, 34, 45, mirror=mirror)
    app = DiTui(first=lambda: RebuildScreen(work, job))
    async with app.run_test(size=(120, 50), notifications=True) as pilot:
        screen = app.screen
        await until(pilot, lambda: "× failed" in screen_text(app) and len(screen.rebuild.failed) == 2)
        await until(pilot, lambda: not screen.rebuild.alive)
        await pilot.press("r")
        await until(pilot, lambda: "Put the cursor on a benchmark that failed" in screen_text(app))
        await pilot.press("f")
        assert [row.key for row in screen.query_one("#blocks").rows] == [34, 45]
        await until(pilot, lambda: "only what failed is shown (2)" in screen_text(app))
        assert "incomplete: 34/simple_bench_public.json is not in the mirror" in " ".join(screen_text(app).split())
        await pilot.press("home", "enter")
        assert isinstance(app.screen, RebuildDetailScreen)
        await until(pilot, lambda: "revision" in screen_text(app))
        text = screen_text(app)
        assert "https://github.com/simple-bench/SimpleBench" in text and "× failed" in text and "0/1 files" in text
        (mirror / "34").symlink_to(shared / "sources" / "34")
        await pilot.press("r")
        await until(pilot, lambda: "as published" in screen_text(app))
        await pilot.press("q")
        await until(pilot, lambda: [one.catalog_id for one in screen.rebuild.failed] == [45] and not screen.rebuild.alive)
        assert screen.rebuild.benchmark(9).kept
        assert "is not in the mirror" in screen.rebuild.failed[0].last.reason
        await pilot.press("R")
        await until(pilot, lambda: screen.rebuild.began.pid == screen.job.pid and screen.job.code is not None)
        await until(pilot, lambda: [one.catalog_id for one in screen.rebuild.failed] == [45])


async def test_a_rebuild_is_paused_resumed_stopped_and_gone_on_with(begin, work, stalling, until, screen_text):
    job = begin(9, 24)
    app = DiTui(first=lambda: RebuildScreen(work, job))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        screen = app.screen
        await until(pilot, lambda: stalling and screen.rebuild.alive)
        await pilot.press("p")
        await until(pilot, lambda: "○ paused" in screen_text(app))
        held = psutil.Process(job.pid).children(recursive=True)
        assert held and all(process.status() == psutil.STATUS_STOPPED for process in held)
        await pilot.press("p")
        await until(pilot, lambda: "▶ running" in screen_text(app))
        assert all(process.status() != psutil.STATUS_STOPPED for process in held if process.is_running())
        await pilot.press("p")
        await until(pilot, lambda: screen.rebuild.phase == "paused")
        await pilot.press("s")
        assert isinstance(app.screen, ChoiceScreen)
        await pilot.press("s")
        await until(pilot, lambda: "– interrupted" in screen_text(app) and job.code is not None)
        assert job.code == 143
        await until(pilot, lambda: not any(_runs(process) for process in held))
        assert "p goes on from there" in screen_text(app)
        await pilot.press("p")
        await until(pilot, lambda: screen.rebuild.alive and screen.rebuild.began.pid == screen.job.pid != job.pid)
        await pilot.press("q")
        assert isinstance(app.screen, ChoiceScreen)
        await pilot.press("s")
    screen.job.wait()
    assert screen.job.code == 143


@pytest.mark.parametrize(("key", "gone"), [("b", False), ("l", True)])
async def test_leaving_a_rebuild_that_was_started_here_asks_what_to_do(begin, work, stalling, until, key, gone):
    job = begin(24)
    app = DiTui(first=lambda: RebuildScreen(work, job))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: app.screen.rebuild.alive)
        await pilot.press("ctrl+q")
        assert isinstance(app.screen, ChoiceScreen)
        await pilot.press(key)
        await pilot.pause()
        assert app._exit == gone
    assert job.code is None


async def test_a_killed_rebuild_is_told_and_the_next_one_ends_what_it_held(begin, work, stalling, until, screen_text):
    job = begin(24)
    app = DiTui(first=lambda: RebuildScreen(work))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: stalling and app.screen.rebuild.alive)
        await pilot.press("p")
        await until(pilot, lambda: app.screen.rebuild.phase == "paused")
        held = psutil.Process(job.pid).children(recursive=True)
        os.kill(job.pid, signal.SIGKILL)
        job.wait()
        await until(pilot, lambda: f"process {job.pid} is gone" in screen_text(app))
        assert held and all(process.is_running() for process in held)
        await pilot.press("p")
        await until(pilot, lambda: not any(_runs(process) for process in held))
        await until(pilot, lambda: app.screen.rebuild.alive)
        app.screen.job.stop()


def _runs(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


async def test_a_folder_where_nothing_was_built_says_so(work, until, screen_text):
    app = DiTui(first=lambda: RebuildScreen(work))
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: "no rebuild has begun in" in " ".join(screen_text(app).split()))
        await pilot.press("p", "s", "f", "r", "R", "enter")
        await pilot.pause()
        assert isinstance(app.screen, RebuildScreen)


async def test_a_rebuild_that_cannot_start_says_why(work, mirror, until, screen_text):
    job = RebuildJob(work, ("suite", "rebuild", "--work", str(work), "--only", "99"))
    app = DiTui(first=lambda: RebuildScreen(work, job))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "has no benchmark 99" in screen_text(app))


def test_a_second_rebuild_in_the_same_folder_leaves_the_record_alone(begin, work, tmp_path, stalling, di_tui):
    job, follower = begin(24), RebuildFollower(work)
    while not stalling:
        time.sleep(0.02)
    done = di_tui("suite", "rebuild", "--only", "9", "--work", work, "--suite-dir", tmp_path / "other")
    assert done.returncode == 1 and "another rebuild is using" in done.stderr
    follower.look()
    assert follower.snapshot().began.pid == job.pid


def test_a_rebuild_is_watched_as_lines(begin, work, di_tui):
    begin(9).wait()
    done = di_tui("watch", work)
    assert done.returncode == 0 and '"event":"complete","done":1' in done.stdout


def test_only_what_is_named_is_tried_again(work, tmp_path, mirror, di_tui):
    arguments = ("suite", "rebuild", "--work", work, "--suite-dir", tmp_path / "suite", "--mirror", mirror)
    di_tui(*arguments, "--only", "9,34,45", "--allow-partial")
    done = di_tui(*arguments, "--only", "9,34,45", "--allow-partial", "--retry", "45")
    assert done.returncode == 1 and done.stderr.count("is not in the mirror") == 2
    follower = RebuildFollower(work)
    follower.look()
    state = follower.snapshot()
    assert [line.stage.state for line in state.benchmark(34).log] == ["failed"]
    assert [line.stage.state for line in state.benchmark(45).log] == ["waiting", "running", "failed"]


def test_a_signal_ends_a_paused_rebuild_and_all_that_it_held(begin, work, stalling):
    job, follower = begin(24), RebuildFollower(work)
    _wait(lambda: stalling)
    send(RebuildFiles(work).control, "pause")
    _wait(lambda: follower.look() or follower.snapshot().phase == "paused")
    held = psutil.Process(job.pid).children(recursive=True)
    job.stop()
    job.wait()
    assert held and job.code == 143
    _wait(lambda: not any(_runs(process) for process in held))
    follower.look()
    assert follower.snapshot().phase == "interrupted"


def _wait(condition):
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
