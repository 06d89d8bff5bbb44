"""Batched runs of the `transformers` engine under fire: killed, stopped or short of memory, a run ends with one final result a
request and the answers and scores of a run that nothing happened to."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest
import torch
from suites import DI_TUI, ENVIRONMENT, make_row, read_final_results
from tiny_models import CHAT_TEMPLATE, save_model, train_tokenizer

from engines.rendering import plain_text
from engines.run_dir import RunDir, read_json
from engines.runner import RunSettings, run
from scoring.report import score
from suite_builder.suite import Suite

# Models this small lose more by waiting for a second thread than it computes.
ONE_THREAD = {**ENVIRONMENT, "OMP_NUM_THREADS": "1"}
ENGINE = "memory_engines:ShortOfMemory"
PATIENCE = 90.0


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> Path:
    row = make_row(41, 0)
    tokenizer = train_tokenizer([plain_text(row["state"], row["questions"]["q1"])], CHAT_TEMPLATE)
    return save_model(tmp_path_factory.mktemp("model"), "qwen2", tokenizer)


@pytest.fixture
def rows(make_rows_file) -> Path:
    """90 rows."""
    return make_rows_file(count=30)


@pytest.fixture
def calm(rows, model, tmp_path) -> Path:
    """Results of a run with memory to spare."""
    out = RunDir(tmp_path / "calm")
    run(Suite.from_rows_file(rows), out, RunSettings("transformers", str(model), {"device": "cpu"}))
    return out.results


def check_same(rows: Path, out: Path, calm: Path) -> None:
    """Every request once, answers and scores as of the calm run."""
    suite = Suite.from_rows_file(rows)
    lines = (out / "results.jsonl").read_bytes().splitlines()
    assert Counter(orjson.loads(line)["run_id"] for line in lines) == Counter(row.run_id for row in suite.rows())
    expected = read_final_results(calm)
    for run_id, row in read_final_results(out / "results.jsonl").items():
        answer, other = row["response"]["answers"]["q1"], expected[run_id]["response"]["answers"]["q1"]
        assert answer["choice"] == other["choice"]
        assert answer["probabilities"] == pytest.approx(other["probabilities"], abs=1e-5)
    scored = [score(suite, path, path.parent, "tiny", draws=0) for path in (out / "results.jsonl", calm)]
    assert scored[0].index == scored[1].index
    assert read_json(out / "status.json")["event"] == "complete"


def test_a_run_short_of_memory_goes_on_with_smaller_batches(rows, model, calm, tmp_path):
    out = RunDir(tmp_path / "run")
    ended = run(Suite.from_rows_file(rows), out, RunSettings(ENGINE, str(model)))
    assert (ended.state, ended.counts) == ("complete", {"ok": 90})
    check_same(rows, out.path, calm)


def test_a_run_in_windows_says_so_and_tells_batch_sizes_and_speed(rows, model, tmp_path):
    out = RunDir(tmp_path / "run")
    run(Suite.from_rows_file(rows), out, RunSettings("transformers", str(model), {"device": "cpu", "window": "40"}))
    environment = read_json(out.environment)
    assert environment["mode"] == "batched"
    assert (environment["model_source"]["window"], environment["model_source"]["batch_tokens"]) == (40, 1024)
    results = read_final_results(out.results).values()
    shared = Counter((row["total_wall_ms"], row["batch_size"]) for row in results)
    assert all(count == size for (_wall, size), count in shared.items())
    assert read_json(out.status)["throughput"]["prompt_tokens_per_second"] > 0


def test_latency_mode_answers_one_request_at_a_time(rows, model, tmp_path):
    out = RunDir(tmp_path / "run")
    run(Suite.from_rows_file(rows), out, RunSettings("transformers", str(model), {"device": "cpu"}, limit=12, latency=True))
    assert read_json(out.environment)["mode"] == "latency"
    results = read_final_results(out.results).values()
    assert len({row["total_wall_ms"] for row in results}) == 12
    assert all("batch_size" not in row for row in results)


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_run_ended_in_mid_batch_is_completed_by_the_same_command(rows, model, calm, tmp_path, sent, code):
    out = tmp_path / "run"
    command = [*DI_TUI, "run", "--engine", ENGINE, "--model", model, "--rows", rows, "--out", out, "--json"]
    slowly = [*command, "--option", "seconds=0.4"]
    process = subprocess.Popen(slowly, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ONE_THREAD)
    deadline, results = time.monotonic() + PATIENCE, out / "results.jsonl"
    while not results.exists() or not results.stat().st_size:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, "no results"
        time.sleep(0.01)
    os.kill(process.pid, sent)
    process.communicate(timeout=PATIENCE)
    assert process.returncode == code
    kept = results.read_bytes()
    assert 0 < kept.count(b"\n") < 90
    finished = subprocess.run([*command, "--option", "seconds=0"], env=ONE_THREAD, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert results.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])
    check_same(rows, out, calm)
    assert json.loads((out / "environment.json").read_text())["fingerprint"]["engine"] == ENGINE
