"""Runs under fire, in processes of their own: whatever is killed or full, the same command completes the run, with one final
result a request and the scores of a run that nothing happened to."""

import os
import random
import resource
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

import orjson
import psutil
import pytest
from suites import DI_TUI, ENVIRONMENT, read_final_results

from engines.run_dir import RunDir, read_json
from engines.runner import RunSettings, run
from scoring.report import score
from suite_builder.suite import Suite

TIMES = {"started_utc", "completed_utc", "total_wall_ms", "model_request_wall_ms"}
PATIENCE = 60.0
ENGINE = "process_engines:Grouped"


@pytest.fixture
def rows(make_rows_file) -> Path:
    """240 rows."""
    return make_rows_file(count=80)


def command(rows: Path, out: Path, processes: int, seconds: float = 0.02) -> list:
    options = ["--option", f"seconds={seconds}", "--option", "window=12"]
    return [*DI_TUI, "run", "--engine", ENGINE, *options, "--rows", rows, "--out", out, "--data-parallel", str(processes)]


def start(arguments: list, **more) -> subprocess.Popen:
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT, **more)


def engine_processes(process: subprocess.Popen) -> list[psutil.Process]:
    return [child for child in psutil.Process(process.pid).children() if "spawn_main" in " ".join(child.cmdline())]


def wait_for_results(process: subprocess.Popen, out: Path, more_than: int = 0) -> None:
    deadline = time.monotonic() + PATIENCE
    results = out / "results.jsonl"
    while not results.exists() or results.stat().st_size <= more_than:
        assert process.poll() is None, f"the run ended too soon: {process.communicate()}"
        assert time.monotonic() < deadline, "no results"
        time.sleep(0.005)


def size(out: Path) -> int:
    return (out / "results.jsonl").stat().st_size if (out / "results.jsonl").exists() else 0


def answers(path: Path) -> dict:
    return {run_id: {key: row[key] for key in row.keys() - TIMES} for run_id, row in read_final_results(path).items()}


def check_whole(rows: Path, out: Path, tmp_path: Path) -> None:
    """Every request once, answers and scores as of an undisturbed run."""
    suite, calm = Suite.from_rows_file(rows), RunDir(tmp_path / "calm")
    run(suite, calm, RunSettings(ENGINE, options={"window": "12"}))
    lines = (out / "results.jsonl").read_bytes().splitlines()
    assert Counter(orjson.loads(line)["run_id"] for line in lines) == Counter(row.run_id for row in suite.rows())
    without_groups = [
        {run_id: {key: row[key] for key in row.keys() - {"batch_size"}} for run_id, row in answers(path).items()}
        for path in (out / "results.jsonl", calm.results)
    ]
    assert without_groups[0] == without_groups[1]
    scored = [score(suite, path, path.parent, "random", draws=0) for path in (out / "results.jsonl", calm.results)]
    assert scored[0].index == scored[1].index
    assert read_json(out / "status.json")["event"] == "complete"


def kill(*processes: psutil.Process | subprocess.Popen) -> None:
    for process in processes:
        os.kill(process.pid, signal.SIGKILL)


def test_a_killed_engine_process_costs_the_run_nothing(rows, tmp_path):
    out = tmp_path / "run"
    process = start(command(rows, out, 2))
    wait_for_results(process, out)
    kill(engine_processes(process)[0])
    _output, errors = process.communicate(timeout=PATIENCE)
    assert (process.returncode, errors) == (0, "")
    check_whole(rows, out, tmp_path)


def test_engine_processes_end_with_a_killed_parent_and_the_run_goes_on(rows, tmp_path):
    out = tmp_path / "run"
    process = start(command(rows, out, 2, seconds=0.2))
    wait_for_results(process, out)
    children = engine_processes(process)
    assert len(children) == 2
    kill(process)
    process.communicate()
    _gone, alive = psutil.wait_procs(children, timeout=PATIENCE)
    assert alive == []
    assert subprocess.run(command(rows, out, 2), env=ENVIRONMENT, capture_output=True).returncode == 0
    check_whole(rows, out, tmp_path)


