"""The forms for a run and a rebuild: the command line they come to, what is wrong told at the field, and the job they begin."""

import time

import pytest
from suites import ENVIRONMENT
from textual.widgets import Input

from di_tui.app import DiTui
from di_tui.cli import app as command_line
from di_tui.rebuild_form import RebuildForm
from di_tui.run_form import RunForm, rows_nearby, usual_out
from di_tui.screens.choice import ChoiceScreen
from di_tui.screens.home import HomeScreen
from di_tui.screens.monitor import MonitorScreen
from di_tui.screens.new_rebuild import NewRebuildScreen
from di_tui.screens.new_run import NewRunScreen
from di_tui.screens.rebuild import RebuildScreen
from engines.run_dir import RunDir, read_json

SIZE = (100, 40)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working directory of its own, for processes that find the packages."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    return tmp_path


def test_a_form_comes_to_the_command_line_that_does_the_same(place, make_rows_file):
    make_rows_file(name="sample.jsonl.gz")
    form = RunForm("http", "my model", "http://127.0.0.1:8000", "timeout=5 extra='{\"a b\": 1}'", "suite", "runs/x", "7", score=False)
    assert form.command() == (
        "di-tui run --engine http --model 'my model' --option base_url=http://127.0.0.1:8000 --option timeout=5 "
        """--option 'extra={"a b": 1}' --suite-dir suite --limit 7 --out runs/x"""
    )
    assert RunForm("random", suite="sample.jsonl.gz", out="runs/r").command() == (
        "di-tui pipeline --engine random --rows sample.jsonl.gz --out runs/r"
    )


@pytest.mark.parametrize(
    "arguments",
    [
        RunForm("lexical", "m", options="a=1", suite="suite", out="runs/x", limit="3").arguments(),
        RunForm("lexical", suite="suite", out="runs/x", score=False).arguments(),
        RebuildForm("0.2.1", "9 34", "", "suite", "work").arguments(),
        RebuildForm("0.1", partial=True, work="work", mirror="sources").arguments(),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_the_command_line_takes_what_a_form_gives(arguments):
    from typer.main import get_command

    command = get_command(command_line)
    context = command.make_context("di-tui", list(arguments), resilient_parsing=False)
    name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    if name == "suite":
        context = command.make_context(name, rest)
        name, command, rest = command.resolve_command(context, [*context._protected_args, *context.args])
    assert command.make_context(name, rest).params


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        ({"engine": "gpt-9"}, "engine", "module:Class"),
        ({"engine": "my_engines:"}, "engine", "module:Class"),
        ({"engine": "transformers"}, "model", "needs a model"),
        ({"engine": "http", "url": "127.0.0.1"}, "url", "http://127.0.0.1:8000"),
        ({"options": "fast"}, "options", "'fast' is not NAME=VALUE"),
        ({"options": "a='b"}, "options", "in quotes"),
        ({"suite": ""}, "suite", "a suite directory"),
        ({"suite": "nowhere"}, "suite", "no suite in nowhere"),
        ({"out": ""}, "out", "the folder for the results"),
        ({"out": "rows.jsonl.gz"}, "out", "this is a file"),
        ({"limit": "0"}, "limit", "a whole number above 0"),
        ({"limit": "many"}, "limit", "a whole number above 0"),
    ],
)
def test_what_is_wrong_is_told_of_the_field(place, make_rows_file, given, field, message):
    make_rows_file()
    right = {"engine": "random", "suite": "rows.jsonl.gz", "out": "runs/x"}
    assert RunForm(**right).errors() == {}
    errors = RunForm(**{**right, **given}).errors()
    assert list(errors) == [field] and message in errors[field]


def test_a_folder_that_a_process_writes_is_refused_and_one_with_a_run_noted(begin_run, finished_run, place):
    writing = begin_run(seconds="0.2", name="writing")
    while not RunDir(writing).status.exists():
        time.sleep(0.01)
    suite = str(place / "suite")
    assert "writes there now" in RunForm("random", suite=suite, out=str(writing)).errors()["out"]
    done = RunForm("random", suite=suite, out=str(finished_run(name="done")))
    assert done.errors() == {} and "a run is there already" in done.note()


def test_output_folders_are_new_and_rows_nearby_are_found(place, make_suite, make_rows_file):
    make_suite(name="suite-0.2")
    make_rows_file(name="sample.jsonl.gz")
    assert rows_nearby(place) == ["suite-0.2", "sample.jsonl.gz"]
    form = RunForm("transformers", "Qwen/Qwen2.5-7B Instruct")
    assert usual_out(place / "runs", form) == str(place / "runs" / "qwen2.5-7b-instruct")
    (place / "runs" / "qwen2.5-7b-instruct").mkdir(parents=True)
    assert usual_out(place / "runs", form).endswith("qwen2.5-7b-instruct-2")
    assert usual_out(place / "runs", RunForm("my_engines:Mine")).endswith("mine")


