"""The score browser as its keys and the mouse drive it, over golden runs."""

import shutil
import subprocess
import sys

import orjson
import pytest
from golden import GOLDEN
from golden_runs import golden_run, golden_suite, scored_golden_run
from suites import ENVIRONMENT
from textual.widgets import Input

from di_tui.app import DiTui
from di_tui.screens.benchmark import BenchmarkScreen
from di_tui.screens.calibration import CalibrationScreen
from di_tui.screens.choice import ChoiceScreen
from di_tui.screens.scores import ScoresScreen, open_scores

SIZE = (140, 40)


@pytest.fixture
def browse(until):
    """The app on scored golden runs, and a wait until the first is shown."""

    def make(*models, edition=None, paths=None):
        first, *more = paths or [scored_golden_run(model) for model in models or ("middling",)]
        return DiTui(first=lambda: ScoresScreen(first, more, golden_suite(), edition))

    return make


def index_of(model, edition="0.2.1"):
    scores = orjson.loads((GOLDEN / "expected" / edition / model / "scores.json").read_bytes())
    return f"{scores['decision_index']:.2f}"


def names(app):
    """First words of the rows in view order."""
    return [row.cells["name"].plain.split("/")[0].strip(" ▼▶◆1234567890") for row in app.screen._table.rows]


async def test_index_areas_and_benchmarks_are_shown(browse, until, screen_text):
    app = browse()
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.screen.run)
        await pilot.pause()
        text = screen_text(app)
        assert f"Decision Index 0.2.1  {index_of('middling')}  95 % " in text
        assert "▼ Knowledge & Reasoning" in text and "GPQA Diamond ◆" in text
        assert "✓ ok 1,055" in text and "p80" in text and "engine middling" in text
        assert len(app.screen._table.rows) == 44 + 6


async def test_a_run_without_scores_is_scored_and_says_that_it_is_busy(browse, tmp_path, until, screen_text):
    run = shutil.copytree(golden_run("gappy"), tmp_path / "gappy")
    app = browse(paths=[run])
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: f"… reading {tmp_path}" in screen_text(app))
        await until(pilot, lambda: index_of("gappy") in screen_text(app))
        assert "· no result" in screen_text(app) and "× errors" in screen_text(app)
    assert (run / "scores.json").is_file()


async def test_leaving_while_a_run_is_scored_does_not_wait_for_it(browse, tmp_path, until):
    run = shutil.copytree(golden_run("gappy"), tmp_path / "gappy")
    app = browse(paths=[run])
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause(0.2)
        await pilot.press("q")
    assert app.return_code == 0 and not (run / "scores.json").exists()


async def test_what_cannot_be_read_is_said_with_what_to_do(browse, tmp_path, until, screen_text):
    app = browse(paths=[tmp_path / "nothing"])
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "× no results in" in screen_text(app))
        assert "--suite-dir FOLDER" in screen_text(app)
        shutil.copytree(scored_golden_run("middling"), tmp_path / "nothing")
        await pilot.press("r")
        await until(pilot, lambda: index_of("middling") in screen_text(app))


async def test_a_broken_results_file_keeps_what_is_shown(browse, tmp_path, until, screen_text):
    run = shutil.copytree(scored_golden_run("middling"), tmp_path / "middling")
    app = browse(paths=[run])
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.screen.run)
        (run / "results.jsonl").write_text("broken\n")
        await pilot.press("r")
        await until(pilot, lambda: "×" in screen_text(app) and "not valid JSON" in screen_text(app))
        assert index_of("middling") in screen_text(app)


async def test_areas_fold_and_benchmarks_show_their_tracks(browse, until):
    app = browse()
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.screen.run)
        await pilot.press("enter")
        assert names(app)[:2] == ["Knowledge & Reasoning", "Language Understanding"]
        await pilot.press("space", "down", "down", "space")
        assert names(app)[2:5] == ["GSM8K", "GSM8K-4choice", "GSM8K-10choice"]
        await pilot.press("down", "space")
        assert names(app)[2:4] == ["GSM8K", "ChessBench"]
        await pilot.press("z")
        assert len(app.screen._table.rows) == 6
        assert app.screen._table.current.key == "knowledge"
        await pilot.press("z")
        assert len(app.screen._table.rows) == 50


async def test_keys_order_by_every_column_and_back(browse, until, screen_text):
    app = browse()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.run)
        await pilot.press("s")
        assert app.screen.view.order.column == "name" and "Area / benchmark↑" in screen_text(app)
        await pilot.press("s", "s")
        assert app.screen.view.order.column == "skill"
        listed = [row.cells["skill"].plain for row in app.screen._table.rows]
        assert listed == sorted(listed, reverse=True) and "Skill↓" in screen_text(app)
        await pilot.press("i")
        assert [row.cells["skill"].plain for row in app.screen._table.rows] == sorted(listed)
        await pilot.press("S", "S", "S")
        assert app.screen.view.order.column is None and names(app)[0] == "Knowledge & Reasoning"


async def test_a_click_on_a_title_orders_by_it(browse, until, screen_text):
    app = browse()
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.screen.run)
        await pilot.pause()
        title = next(line for line in screen_text(app).splitlines() if "Median" in line)
        place = title.index("Median")
        await pilot.click("#scores", offset=(place, 0))
        assert app.screen.view.order.column == "median" and "Median↓" in screen_text(app)
        await pilot.click("#scores", offset=(place, 0))
        assert "Median↑" in screen_text(app)
        await pilot.click("#scores", offset=(place, 0))
        assert app.screen.view.order.column is None


