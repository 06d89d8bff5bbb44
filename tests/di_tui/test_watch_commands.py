"""`di-tui`, `di-tui watch` and `di-tui runs` where no app can be drawn."""

import os
import pty
import select
import subprocess
import time

import orjson
import pytest
from suites import DI_TUI, ENVIRONMENT

from engines.run_dir import read_json


def test_without_a_command_and_without_a_terminal_there_is_help(di_tui):
    done = di_tui()
    assert done.returncode == 2 and "Usage: di-tui" in done.stderr and "watch" in done.stderr


def test_runs_are_listed_as_json_lines(di_tui, finished_run, tmp_path):
    finished_run(name="first")
    (record,) = map(orjson.loads, di_tui("runs", tmp_path / "runs", "--json").stdout.splitlines())
    assert (record["name"], record["state"], record["done"], record["total"]) == ("first", "complete", 30, 30)


def test_watch_prints_lines_until_the_run_ends(di_tui, begin_run):
    path = begin_run(seconds="0.1")
    while not (path / "status.json").exists():
        time.sleep(0.01)
    done = di_tui("watch", path)
    lines = [orjson.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0 and len(lines) >= 2
    assert (lines[-1]["event"], lines[-1]["completed"], lines[-1]["total"]) == ("complete", 30, 30)


def test_watch_of_no_run_says_where_runs_are_listed(di_tui, tmp_path):
    done = di_tui("watch", tmp_path)
    assert done.returncode == 2 and "`di-tui runs` lists the runs" in done.stderr


def on_a_terminal(*arguments, cwd, keys=b"", term="xterm-256color", **environment):
    """What a command writes to a terminal of 80x24 until it ends, and its exit code. Once the app is there, keys are pressed
    every half second, the last one until the command ends."""
    master, slave = pty.openpty()
    environment = {**ENVIRONMENT, "TERM": term, "COLUMNS": "80", "LINES": "24", **environment}
    process = subprocess.Popen(
        [*DI_TUI, *map(str, arguments)], cwd=cwd, env=environment, stdin=slave, stdout=slave, stderr=slave, close_fds=True
    )
    os.close(slave)
    shown, press_at, deadline = b"", None, time.monotonic() + 90
    try:
        while time.monotonic() < deadline:
            if select.select([master], [], [], 0.1)[0]:
                chunk = os.read(master, 65536)
                if not chunk:
                    break
                shown += chunk
            if b"\x1b[?1049h" not in shown:
                press_at = time.monotonic() + 1.0
            elif keys and time.monotonic() > press_at:
                os.write(master, keys[:1])
                keys, press_at = keys[1:] or keys, time.monotonic() + 0.5
    except OSError:  # the terminal's other end is closed: the command has ended
        pass
    os.close(master)
    return shown.decode("utf-8", "replace"), process.wait(timeout=20)


def test_runs_are_a_table_on_a_terminal(finished_run, tmp_path):
    finished_run(name="first")
    shown, code = on_a_terminal("runs", tmp_path / "runs", cwd=tmp_path)
    assert code == 0 and "✓ complete" in shown and "100.0%" in shown


def test_no_runs_say_how_to_start_one(tmp_path):
    shown, code = on_a_terminal("runs", cwd=tmp_path)
    assert code == 0 and "no runs in runs; start one with `di-tui run" in shown


def test_the_app_opens_on_a_terminal_and_q_ends_it(tmp_path):
    shown, code = on_a_terminal(cwd=tmp_path, keys=b"q")
    assert code == 0 and "No runs in runs yet" in shown


def test_a_run_on_a_terminal_is_watched_in_the_app_and_outlives_it(make_rows_file, tmp_path):
    command = ("run", "--engine", "faulty_engines:Steady", "--option", "seconds=0.05", "--rows", make_rows_file(), "--out", "run")
    shown, code = on_a_terminal(*command, cwd=tmp_path, keys=b"ql")
    assert code == 0 and "goes on; see it again with: di-tui watch run" in shown
    deadline = time.monotonic() + 20
    while (read_json(tmp_path / "run" / "status.json") or {}).get("event") != "complete":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_pipeline_on_a_terminal_is_watched_in_the_app_and_scored(make_rows_file, tmp_path):
    command = ("pipeline", "--engine", "random", "--rows", make_rows_file(), "--out", "run")
    shown, code = on_a_terminal(*command, cwd=tmp_path, keys=b"ql")
    assert code == 0 and "\x1b[?1049h" in shown
    _until(lambda: (tmp_path / "run" / "scores.json").exists())


def test_a_rebuild_on_a_terminal_is_followed_in_the_app(tmp_path):
    shown, code = on_a_terminal("suite", "rebuild", "--only", "9", cwd=tmp_path, keys=b"ql")
    assert code == 0 and "rebuild in work" in shown
    _until(lambda: (tmp_path / "suite-0.2" / "manifest.json").exists())


def test_a_rebuild_on_a_terminal_without_the_app_keeps_its_own_display(tmp_path):
    shown, code = on_a_terminal("suite", "rebuild", "--only", "9", "--no-ui", cwd=tmp_path)
    assert code == 0 and "Normalize" in shown and "\x1b[?1049h" not in shown


def _until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_run_on_a_terminal_without_the_app_keeps_its_own_display(make_rows_file, tmp_path):
    command = ("run", "--engine", "random", "--rows", make_rows_file(), "--out", "run", "--no-ui")
    shown, code = on_a_terminal(*command, cwd=tmp_path)
    assert code == 0 and "100.0%" in shown and "\x1b[?1049h" not in shown


def test_a_dumb_terminal_gets_help(tmp_path):
    shown, code = on_a_terminal(cwd=tmp_path, term="dumb")
    assert code == 2 and "Usage: di-tui" in shown and "\x1b[?1049h" not in shown


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_unicode_gets_plain_characters(finished_run, tmp_path, encoding):
    path = finished_run("faulty_engines:Batches")
    shown, code = on_a_terminal("watch", path, cwd=tmp_path, keys=b"?qq", PYTHONIOENCODING=f"{encoding}:backslashreplace")
    assert code == 0 and "v complete" in shown and "errors 7" in shown
    assert "\\u" not in shown and "\\x" not in shown


def test_a_terminal_of_16_colours_gets_no_others(finished_run, tmp_path):
    path = finished_run("faulty_engines:Batches")
    shown, code = on_a_terminal("watch", path, cwd=tmp_path, keys=b"?qq", term="xterm-16color", COLORTERM="")
    assert code == 0 and "✓ complete" in shown
    assert "38;2;" not in shown and "38;5;" not in shown and "\x1b[9" in shown
