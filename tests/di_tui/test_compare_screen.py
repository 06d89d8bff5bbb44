"""Two golden runs compared in the app: values, verdicts, flips and exports, and what is said where runs do not fit."""

import csv
import io
import shutil
import threading

import orjson
import pytest
from golden import golden_lines, results_of, write_lines

from di_tui.app import DiTui
from di_tui.screens import compare as compare_screen
from di_tui.screens.compare import CompareScreen
from di_tui.screens.flips import FlipsScreen
from di_tui.screens.help import keys_of
from di_tui.screens.request import RequestScreen
from di_tui.screens.requests import RequestsScreen
from di_tui.shapes import balance
from di_tui.widgets.comparison_rows import comparison_rows
from di_tui.widgets.row_table import RowTable
from scoring.errors import ScoreError

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
SIZE = (120, 40)


@pytest.fixture
def comparing(golden_folder, golden_runs):
    """An app that compares two golden runs, which are scored already."""

    def make(a="near-perfect", b="middling", **options):
        paths = [golden_folder / name if isinstance(name, str) else name for name in (a, b)]
        return DiTui(first=lambda: CompareScreen(*paths, **{"draws": 50, **options}))

    return make


async def compared(pilot, until):
    await until(pilot, lambda: pilot.app.screen.comparison and not pilot.app.screen._working)
    await pilot.pause()


def table(app):
    return app.screen.query_one(RowTable)


def row(app, key):
    return next(row for row in table(app).rows if row.key == key)


async def test_areas_and_benchmarks_are_shown_with_difference_interval_and_verdict(comparing, until, screen_text):
    app = comparing()
    async with app.run_test(size=SIZE) as pilot:
        await compared(pilot, until)
        comparison, text = app.screen.comparison, screen_text(app)
        index = comparison.scores[comparison.headline]
        first = row(app, comparison.headline)
        assert first.cells["name"] == "Index" and first.cells["a"] == f"{index.a:.2f}"
        assert first.cells["difference"].plain == f"{index.difference:+.2f}" and first.cells["word"].plain == "worse"
        assert {area.id for area in comparison.areas} <= {row.key for row in table(app).rows if row.heading}
        for shared in comparison.benchmarks:
            cells = row(app, shared.catalog_id).cells
            assert cells["word"].plain == shared.raw.verdict
            assert cells["interval"].plain == f"{shared.raw.interval.low:+.3f} {shared.raw.interval.high:+.3f}"
        assert "A near-perfect   B middling" in text and "edition 0.2.1" in text
        assert f"same answer {comparison.overlap.agreement:.0%}" in text and "answered A 100%  B 100%" in text
        assert "✓ both answered all 1,055 requests" in text and "median A" in text


async def test_a_partial_overlap_is_told(comparing, until, screen_text):
    app = comparing(b="gappy")
    async with app.run_test(size=SIZE) as pilot:
        await compared(pilot, until)
        comparison, text = app.screen.comparison, " ".join(screen_text(app).split())
        assert f"both answered {comparison.overlap.requests} of 1,055 requests" in text
        assert "5 of 38 benchmarks of the index have none" in text
        assert "with unanswered as wrong, the index is {:.2f} and {:.2f}".format(*comparison.published) in text


async def test_sorting_by_size_puts_the_largest_difference_first(comparing, until):
    app = comparing()
    async with app.run_test(size=SIZE) as pilot:
        await compared(pilot, until)
        in_areas = [row.key for row in table(app).rows]
        await pilot.press("s")
        shown = [row.key for row in table(app).rows if isinstance(row.key, int)]
        sizes = {shared.catalog_id: abs(shared.raw.difference) for shared in app.screen.comparison.benchmarks}
        assert [sizes[key] for key in shown] == sorted(sizes.values(), reverse=True)
        await pilot.press("s")
        assert [row.key for row in table(app).rows] == in_areas


async def test_flips_are_listed_by_direction_and_benchmark_and_open_with_both_answers(comparing, until, screen_text):
    app = comparing()
    async with app.run_test(size=SIZE) as pilot:
        await compared(pilot, until)
        benchmarks = app.screen.comparison.benchmarks
        lost = [run_id for shared in benchmarks for run_id in shared.right_to_wrong]
        won = [run_id for shared in benchmarks for run_id in shared.wrong_to_right]
        await pilot.press("f")
        await pilot.pause()
        assert isinstance(app.screen, FlipsScreen) and len(table(app).rows) == len(lost) + len(won)
        assert f"× {len(lost)} lost" in screen_text(app) and f"✓ {len(won)} won" in screen_text(app)
        await pilot.press("d")
        assert [row.key for row in table(app).rows] == lost
        await pilot.press("d")
        assert sorted(row.key for row in table(app).rows) == sorted(won)
        await pilot.press("d", "slash", *"banking", "enter")
        own = next(shared for shared in benchmarks if shared.catalog_id == 4)
        assert [row.key for row in table(app).rows] == own.right_to_wrong + own.wrong_to_right
        await pilot.press("home", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, RequestScreen) and app.screen.view)
        assert app.screen.run_id == own.right_to_wrong[1]
        await pilot.pause()
        assert "A ✓ right" in screen_text(app) and "B × wrong" in screen_text(app)
        await pilot.press("n")
        await until(pilot, lambda: app.screen.run_id == own.right_to_wrong[2])
        await pilot.press("q")
        assert table(app).current.key == own.right_to_wrong[2]
        await pilot.press("escape")
        assert len(table(app).rows) == len(lost) + len(won)
        await pilot.press("escape")
        assert isinstance(app.screen, CompareScreen)


