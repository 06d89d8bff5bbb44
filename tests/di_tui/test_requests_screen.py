"""The list of requests over golden runs, as its keys drive it, and at the size of the whole suite."""

import time
from types import SimpleNamespace

import numpy as np
import pytest

from di_tui.app import DiTui
from di_tui.request_list import CONFIDENT, Search, chosen, fields_of
from di_tui.screens.request import RequestScreen
from di_tui.screens.requests import RequestsScreen
from di_tui.widgets.request_rows import RequestRows, short_id
from di_tui.widgets.row_table import RowTable
from scoring.answers import OK, STATUSES
from scoring.errors import ScoreError

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
SIZE = (120, 40)
GPQA = 25


@pytest.fixture
def listing(golden_runs):
    """An app that lists requests of a golden run."""

    def make(catalog_id=GPQA, model="middling"):
        return DiTui(first=lambda: RequestsScreen(golden_runs[model], catalog_id))

    return make


def table(app):
    return app.screen.query_one(RowTable)


def listed(app):
    return table(app).rows.fields.tolist()


async def loaded(pilot, until):
    await until(pilot, lambda: len(table(pilot.app).rows))


async def test_every_scored_question_of_the_benchmark_is_listed_with_gold_and_answer(golden_runs, listing, until, screen_text):
    app, cases = listing(), golden_runs["middling"].cases
    async with app.run_test(size=SIZE) as pilot:
        await loaded(pilot, until)
        assert listed(app) == fields_of(cases, GPQA).tolist()
        cells = table(app).current.cells
        field = listed(app)[0]
        assert cells["gold"] == cases.gold.key(field, cases.gold.gold[field])
        assert cells["prediction"].plain == cases.predicted_key(field)
        assert cells["mark"].plain == ("✓" if cases.hit[field] else "×")
        assert f"{len(listed(app))} of {len(listed(app))} questions" in screen_text(app)


async def test_filters_leave_what_they_say(golden_runs, listing, until, screen_text):
    app, cases = listing(None, "gappy"), golden_runs["gappy"].cases
    status = cases.status[cases.gold.request]
    async with app.run_test(size=SIZE) as pilot:
        await loaded(pilot, until)
        everything = listed(app)
        await pilot.press("w")
        wrong = listed(app)
        assert wrong and not cases.hit[wrong].any() and (status[wrong] == OK).all()
        await pilot.press("c")
        assert set(listed(app)) == {field for field in wrong if cases.answers.p_prediction[field] >= CONFIDENT}
        for key, name in (("u", "unsupported"), ("e", "error")):
            await pilot.press(key)
            assert listed(app) == np.flatnonzero(status == STATUSES.index(name)).tolist() != []
            assert name in screen_text(app)
        await pilot.press("n")
        assert listed(app) == np.flatnonzero(status != OK).tolist()
        await pilot.press("a")
        assert listed(app) == everything


async def test_answers_that_are_not_right_or_wrong_one_by_one_are_never_wrong(golden_runs, listing, until):
    app = listing(36)
    async with app.run_test(size=SIZE) as pilot:
        await loaded(pilot, until)
        assert {row.cells["mark"].plain for row in list(table(app).rows)} == {"·"}
        await pilot.press("w")
        assert not len(table(app).rows)


async def test_orders_are_by_confidence_and_by_latency(golden_runs, listing, until):
    app, cases = listing(None), golden_runs["middling"].cases
    async with app.run_test(size=SIZE) as pilot:
        await loaded(pilot, until)
        as_in_suite = listed(app)
        await pilot.press("s")
        assert table(app).current.key == listed(app)[0]
        sure = cases.answers.p_prediction[listed(app)]
        assert (np.diff(sure[~np.isnan(sure)]) <= 0).all()
        await pilot.press("s", "s")
        times = cases.answers.wall_ms[cases.gold.request[listed(app)]]
        assert (np.diff(times[~np.isnan(times)]) <= 0).all() and times[0] == np.nanmax(cases.answers.wall_ms)
        await pilot.press("s")
        assert listed(app) == as_in_suite


async def test_a_filter_keeps_the_row_under_the_cursor_and_in_view(golden_runs, listing, until, screen_text):
    app = listing(None)
    async with app.run_test(size=SIZE) as pilot:
        await loaded(pilot, until)
        await pilot.press("w", "end")
        last = table(app).current.key
        await pilot.press("a")
        assert table(app).current.key == last
        await pilot.pause()
        assert table(app).current.cells["run_id"] in screen_text(app)


async def test_a_filter_that_leaves_nothing_says_what_to_do(listing, until, screen_text):
    app = listing()
    async with app.run_test(size=SIZE) as pilot:
        await loaded(pilot, until)
        await pilot.press("e")
        await pilot.pause()
        assert "Nothing to list: errors" in screen_text(app) and "`a` shows all requests" in screen_text(app)
        await pilot.press("enter", "s", "down")
        assert isinstance(app.screen, RequestsScreen)


