"""The app as its keys drive it, on run directories of real runs."""

import signal
import subprocess
import time

import pytest
from suites import DI_TUI, ENVIRONMENT
from textual.command import CommandPalette

from di_tui import settings
from di_tui.app import DiTui
from di_tui.run_job import RunJob
from di_tui.screens.choice import ChoiceScreen
from di_tui.screens.compare import CompareScreen
from di_tui.screens.help import HelpScreen
from di_tui.screens.home import HomeScreen
from di_tui.screens.monitor import MonitorScreen
from di_tui.screens.scores import ScoresScreen
from di_tui.screens.text import TextScreen
from di_tui.widgets.row_table import RowTable
from engines.run_dir import RunDir, write_json

SIZE = (120, 40)


async def test_home_lists_runs_and_enter_watches_one(finished_run, tmp_path, until, screen_text):
    finished_run("random", name="first")
    app = DiTui(tmp_path / "runs")
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "first" in screen_text(app))
        text = screen_text(app)
        assert "✓ complete" in text and "100.0%" in text and "30/30" in text
        assert "suite" in text and "○ partial" in text and "×" not in text
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, MonitorScreen) and app.screen.run.ended)
        await until(pilot, lambda: "CLadder" in screen_text(app))
        assert f"{tmp_path / 'runs'} ▶ first" in screen_text(app)
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)
        await pilot.press("q")
    assert app.return_code == 0


async def test_runs_are_marked_compared_and_browsed_from_home(finished_run, tmp_path, until, screen_text):
    for name in ("first", "second", "third"):
        finished_run("random", name=name)
    app = DiTui(tmp_path / "runs")
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "third" in screen_text(app))
        await pilot.press("c")
        await until(pilot, lambda: "Mark two runs with space first." in screen_text(app))
        await pilot.press("space", "down", "space", "down", "space")
        order = [row.key for row in app.screen.query_one("#runs", RowTable).rows]
        assert app.screen.marked == order[1:]
        await pilot.press("space")
        assert app.screen.marked == order[1:2] and screen_text(app).count("* ") == 1
        await pilot.press("c")
        assert isinstance(app.screen, CompareScreen)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await pilot.press("b")
        assert isinstance(app.screen, ScoresScreen)


async def test_home_shows_the_interval_of_an_index(finished_run, tmp_path, until, screen_text):
    path = finished_run()
    write_json(path / "scores.json", {"decision_index": 41.25, "interval": {"decision_index": [40.5, 42.0]}})
    app = DiTui(tmp_path / "runs")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "41.25" in screen_text(app) and "40.50…42.00" in screen_text(app))


async def test_home_without_runs_says_how_to_start_one_and_sees_it_come(finished_run, tmp_path, until, screen_text):
    app = DiTui(tmp_path / "runs")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "di-tui run --engine lexical" in screen_text(app))
        finished_run(name="new")
        await pilot.press("r")
        await until(pilot, lambda: "✓ complete" in screen_text(app))
        assert isinstance(app.focused, RowTable)


async def test_a_live_run_is_watched_paused_resumed_and_stopped_by_keys(begin_run, until, screen_text):
    path = begin_run(seconds="0.5")
    await _exists(RunDir(path).status)
    app = DiTui(watched=path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "▶ running" in screen_text(app) and app.screen.run.progress.done)
        assert "ETA" in screen_text(app)
        await pilot.press("p")
        await until(pilot, lambda: "○ paused" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: "▶ running" in screen_text(app))
        await pilot.press("s")
        assert isinstance(app.screen, ChoiceScreen)
        await pilot.press("escape")
        assert app.screen.run.asked == "run"
        await pilot.press("s", "s")
        await until(pilot, lambda: "– interrupted" in screen_text(app))
        assert "stopped from outside" in screen_text(app)
        await pilot.press("p")
        await until(pilot, lambda: "No process writes this run" in screen_text(app))


async def _exists(path):
    deadline = time.monotonic() + 15
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_errors_are_listed_and_enter_shows_the_traceback(finished_run, until, screen_text):
    app = DiTui(watched=finished_run("faulty_engines:Batches"))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "× errors 7" in screen_text(app))
        assert "Last errors" in screen_text(app) and "ValueError" in screen_text(app)
        await pilot.press("e", "down", "enter")
        assert isinstance(app.screen, TextScreen)
        assert "ValueError: third" in screen_text(app) and app.screen._text.startswith("ValueError")
        await pilot.press("escape", "tab", "enter")
        assert isinstance(app.screen, MonitorScreen)


