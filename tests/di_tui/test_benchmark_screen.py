"""The page of a benchmark, over golden runs."""

import pytest
from golden_runs import golden_suite, scored_golden_run

from di_tui.app import DiTui
from di_tui.scored_run import ScoredRun
from di_tui.screens.benchmark import BenchmarkScreen
from di_tui.screens.requests import RequestsScreen
from scoring.errors import ScoreError
from suite_builder.catalog import benchmarks

SIZE = (180, 60)


@pytest.fixture(scope="module")
def run():
    opened = ScoredRun.open(scored_golden_run("middling"), golden_suite())
    yield opened
    opened.close()


@pytest.fixture
def page(until):
    """Open the page of a benchmark, read to its end."""

    def make(run, catalog_id, others=()):
        return DiTui(first=lambda: BenchmarkScreen(run, catalog_id, others))

    return make


def is_read(app):
    return lambda: isinstance(app.screen, BenchmarkScreen) and not app.screen.query_one("#notice").display


async def test_a_page_tells_question_source_values_labels_latency_and_calibration(page, run, until, screen_text):
    app = page(run, 41)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, is_read(app))
        await pilot.pause()
        text = screen_text(app)
        assert "Given a comment and a topic, the engine says whether" in text
        assert "https://github.com/emilyallaway/zero-shot-stance at e7c4775182" in text
        assert f"licence  {benchmarks()[41].licence}" in text
        scores = run.scores["benchmarks"]["41"]
        assert f"skill     {scores['index_skill']:.3f}   95 % " in text and "2.4% of the index" in text
        assert "Gold ↓ predicted →" in text and "Precision" in text
        assert "From" in text and "Requests" in text
        assert "calibration error" in text and "how sure" in text and "At least" in text


async def test_every_benchmark_has_a_page_at_the_smallest_size(page, run, until, screen_text):
    app = page(run, 1, list(benchmarks()))
    async with app.run_test(size=(80, 24)) as pilot:
        for catalog_id in benchmarks():
            await until(pilot, is_read(app))
            await until(pilot, lambda: f"{catalog_id} {app.screen.own.dataset}" in screen_text(app))
            assert app.screen.own.catalog_id == catalog_id and "What it asks" in screen_text(app)
            await pilot.press("n")


async def test_tracks_and_a_gold_mark_are_shown(page, run, until, screen_text):
    app = page(run, 40)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, is_read(app))
        await pilot.pause()
        assert "A · English stands for all" in screen_text(app)
    app = page(run, 25)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, is_read(app))
        await pilot.pause()
        assert "◆ gold: weighs more in its area" in screen_text(app)


async def test_a_ranking_has_neither_labels_nor_calibration_and_says_so(page, run, until, screen_text):
    app = page(run, 36)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, is_read(app))
        await pilot.pause()
        assert "there is no calibration" in screen_text(app)
        assert "Labels" not in screen_text(app) and not app.screen.query_one("#plot").display


async def test_keys_go_through_the_benchmarks_of_the_list(page, run, until, screen_text):
    app = page(run, 44, (41, 44, 45))
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, is_read(app))
        assert "2 of 3" in screen_text(app)
        await pilot.press("n")
        await until(pilot, lambda: "45 HLE" in screen_text(app))
        await pilot.press("n")
        await until(pilot, lambda: "41 VAST" in screen_text(app))
        await pilot.press("N", "N")
        await until(pilot, lambda: "44 CLadder" in screen_text(app))
        await until(pilot, is_read(app))
        await pilot.press("ctrl+t")
        assert "CLadder" in screen_text(app)


async def test_enter_lists_the_requests_of_the_benchmark(page, run, until):
    app = page(run, 44)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, is_read(app))
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, RequestsScreen))


async def test_cases_that_cannot_be_read_are_said_and_the_rest_stays(page, run, until, screen_text, monkeypatch):
    def fails(_self):
        raise ScoreError("the suite is not what it was; import it again")

    monkeypatch.setattr(ScoredRun, "sheets", property(fails))
    app = page(run, 44)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "× the suite is not what it was; import it again" in screen_text(app))
        assert "What it asks" in screen_text(app) and "how sure" in screen_text(app)
