"""The view of one request over golden runs: what is shown of it, of its answers, and how one gets to others."""

import json
import math
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given, strategies
from rich.cells import cell_len

from di_tui.app import DiTui
from di_tui.request_view import Asked, Given, Reply, View, linked, ordered, pretty, view
from di_tui.screens.request import RequestScreen
from di_tui.widgets.answer_lines import answer_lines
from di_tui.widgets.line_view import LineView, printable, wrapped
from engines.wire import Option

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
SIZE = (120, 40)


def first_of(run, catalog_id):
    gold = run.cases.gold
    return gold.run_ids[int((gold.catalog_id == catalog_id).argmax())]


@pytest.fixture
def showing(golden_runs):
    """An app that shows the first request of a benchmark, in a list of all requests of the runs."""

    def make(catalog_id, *models):
        runs = [golden_runs[model] for model in models]
        run_ids = runs[0].cases.gold.run_ids
        return DiTui(first=lambda: RequestScreen(runs, run_ids, run_ids.index(first_of(runs[0], catalog_id))))

    return make


async def shown(pilot, until):
    await until(pilot, lambda: pilot.app.screen.view)
    await pilot.pause()


async def test_state_options_probabilities_gold_and_answer_are_shown(golden_runs, showing, until, screen_text):
    run = golden_runs["middling"]
    app, run_id = showing(62, "middling"), first_of(run, 62)
    request, answer = run.row(run_id), run.result(run_id)["response"]["answers"]
    async with app.run_test(size=SIZE) as pilot:
        await shown(pilot, until)
        text = screen_text(app)
        (name, question), = request.questions.items()
        assert run_id in text and request.dataset in text and f'"{next(iter(request.state))}":' in text
        for key in question["criteria"]:
            number = f"{answer[name]['probabilities'][key]:.3f}"
            line = next(line for line in text.splitlines() if f" {key} " in line and number in line)
            assert ("●" in line) == (key == request.row["expected"][name])
            assert ("✓" in line or "×" in line) == (key == answer[name]["choice"])


async def test_two_runs_stand_side_by_side_and_below_one_another_where_there_is_no_room(showing, until, screen_text):
    app = showing(25, "near-perfect", "middling")
    async with app.run_test(size=SIZE) as pilot:
        await shown(pilot, until)
        assert any("A ✓ right" in line and "B × wrong" in line for line in screen_text(app).splitlines())
        await pilot.resize_terminal(90, 40)
        await pilot.pause(0.1)
        text = screen_text(app)
        assert text.index("A ✓ right") < text.index("B middling") < text.index("B × wrong")


async def test_keys_go_through_the_list_and_stop_at_its_ends(golden_runs, until, screen_text):
    run, seen = golden_runs["middling"], []
    run_ids = run.cases.gold.run_ids[:3]
    app = DiTui(first=lambda: RequestScreen([run], run_ids, 0, seen.append))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await shown(pilot, until)
        for run_id in run_ids[1:]:
            await pilot.press("n")
            await until(pilot, lambda wanted=run_id: app.screen.run_id == wanted)
        await pilot.press("n")
        await until(pilot, lambda: "last request of the list" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: app.screen.run_id == run_ids[1])
        assert seen == [1, 2, 1] and "2 of 3" in screen_text(app)


async def test_keys_go_round_the_requests_of_the_same_group(golden_runs, showing, until, screen_text):
    run = golden_runs["middling"]
    app, group = showing(2, "middling"), linked(run.cases, first_of(run, 2))
    assert len(group) > 1 and {run.row(run_id).group_id for run_id in group} == {run.row(group[0]).group_id}
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await shown(pilot, until)
        assert f"1 of {len(group)} in group" in screen_text(app)
        for run_id in [*group[1:], group[0]]:
            await pilot.press("g")
            await until(pilot, lambda wanted=run_id: app.screen.run_id == wanted)
        await pilot.press("G")
        await until(pilot, lambda: app.screen.run_id == group[-1])