async def test_the_monitor_leads_to_the_scores(finished_run, until, screen_text):
    app = DiTui(watched=finished_run())
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "✓ finished; b shows its scores" in screen_text(app))
        await pilot.press("b")
        assert isinstance(app.screen, ScoresScreen)


async def test_what_a_live_engine_tells_is_shown(begin_run, until, screen_text):
    path = begin_run("faulty_engines:Telling", seconds="0.2")
    await _exists(RunDir(path).status)
    app = DiTui(watched=path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "12,345 prompt tokens/s  padding 4%  batch 32" in screen_text(app))


async def test_a_resumed_run_is_not_shown_as_paused_any_more(begin_run, until, screen_text):
    path = begin_run(seconds="0.1")
    await _exists(RunDir(path).status)
    app = DiTui(watched=path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: app.screen.run.progress.done)
        await pilot.press("p")
        await until(pilot, lambda: "○ paused" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: app.screen.run.asked == "run")
        await pilot.pause(0.3)
        assert "paused" not in screen_text(app)


async def test_the_end_of_a_job_is_told_on_any_screen(job, tmp_path, until, screen_text):
    job = job("random")
    app = DiTui(tmp_path)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        app.attend(job, "The run in somewhere")
        await until(pilot, lambda: "The run in somewhere has ended." in screen_text(app))


async def test_a_killed_writer_is_told(make_rows_file, tmp_path, until, screen_text):
    path = tmp_path / "run"
    command = (*DI_TUI, "run", "--engine", "faulty_engines:Steady", "--option", "seconds=0.05", "--rows", make_rows_file(100))
    process = subprocess.Popen([*map(str, command), "--out", str(path)], env=ENVIRONMENT, stdout=subprocess.DEVNULL)
    app = DiTui(watched=path)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.run.live and app.screen.run.progress.done >= 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
        await until(pilot, lambda: "× writer gone" in screen_text(app))
        await until(pilot, lambda: f"process {process.pid} is gone" in " ".join(screen_text(app).split()))
        assert "the same command goes on from there" in " ".join(screen_text(app).split())
        assert app.screen.run.progress.done == RunDir(path).results.read_bytes().count(b"\n")


@pytest.fixture
def job(make_rows_file, tmp_path, monkeypatch):
    """Start a run of its own process, slow enough to be met while it goes; it is ended with the test."""
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    started = []

    def start(engine="faulty_engines:Steady", *more):
        arguments = ("run", "--engine", engine, *more, "--rows", str(make_rows_file(100)), "--out", str(tmp_path / "run"))
        started.append(RunJob(tmp_path / "run", [*arguments]))
        return started[0]

    yield start
    for each in started:
        each.stop()
        while each.code is None:
            time.sleep(0.01)


SLOW = ("--option", "seconds=0.05")


@pytest.mark.parametrize(("key", "gone", "stopped"), [("b", False, False), ("l", True, False), ("s", True, True)])
async def test_leaving_a_run_that_was_started_here_asks_what_to_do(job, tmp_path, until, key, gone, stopped):
    job = job("faulty_engines:Steady", *SLOW)
    app = DiTui(watched=tmp_path / "run", job=job)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: app.screen.run.live and app.screen.run.progress.done)
        await pilot.press("q")
        assert isinstance(app.screen, ChoiceScreen)
        await pilot.press(key)
        await pilot.pause()
        assert app._exit == gone
    if stopped:
        deadline = time.monotonic() + 15
        while job.code is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert job.code == 143 and "results are safe" in job.last_word()
    else:
        assert job.code is None


async def test_a_run_that_cannot_start_says_why(job, tmp_path, until, screen_text):
    app = DiTui(watched=tmp_path / "run", job=job("gpt-9"))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "is starting" in screen_text(app))
        await until(pilot, lambda: "× error: unknown engine 'gpt-9'" in screen_text(app))
        await pilot.press("q")
    assert app.return_code == 0