async def test_a_run_is_described_started_watched_and_scored(place, make_suite, until, screen_text):
    make_suite()
    app = DiTui(place / "runs")
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "n describes and starts one" in screen_text(app))
        await pilot.press("n")
        assert isinstance(app.screen, NewRunScreen)
        await until(pilot, lambda: "di-tui pipeline --engine lexical --suite-dir suite" in " ".join(screen_text(app).split()))
        app.screen.query_one("#field-limit", Input).focus()
        await pilot.press("x", "ctrl+s")
        await until(pilot, lambda: "× a whole number above 0" in screen_text(app))
        await pilot.press("backspace", "9")
        await until(pilot, lambda: "×" not in screen_text(app) and "--limit 9" in screen_text(app))
        await pilot.press("ctrl+s")
        assert isinstance(app.screen, MonitorScreen)
        await until(pilot, lambda: app.job.code is not None and app.screen.run.ended)
        await until(pilot, lambda: "✓ finished; b shows its scores" in screen_text(app))
        await pilot.press("q")
        assert isinstance(app.screen, HomeScreen)
    scores = read_json(place / "runs" / "lexical" / "scores.json")
    assert app.job.code == 0 and scores["engine"] == "lexical" and scores["completed"] == 9


async def test_the_fields_are_those_of_the_engine_and_the_command_is_copied(place, make_suite, until, screen_text):
    make_suite()
    app = DiTui(place / "runs", first=lambda: NewRunScreen(place / "runs"))
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        shown = {engine: await _labels(app, pilot, engine) for engine in ("lexical", "transformers", "http", "own")}
        assert "Model" not in shown["lexical"] and "URL" not in shown["transformers"] and "Class" not in shown["http"]
        assert {"Model", "URL"} <= shown["http"] and {"Class", "Model"} <= shown["own"]
        app.screen.query_one("#field-engine", Input).value = "my_engines:Mine"
        await until(pilot, lambda: "--engine my_engines:Mine" in " ".join(screen_text(app).split()))
        assert app.screen.query_one("#field-out", Input).value.endswith("runs/mine")
        app.screen.query_one("#field-out", Input).value = "elsewhere"
        app.screen.query_one("#field-model", Input).value = "m"
        await pilot.pause()
        assert app.screen.query_one("#field-out", Input).value == "elsewhere"
        app.screen.query_one("#start").focus()
        await pilot.press("y")
        assert app.clipboard == "di-tui pipeline --engine my_engines:Mine --model m --suite-dir suite --out elsewhere"


async def _labels(app, pilot, engine):
    app.screen.query_one("#field-shipped").value = engine
    await pilot.pause()
    rows = [row for row in app.screen.query(".form-row") if row.display]
    return {str(row.query_one(".form-label").render()) for row in rows}


@pytest.mark.parametrize(
    ("given", "field"),
    [({"only": "four"}, "only"), ({"only": "99"}, "only"), ({"mirror": "nowhere"}, "mirror"), ({"work": ""}, "work")],
)
def test_what_is_wrong_with_a_rebuild_is_told_of_the_field(place, given, field):
    form = RebuildForm(**{"edition": "0.2.1", "work": "work", **given})
    assert list(form.errors()) == [field] and form.note() == ""


async def test_the_embedded_suite_is_built_from_home_by_keys(place, until, screen_text):
    app = DiTui(place / "runs")
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: "none here; u builds one" in screen_text(app))
        await pilot.press("u")
        assert isinstance(app.screen, NewRebuildScreen)
        await until(pilot, lambda: "GB to download" in screen_text(app))
        await pilot.press("tab", "9")
        await until(pilot, lambda: "nothing to download" in screen_text(app) and "--only 9" in " ".join(screen_text(app).split()))
        await pilot.press("ctrl+s")
        assert isinstance(app.screen, RebuildScreen)
        await until(pilot, lambda: "✓ complete" in screen_text(app))
        await pilot.press("q")
        if isinstance(app.screen, ChoiceScreen):  # its process is about to end
            await pilot.press("l")
        await until(pilot, lambda: "○ partial" in screen_text(app))
        assert (place / "suite-0.2-part" / "manifest.json").is_file()
        await pilot.press("tab", "v")
        await until(pilot, lambda: "✓ checked just now: 3 checks hold" in screen_text(app))