async def test_a_flip_shows_the_question_that_made_the_difference(comparing, until):
    app = comparing()
    async with app.run_test(size=SIZE) as pilot:
        await compared(pilot, until)
        await pilot.press("f")
        await pilot.pause()
        for shown in list(table(app).rows):
            right, wrong = ("a", "b") if "lost" in shown.cells["flip"].plain else ("b", "a")
            assert shown.cells[f"prediction {right}"].style == "good"
            assert shown.cells[f"prediction {wrong}"].style == "bad"


async def test_enter_on_a_benchmark_lists_its_flips_and_says_where_there_can_be_none(comparing, until, screen_text):
    app = comparing()
    async with app.run_test(size=SIZE) as pilot:
        await compared(pilot, until)
        table(app).show(table(app).rows, 36)
        await pilot.press("enter")
        await pilot.pause()
        assert "Nothing flipped here" in screen_text(app) and "▶ BRIGHT" in screen_text(app)
        await pilot.press("enter", "q")
        area = app.screen.comparison.areas[0]
        table(app).show(table(app).rows, area.id)
        await pilot.press("enter")
        await pilot.pause()
        assert {flip.catalog_id for flip in table(app).rows.flips} <= set(area.benchmarks)


@pytest.mark.parametrize(("key", "form"), [("m", "md"), ("c", "csv"), ("j", "json"), ("s", "svg")])
async def test_exports_are_written_beside_run_a_and_never_over_a_file_without_asking(
    comparing, golden_folder, until, screen_text, key, form
):
    app, path = comparing(), golden_folder / f"near-perfect-and-middling.{form}"
    path.write_text("mine")
    try:
        async with app.run_test(size=SIZE, notifications=True) as pilot:
            await compared(pilot, until)
            await pilot.press("x", key, "enter")
            await pilot.pause()
            assert "is there already; enter again replaces it" in screen_text(app)
            assert path.read_text() == "mine"
            await pilot.press("enter")
            await until(pilot, lambda: path.read_text() != "mine")
            comparison = app.screen.comparison
            await until(pilot, lambda: "Written to" in screen_text(app))
        text = path.read_text()
        if form == "json":
            assert orjson.loads(text) == orjson.loads(orjson.dumps(comparison.record()))
        elif form == "svg":
            assert text.startswith("<svg") and "Index" in text and "enter again" not in text
        elif form == "csv":
            assert len(list(csv.DictReader(io.StringIO(text)))) == 3 + len(comparison.areas) + len(comparison.benchmarks)
        else:
            assert text.startswith("| level | id | name |")
    finally:
        path.unlink()


async def test_exports_go_where_they_are_asked_to_and_say_what_is_in_the_way(comparing, tmp_path, until, screen_text):
    app = comparing()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await compared(pilot, until)
        for name, told in ((tmp_path / "none" / "x.md", "there is no folder"), (tmp_path, "give the name of a file")):
            await pilot.press("x", "m")
            app.screen.query_one("#file-name").value = str(name)
            await pilot.press("enter")
            await until(pilot, lambda: told in screen_text(app))
            await pilot.press("escape")
        await pilot.press("x", "m")
        app.screen.query_one("#file-name").value = str(tmp_path / "x.md")
        await pilot.press("enter")
        await until(pilot, (tmp_path / "x.md").exists)


@pytest.fixture
def on_part_of_the_suite(golden_folder, tmp_path):
    """A run over one benchmark of the golden suite, which is another suite."""
    rows = golden_lines(golden_folder.parent / "suite-0.2" / "selected-rows.jsonl.gz")
    rows = write_lines(tmp_path / "rows.jsonl", [row for row in rows if row["_evaluation"]["catalog_id"] == 25])
    run = tmp_path / "other"
    run.mkdir()
    write_lines(run / "results.jsonl", golden_lines(results_of("middling")))
    (run / "environment.json").write_bytes(orjson.dumps({"rows_path": str(rows), "edition": "0.2.1"}))
    return run


async def test_runs_over_other_suites_are_compared_in_common_on_request(comparing, on_part_of_the_suite, until, screen_text):
    app = comparing(b=on_part_of_the_suite)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "runs over different suites" in screen_text(app))
        assert "`t` compares only the requests that both suites have" in screen_text(app)
        await pilot.press("enter", "f", "x", "s")
        await until(pilot, lambda: not app.screen._working)
        await pilot.press("t")
        await compared(pilot, until)
        assert [shared.catalog_id for shared in app.screen.comparison.benchmarks] == [25]
        assert "requests that both suites have" in " ".join(screen_text(app).split())
        await pilot.press("f", "enter")
        await until(pilot, lambda: isinstance(app.screen, RequestScreen) and app.screen.view)