def test_kills_of_parent_workers_and_both_at_random_moments_leave_every_result_once(rows, tmp_path):
    out, moments = tmp_path / "run", random.Random(20260919)
    for victims in ("both", "worker", "parent", "both", "workers"):
        process = start(command(rows, out, 2, seconds=0.1))
        wait_for_results(process, out, more_than=size(out))
        time.sleep(moments.uniform(0.0, 0.2))
        children = engine_processes(process)
        chosen = {"worker": children[:1], "workers": children, "parent": [process], "both": [process, *children]}[victims]
        kill(*chosen)
        time.sleep(moments.uniform(0.0, 0.2))
        kill(process)
        process.communicate()
    assert subprocess.run(command(rows, out, 2), env=ENVIRONMENT, capture_output=True).returncode == 0
    check_whole(rows, out, tmp_path)


@pytest.mark.parametrize("processes", [1, 2])
def test_a_sigterm_in_mid_batch_keeps_the_batch_and_the_run_goes_on(rows, tmp_path, processes):
    out = tmp_path / "run"
    process = start(command(rows, out, processes, seconds=0.1))
    wait_for_results(process, out)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 143
    status = read_json(out / "status.json")
    assert status["event"] == "interrupted" and 0 < status["completed"] < 240
    assert status["completed"] == len((out / "results.jsonl").read_bytes().splitlines())
    assert subprocess.run(command(rows, out, processes), env=ENVIRONMENT, capture_output=True).returncode == 0
    check_whole(rows, out, tmp_path)


def test_a_ctrl_c_that_all_processes_get_is_handled_by_the_parent_alone(rows, tmp_path):
    out = tmp_path / "run"
    process = start(command(rows, out, 2, seconds=0.1), start_new_session=True)
    wait_for_results(process, out)
    children = engine_processes(process)
    before = size(out)
    os.killpg(process.pid, signal.SIGINT)
    _output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and "results are safe" in errors and errors.count("\n") == 1
    assert size(out) > before
    assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []
    assert subprocess.run(command(rows, out, 2), env=ENVIRONMENT, capture_output=True).returncode == 0
    check_whole(rows, out, tmp_path)


def test_a_ctrl_c_while_the_engines_load_ends_at_once(rows, tmp_path):
    out = tmp_path / "run"
    arguments = [*DI_TUI, "run", "--engine", "process_engines:LoadsForever", "--rows", rows, "--out", out, "--data-parallel", "2"]
    process = start(arguments, start_new_session=True)
    deadline = time.monotonic() + PATIENCE
    while len(children := engine_processes(process)) < 2:
        assert time.monotonic() < deadline, "no engine processes"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGINT)
    _output, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 and "Traceback" not in errors
    assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []


def test_an_answer_that_json_cannot_hold_is_an_error_of_its_request(make_suite, tmp_path):
    run_dir = RunDir(tmp_path / "run")
    ended = run(make_suite(), run_dir, RunSettings("process_engines:Unwritable"))
    assert (ended.state, ended.counts) == ("complete", {"error": 30})
    assert {row["exception"] for row in read_final_results(run_dir.results).values()} == {"TypeError"}


@pytest.mark.parametrize("processes", [1, 2])
def test_a_full_disk_is_one_clear_line_and_the_run_goes_on_when_there_is_room(rows, tmp_path, processes):
    out, limit = tmp_path / "run", 250_000  # above the row store, below the results
    full = start(command(rows, out, processes), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    _output, errors = full.communicate(timeout=PATIENCE)
    assert full.returncode == 1
    assert "results so far are safe, free some space and run again" in errors and errors.count("\n") == 1
    content = (out / "results.jsonl").read_bytes()
    assert 0 < len(content) <= limit and content.endswith(b"\n")
    assert subprocess.run(command(rows, out, processes), env=ENVIRONMENT, capture_output=True).returncode == 0
    check_whole(rows, out, tmp_path)