async def test_a_run_that_is_not_yet_under_way_can_be_stopped(job, tmp_path, until):
    job = job("faulty_engines:Steady", *SLOW)
    app = DiTui(watched=tmp_path / "run", job=job)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("ctrl+q")
        assert isinstance(app.screen, ChoiceScreen)
        await pilot.press("s")
    deadline = time.monotonic() + 15
    while job.code is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)


async def test_a_run_that_was_begun_elsewhere_is_left_without_a_question(begin_run, until):
    app = DiTui(watched=begin_run(seconds="0.1"))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: app.screen.run.live)
        await pilot.press("q")
    assert app.return_code == 0


async def test_help_has_a_sentence_for_every_key_of_the_screen(finished_run, until, screen_text):
    app = DiTui(watched=finished_run())
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        shown = [active.binding for active in app.screen.active_bindings.values() if active.enabled]
        assert all(binding.tooltip.endswith(".") for binding in shown if binding.show)
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpScreen)
        await pilot.pause()
        text = " ".join(screen_text(app).split())
        assert "Pause the run after the batch in flight" in text and "Go to the row below." in text
        await pilot.press("question_mark")
        assert isinstance(app.screen, MonitorScreen)


async def test_the_command_palette_runs_the_screens_actions(finished_run, until):
    app = DiTui(watched=finished_run())
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("ctrl+p")
        assert isinstance(app.screen, CommandPalette)
        await pilot.press(*"help")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, HelpScreen))


async def test_dark_and_light_are_remembered():
    app = DiTui()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        assert app.theme == "di-dark"
        await pilot.press("ctrl+t")
        assert app.theme == "di-light"
    assert not settings.load().dark
    assert DiTui().theme == "di-light"


@pytest.mark.parametrize("content", ["{", "[]", '{"dark": false, "more": 1}'])
def test_damaged_settings_are_no_obstacle(content):
    settings.save(settings.Settings())
    settings.settings_file().write_text(content)
    assert settings.load().dark == ("false" not in content)


async def test_settings_that_cannot_be_written_are_told_and_change_all_the_same(monkeypatch, tmp_path, screen_text, until):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "file"))
    app = DiTui()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await pilot.press("ctrl+t")
        await until(pilot, lambda: "cannot create" in screen_text(app))
        assert app.theme == "di-light"


async def test_no_colour_leaves_only_shades(monkeypatch, finished_run, until):
    monkeypatch.setenv("NO_COLOR", "1")
    app = DiTui(watched=finished_run("faulty_engines:Batches"))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: app.screen.run.ended)
        await pilot.pause()
        colours = {
            colour.triplet
            for strip in app.screen._compositor.render_strips()
            for segment in strip
            if segment.style
            for colour in (segment.style.color, segment.style.bgcolor)
            if colour and colour.triplet
        }
    assert colours and all(len(set(colour)) == 1 for colour in colours)


@pytest.mark.parametrize("watched", [True, False])
async def test_resizing_and_garbage_keys_do_no_harm(begin_run, tmp_path, until, watched):
    path = begin_run("faulty_engines:Batches")
    app = DiTui(tmp_path / "runs", watched=path if watched else None)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: bool(app.screen.query(RowTable).first().rows))
        for width, height in ((20, 5), (1, 1), (300, 90), (80, 24)):
            await pilot.resize_terminal(width, height)
            await pilot.press("down", "pagedown", "end", "tab", "up")
        await pilot.press(*"xyz04äß", "f1", "ctrl+a", "delete", "space", "left", "ctrl+up", "pageup", "home", "G", "g")
        await pilot.pause()
        assert app.is_running and app.return_code in (None, 0)


async def test_the_mouse_moves_and_opens(finished_run, tmp_path, until):
    finished_run(name="a")
    finished_run(name="b")
    app = DiTui(tmp_path / "runs")
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        table = app.screen.query_one(RowTable)
        await until(pilot, lambda: len(table.rows) == 2 and table.size.height > 2)
        await pilot.click(RowTable, offset=(3, 2))
        assert table.current == table.rows[1]
        await pilot.click(RowTable, offset=(3, 2), times=2)
        await until(pilot, lambda: isinstance(app.screen, MonitorScreen))
        assert app.screen.run_dir.path == table.rows[1].key