async def test_a_run_that_is_not_there_is_told_and_found_when_it_comes(comparing, golden_folder, tmp_path, until, screen_text):
    app = comparing(b=tmp_path / "gone")
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "× no results in" in screen_text(app) and not app.screen._working)
        assert "`r` tries again" in screen_text(app)
        shutil.copytree(golden_folder / "middling", tmp_path / "gone")
        await pilot.press("r")
        await compared(pilot, until)
        await pilot.press("q")
    assert app.return_code == 0


async def test_keys_wait_for_the_comparison_and_leaving_does_not(comparing, until, screen_text, monkeypatch):
    gate = threading.Event()

    def blocked(*_facts):
        gate.wait(10)
        raise ScoreError("given up")

    monkeypatch.setattr(compare_screen, "compare", blocked)
    app = comparing()
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "… comparing on 50 resamples" in screen_text(app))
        await pilot.press("t", "r", "s", "x", "f", "enter", "down")
        assert isinstance(app.screen, CompareScreen) and "… comparing" in screen_text(app)
        await pilot.press("q")
        assert app._exit
        gate.set()
    assert app.return_code == 0


@pytest.mark.parametrize("keys", [(), ("f",), ("f", "enter"), ("x", "m")], ids=["comparison", "flips", "request", "export"])
async def test_resizing_and_garbage_keys_do_no_harm(comparing, until, keys):
    app = comparing()
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await compared(pilot, until)
        await pilot.press(*keys)
        for width, height in ((20, 5), (1, 1), (300, 90), (80, 24)):
            await pilot.resize_terminal(width, height)
            await pilot.press("down", "pagedown", "end", "tab", "up", "home")
        await pilot.press(*"04äß", "f1", "ctrl+a", "delete", "space", "left", "ctrl+up", "G", "g", "w", "w")
        await pilot.pause()
        assert app.is_running and app.return_code in (None, 0)


async def test_help_has_a_sentence_for_every_key(comparing, golden_runs, until):
    run = golden_runs["middling"]
    screens = [RequestsScreen(run, 25), RequestScreen([run], run.cases.gold.run_ids, 0)]
    app = comparing()
    async with app.run_test(size=SIZE) as pilot:
        await compared(pilot, until)
        await pilot.press("f")
        for screen in (None, *screens):
            if screen:
                app.push_screen(screen)
                await pilot.pause()
            shown = [active.binding for active in app.screen.active_bindings.values() if active.enabled]
            assert all(binding.tooltip.endswith(".") for binding in shown if binding.show)
            assert len(list(keys_of(app.screen))) >= 3


def test_rows_of_a_comparison_have_distinct_keys_and_hold_every_benchmark(golden_runs):
    from scoring.compare import compare

    a, b = golden_runs["near-perfect"], golden_runs["gappy"]
    comparison = compare(a.cases, b.cases, a.edition, ("a", "b"), draws=20)
    for by_size in (False, True):
        keys = [row.key for row in comparison_rows(comparison, by_size)]
        assert len(set(keys)) == len(keys)
        assert {shared.catalog_id for shared in comparison.benchmarks} == {key for key in keys if isinstance(key, int)}


@pytest.mark.parametrize(
    ("value", "interval", "text"),
    [
        (0.5, (0.25, 1.0), "    │▇▇──"),
        (-1.0, (-1.0, -0.5), "▇▇▇▇│    "),
        (0.0, (-0.25, 0.25), "   ─│─   "),
        (9.0, (8.0, 10.0), "    │▇▇▇▇"),
    ],
)
def test_a_balance_leans_to_the_side_of_the_difference_with_its_interval(value, interval, text):
    assert balance(value, interval, 1.0, 9) == text


def test_the_command_opens_the_screen_on_a_terminal_unless_lines_are_asked_for(golden_folder, golden_runs, monkeypatch, capsys):
    from di_tui import score_commands

    opened = []
    monkeypatch.setattr(DiTui, "run", lambda app: opened.append(app.get_default_screen()))
    monkeypatch.setattr(score_commands, "opens_app", lambda no_ui=False, json=False: not (no_ui or json))
    paths = golden_folder / "near-perfect", golden_folder / "middling"
    score_commands.compare(*paths, draws=50)
    assert isinstance(opened[0], CompareScreen) and not capsys.readouterr().out
    for options in ({"no_ui": True}, {"json": True}, {"format": "csv"}):
        score_commands.compare(*paths, draws=20, **options)
        assert "balanced_skill" in capsys.readouterr().out
    assert len(opened) == 1


async def settle(pilot):
    await pilot.app.workers.wait_for_complete()
    await pilot.pause(0.1)


@SIZES
def test_pictures(snap_compare, comparing, size):
    assert snap_compare(comparing(b="gappy"), terminal_size=size, run_before=settle)


@SIZES
def test_pictures_of_flips(snap_compare, comparing, size):
    async def flips(pilot):
        await settle(pilot)
        await pilot.press("f")
        await pilot.pause(0.1)

    assert snap_compare(comparing(), terminal_size=size, run_before=flips)