async def test_a_request_alone_in_its_group_says_so(showing, until, screen_text):
    app = showing(25, "middling")
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await shown(pilot, until)
        await pilot.press("g")
        await until(pilot, lambda: "linked to no other" in screen_text(app))


async def test_the_raw_result_is_shown_and_what_is_shown_is_copied(golden_runs, showing, until, screen_text, monkeypatch):
    run, copied = golden_runs["middling"], []
    app, run_id = showing(25, "middling"), first_of(run, 25)
    monkeypatch.setattr(DiTui, "copy_to_clipboard", lambda _app, text: copied.append(json.loads(text)))
    async with app.run_test(size=SIZE) as pilot:
        await shown(pilot, until)
        await pilot.press("y", "w")
        await pilot.pause()
        assert '"started_utc":' in screen_text(app)
        await pilot.press("y", "w")
        await pilot.pause()
        assert '"started_utc":' not in screen_text(app)
    request = run.row(run_id)
    assert copied[0] == {"state": request.state, "questions": request.questions}
    assert copied[1] == {"result": run.result(run_id), "row": request.row}


@pytest.mark.parametrize("status", ["unsupported", "error"])
async def test_a_request_without_an_answer_shows_why(golden_runs, until, screen_text, status):
    run = golden_runs["gappy"]
    run_id = next(run_id for run_id in run.cases.gold.run_ids if (run.result(run_id) or {}).get("status") == status)
    app = DiTui(first=lambda: RequestScreen([run], [run_id], 0))
    async with app.run_test(size=SIZE) as pilot:
        await shown(pilot, until)
        text = screen_text(app)
        assert status in text and "· no answer" in text and run.result(run_id)["error"][:40] in text


async def test_long_instructions_stand_beside_the_state_and_their_end_above_the_options(golden_runs, until, screen_text, monkeypatch):
    run = golden_runs["middling"]
    request = run.row(first_of(run, 25))
    question = {**next(iter(request.questions.values())), "instructions": "start\n" + "story " * 200 + "\nwho did it?"}
    monkeypatch.setattr(run, "row", lambda _run_id: replace(request, state="", questions={"answer": question}))
    app = DiTui(first=lambda: RequestScreen([run], [request.run_id], 0))
    async with app.run_test(size=SIZE) as pilot:
        await shown(pilot, until)
        text = screen_text(app)
        assert "instructions of answer" in text and text.count("start") == 1
        assert any("who did it?" in line.split("││")[-1] for line in text.splitlines())


async def test_a_row_that_the_suite_lacks_is_told(golden_runs, until, screen_text):
    app = DiTui(first=lambda: RequestScreen([golden_runs["middling"]], ["25:none"], 0))
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: "× the suite has no row 25:none" in screen_text(app))
        await pilot.press("g", "w", "y", "n")
        assert isinstance(app.screen, RequestScreen)


def test_accepted_moves_are_all_gold(golden_runs):
    run = golden_runs["middling"]
    run_id = next(
        run_id
        for run_id, catalog_id in zip(run.cases.gold.run_ids, run.cases.gold.catalog_id, strict=True)
        if catalog_id == 31 and len(run.row(run_id).scoring["accepted"]) > 1
    )
    (asked,) = view([run], run_id).questions
    assert asked.gold == set(run.row(run_id).scoring["accepted"])


def test_questions_beside_the_scored_one_are_marked_as_not_scored(golden_runs):
    run = golden_runs["middling"]
    found = view([run], first_of(run, 56))
    assert [asked.name for asked in found.questions if asked.scored] == ["verdict"]
    (reply,) = found.replies
    assert reply.answers["is_phishing"].right is None
    p_true = reply.answers["is_phishing"].probabilities["true"]
    assert reply.answers["is_phishing"].chosen == ("true" if p_true >= 0.5 else "false")


