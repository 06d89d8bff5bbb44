"""Pictures of the score browser, of a benchmark's page and of the calibration, over golden runs; see test_snapshots.py."""

import pytest
from golden_runs import golden_suite, scored_golden_run

from di_tui.app import DiTui
from di_tui.scored_run import ScoredRun
from di_tui.screens.benchmark import BenchmarkScreen
from di_tui.screens.calibration import CalibrationScreen
from di_tui.screens.scores import ScoresScreen

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")


@pytest.fixture(scope="module")
def run():
    opened = ScoredRun.open(scored_golden_run("gappy"), golden_suite())
    yield opened
    opened.close()


def browsing(*models):
    first, *more = [scored_golden_run(model) for model in models]
    return DiTui(first=lambda: ScoresScreen(first, more, golden_suite()))


async def settle(pilot):
    await pilot.app.workers.wait_for_complete()
    await pilot.pause(0.1)


def then(*keys):
    """Wait until the run is read, press keys, wait again."""

    async def go(pilot):
        await settle(pilot)
        await pilot.press(*keys)
        await settle(pilot)

    return go


@SIZES
def test_scores(snap_compare, size):
    assert snap_compare(browsing("gappy"), terminal_size=size, run_before=settle)


def test_scores_of_one_of_several_runs_ordered_by_skill(snap_compare):
    app = browsing("gappy", "middling")
    assert snap_compare(app, terminal_size=(120, 40), run_before=then("n", "s", "s", "s", "s"))


def test_scores_filtered_with_open_tracks(snap_compare):
    keys = ("slash", *"language", "enter", *["down"] * 7, "space")
    assert snap_compare(browsing("gappy"), terminal_size=(80, 24), run_before=then(*keys))


def test_scores_in_light_colours(snap_compare):
    assert snap_compare(browsing("gappy"), terminal_size=(120, 40), run_before=then("ctrl+t"))


def test_scores_help(snap_compare):
    assert snap_compare(browsing("gappy"), terminal_size=(80, 24), run_before=then("question_mark"))


@SIZES
def test_benchmark(snap_compare, run, size):
    app = DiTui(first=lambda: BenchmarkScreen(run, 41, (41, 44)))
    assert snap_compare(app, terminal_size=size, run_before=settle)


def test_benchmark_with_many_labels(snap_compare, run):
    app = DiTui(first=lambda: BenchmarkScreen(run, 57))
    assert snap_compare(app, terminal_size=(200, 60), run_before=settle)


@SIZES
def test_calibration(snap_compare, run, size):
    assert snap_compare(DiTui(first=lambda: CalibrationScreen(run)), terminal_size=size, run_before=settle)