async def test_a_filter_narrows_the_list_and_escape_lifts_it(browse, until, screen_text):
    app = browse()
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.screen.run)
        await pilot.press("slash", *"mmlu")
        assert isinstance(app.focused, Input)
        assert names(app) == ["Knowledge & Reasoning", "MMLU-Pro", "Shown, not counted", "MMLU"]
        await pilot.press("enter")
        await until(pilot, lambda: "only what has 'mmlu'" in screen_text(app))
        assert app.focused is app.screen._table
        await pilot.press("slash", *"xyz")
        await until(pilot, lambda: "nothing has 'xyz'" in screen_text(app))
        await pilot.press("escape")
        assert len(app.screen._table.rows) == 50 and app.screen.view.text == ""
        await pilot.press("escape")
    assert app.return_code == 0


async def test_another_edition_is_chosen_by_key_and_the_first_comes_back_at_once(browse, until, screen_text):
    app = browse()
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.screen.run)
        await pilot.press("e")
        assert isinstance(app.screen, ChoiceScreen) and "shown now" in screen_text(app)
        await pilot.press("2")
        await until(pilot, lambda: f"Decision Index 0.2  {index_of('middling', '0.2')}" in screen_text(app))
        await pilot.press("e", "3")
        assert app.screen.run.edition.id == "0.2.1"
        await pilot.press("e", "1")
        await until(pilot, lambda: "×" in screen_text(app) and "edition 0.1 reads other files" in screen_text(app))
        assert index_of("middling") in screen_text(app)


async def test_several_runs_are_gone_through_by_key(browse, until, screen_text):
    app = browse("middling", "gappy")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.screen.run)
        await pilot.press("n")
        await until(pilot, lambda: index_of("gappy") in screen_text(app))
        assert "di-tui ▶ gappy scores" in screen_text(app)
        await pilot.press("N")
        await until(pilot, lambda: index_of("middling") in screen_text(app))
        assert "middling   gappy" in screen_text(app)


async def test_enter_opens_a_benchmark_from_its_row_and_from_its_track(browse, until, screen_text):
    app = browse()
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.screen.run)
        await pilot.press("down", "down", "space", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, BenchmarkScreen))
        assert app.screen.own.catalog_id == 30
        await until(pilot, lambda: "middling scores ▶ 30 GSM8K" in screen_text(app))
        await pilot.press("q")
        assert app.screen._table.current.key == (30, "GSM8K-4choice")


async def test_calibration_of_all_benchmarks_opens_by_key(browse, until, screen_text):
    app = browse()
    async with app.run_test(size=(160, 60)) as pilot:
        await until(pilot, lambda: app.screen.run)
        await pilot.press("c")
        await until(pilot, lambda: isinstance(app.screen, CalibrationScreen) and "how sure" in screen_text(app))
        text = screen_text(app)
        assert "the worst calibrated first" in text and "Net value" in text and "CLadder" in text


async def test_home_and_monitor_can_open_the_scores_of_a_path(browse, until, tmp_path, screen_text):
    run = shutil.copytree(scored_golden_run("middling"), tmp_path / "runs" / "middling")
    (run / "environment.json").write_bytes(orjson.dumps({"rows_path": str(golden_suite()), "engine": "middling"}))
    app = DiTui(tmp_path / "runs")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "middling" in screen_text(app))
        open_scores(app, run)
        await until(pilot, lambda: isinstance(app.screen, ScoresScreen) and app.screen.run)
        await until(pilot, lambda: "runs ▶ middling scores" in screen_text(app))


async def test_a_slow_engine_is_marked_and_the_mark_says_that_it_is_a_guide(browse, until, screen_text, tmp_path):
    run = shutil.copytree(golden_run("middling"), tmp_path / "slow")
    lines = [orjson.loads(line) for line in (run / "results.jsonl").read_bytes().splitlines() if line.endswith(b"}")]
    slow = [{**row, "total_wall_ms": 1500.0} for row in lines]
    (run / "results.jsonl").write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in slow))
    app = browse(paths=[run])
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: app.screen.run)
        await pilot.pause()
        assert "! over 1,000 ms: the board would not list it; our times are only a guide" in screen_text(app)
        assert "! 1,500 ms" in screen_text(app)


def test_without_an_app_browse_prints_the_scores(di_tui):
    done = di_tui("browse", scored_golden_run("middling"), scored_golden_run("gappy"), "--suite-dir", golden_suite())
    lines = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert [f"{line['decision_index']:.2f}" for line in lines] == [index_of("middling"), index_of("gappy")]
    assert done.returncode == 0


def test_browse_names_a_run_that_is_not_there(di_tui, tmp_path):
    done = di_tui("browse", tmp_path / "none")
    assert done.returncode == 2 and "no run in" in done.stderr
    (tmp_path / "empty").mkdir()
    done = di_tui("browse", tmp_path / "empty")
    assert done.returncode == 1 and done.stderr.startswith("error: no results in")


def test_the_app_starts_without_plotting():
    code = "import sys, di_tui.app, di_tui.screens.scores; sys.exit('plotext' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT).returncode == 0