async def test_search_finds_texts_of_states_and_questions_and_escape_ends_it(golden_runs, listing, until, screen_text):
    run = golden_runs["middling"]
    app, word = listing(32), "Amber"
    expected = {
        run_id
        for run_id in run.sheets[32].cases.gold.run_ids
        if run.row(run_id).catalog_id == 32 and "amber" in f"{run.row(run_id).state} {run.row(run_id).questions}".lower()
    }
    async with app.run_test(size=SIZE) as pilot:
        await loaded(pilot, until)
        everything = len(table(app).rows)
        await pilot.press("slash", *word, "enter")
        await until(pilot, lambda: not app.screen._search.running)
        await until(pilot, lambda: len(table(app).rows) == len(expected))
        assert 0 < len(expected) < everything
        assert {run.cases.gold.run_ids[run.cases.gold.request[field]] for field in listed(app)} == expected
        assert "with “Amber”" in screen_text(app)
        await pilot.press("escape")
        assert len(table(app).rows) == everything
        await pilot.press("slash", "q", "escape")
        assert isinstance(app.screen, RequestsScreen) and not app.screen.query_one("#search").display


def test_a_search_looks_at_content_and_not_at_json(golden_runs):
    requests = {
        "a": SimpleNamespace(state={"text": 'He said "no".\nThen\tÄPFEL'}, questions={}),
        "b": SimpleNamespace(state="", questions={"q": {"instructions": "apples"}}),
    }
    cases = SimpleNamespace(gold=SimpleNamespace(run_ids=["a", "b"]))

    def found(text):
        search = Search(text, np.arange(2), np.zeros(2, bool))
        search.run(cases, requests.__getitem__)
        assert (search.done, search.running) == (2, False)
        return search.found.tolist()

    assert found('"no".') == found("äpfel") == found(".\nthen") == [True, False]
    assert found("APPLES") == [False, True]
    assert found("pears") == [False, False]


async def test_a_search_shows_how_far_it_is_and_stops_on_escape(golden_runs, listing, until, screen_text, monkeypatch):
    app, run = listing(None), golden_runs["middling"]
    read = run.row

    def slowly(run_id):
        time.sleep(0.01)
        return read(run_id)

    monkeypatch.setattr(run, "row", slowly)
    async with app.run_test(size=SIZE) as pilot:
        await loaded(pilot, until)
        await pilot.press("slash", *"amber", "enter")
        await until(pilot, lambda: "… searched" in screen_text(app) and len(table(app).rows))
        await pilot.press("escape")
        await until(pilot, lambda: "– stopped after" in screen_text(app))
        assert 0 < app.screen._search.done < len(run.cases.gold)


async def test_enter_opens_the_request_and_the_cursor_follows_what_was_read(golden_runs, listing, until):
    app = listing(33)
    async with app.run_test(size=SIZE) as pilot:
        await loaded(pilot, until)
        gold = golden_runs["middling"].cases.gold
        await pilot.press("down", "enter")
        await until(pilot, lambda: isinstance(app.screen, RequestScreen) and app.screen.view)
        first = app.screen.run_id
        assert first == gold.run_ids[gold.request[listed_field(app)]]
        await pilot.press("n", "n")
        await until(pilot, lambda: app.screen.run_id != first and app.screen.view.request.run_id == app.screen.run_id)
        last = app.screen.run_id
        await pilot.press("q")
        assert gold.run_ids[gold.request[table(app).current.key]] == last


def listed_field(app):
    return app.screen_stack[0].query_one(RowTable).current.key


async def test_a_run_that_cannot_be_read_says_so(until, screen_text):
    class Broken:
        name = "broken"

        @property
        def cases(self):
            raise ScoreError("the suite is gone; give --suite-dir")

    app = DiTui(first=lambda: RequestsScreen(Broken(), None))
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "× the suite is gone; give --suite-dir" in screen_text(app))
        await pilot.press("a", "w", "s", "enter", "slash", "x", "enter", "escape")
        assert isinstance(app.screen, RequestsScreen)


@pytest.mark.parametrize(
    ("run_id", "shown"),
    [
        ("9:Home-Appliance:home-appliance:test:linden:04", "test:linden:04"),
        ("25:GPQA-Diamond:GPQA-Diamond:test:0", "test:0"),
        ("calibration-v1:56:em0", "em0"),
        ("1:Name:other:2", "other:2"),
        ("plain", "plain"),
        ("a:b", "a:b"),
    ],
)
def test_run_ids_are_shown_without_what_stands_elsewhere(run_id, shown):
    assert short_id(run_id) == shown


def test_options_with_numbers_for_keys_are_told_by_their_description(golden_runs):
    run = golden_runs["middling"]
    field = int(fields_of(run.cases, 4)[0])
    request = run.row(run.cases.gold.run_ids[run.cases.gold.request[field]])
    cells = RequestRows(run.cases, np.array([field]), True)[0].cells
    assert cells["gold"] == request.questions["q1"]["criteria"][request.row["expected"]["q1"]]
    gpqa = int(fields_of(run.cases, GPQA)[0])
    assert RequestRows(run.cases, np.array([gpqa]), True)[0].cells["gold"] in "ABCD"


def test_rows_of_a_list_of_any_length_are_found_without_making_any(golden_runs):
    cases = golden_runs["middling"].cases
    fields = chosen(cases, fields_of(cases, None), "all", "surest")
    rows = RequestRows(cases, fields, False)
    assert rows.place_of(int(fields[700])) == 700 and rows.place_of(-1) is None
    assert rows[700].key == fields[700] and len(rows) == len(fields)


@SIZES
def test_pictures(snap_compare, listing, size):
    async def settle(pilot):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause(0.1)

    assert snap_compare(listing(None), terminal_size=size, run_before=settle)