def test_long_lists_of_options_begin_with_the_most_probable_of_either_run():
    options = [Option(str(number), None) for number in range(20)]
    asked = Asked("q", "choice", None, options, frozenset(), True)
    replies = [
        SimpleNamespace(answers={"q": Given({option.key: float(option.key == high) for option in options}, high, True)})
        for high in ("7", "13")
    ]
    assert [option.key for option in ordered(asked, replies)][:3] == ["7", "13", "0"]
    assert ordered(Asked("q", "choice", None, options[:5], frozenset(), True), replies) == options[:5]
    assert ordered(Asked("q", "score", None, options, frozenset(), True), replies) == options


@pytest.mark.parametrize("width", [20, 40, 61, 120])
def test_no_line_is_wider_than_its_pane(golden_runs, width):
    runs = [golden_runs["near-perfect"], golden_runs["gappy"]]
    for catalog_id in (2, 4, 25, 56, 59):
        found = view(runs, first_of(runs[0], catalog_id))
        for side_by_side in (True, False):
            lines = answer_lines(found, width, side_by_side)
            assert max(cell_len(str(line)) for line in lines) <= width or width < 40


def test_answers_that_are_no_numbers_are_shown_as_unknown():
    asked = Asked("q", "choice", {"task": "x"}, [Option("a", "one " * 100), Option("b", None)], frozenset("a"), True)
    reply = Reply("run", "error", None, "no readable answer", None, {"q": Given({"a": math.nan, "b": 0.4}, None, None)})
    lines = [str(line) for line in answer_lines(View(None, [asked], [reply]), 60, True)]
    assert any("● a" in line and line.rstrip().endswith("–") for line in lines)
    assert any(line.rstrip().endswith("…") for line in lines) and any("· no answer" in line for line in lines)


def test_texts_are_broken_at_spaces_and_keep_their_indentation():
    assert wrapped("  alpha beta gamma delta\n\nx", 12) == ["  alpha beta", "  gamma", "  delta", "", "x"]
    assert wrapped("abcdefghijklmnop qr", 6) == ["abcdef", "ghijkl", "mnop", "qr"]
    assert wrapped("日本語日本語 ab", 7) == ["日本語", "日本語", "ab"]
    assert wrapped("é" * 10, 4, 2) == ["  éé"] * 5


@given(strategies.text("ab é日\u0301 \t\n", max_size=60), strategies.integers(4, 12), strategies.integers(0, 4))
def test_broken_lines_fit_and_lose_nothing_but_spaces(text, width, indent):
    lines = wrapped(text, width, indent)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_what_a_terminal_would_obey_is_only_shown():
    assert printable("a\x1b[31mb\rc\x9bd\te\nf") == "a·[31mb·c·d    e·f"
    assert wrapped("a\x1b]0;title\x07", 40) == ["a·]0;title·"]


def test_json_is_indented_and_line_ends_in_its_texts_are_line_ends():
    assert pretty({"a": "x\ny\\n", "b": ["é"]}).splitlines() == [
        "{", '  "a": "x', '    y\\\\n",', '  "b": [', '    "é"', "  ]", "}",
    ]  # fmt: skip
    assert pretty("as\nit is") == "as\nit is"
    assert "NaN" in pretty({"p": math.nan})


async def test_a_long_text_scrolls_to_its_end(showing, until, screen_text):
    app = showing(25, "middling")
    async with app.run_test(size=(80, 24)) as pilot:
        await shown(pilot, until)
        pane = app.screen.query_one("#state", LineView)
        pane.show(lambda width: wrapped("\n".join(f"line {number}" for number in range(100_000)), width))
        pane.focus()
        await pilot.press("end")
        await until(pilot, lambda: "line 99999" in screen_text(app))


@SIZES
@pytest.mark.parametrize("models", [("middling",), ("near-perfect", "middling")], ids=["one", "two"])
def test_pictures(snap_compare, showing, size, models):
    async def settle(pilot):
        await pilot.app.workers.wait_for_complete()
        await pilot.pause(0.1)

    assert snap_compare(showing(56, *models), terminal_size=size, run_before=settle)
