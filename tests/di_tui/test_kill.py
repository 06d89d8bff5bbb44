"""kill -9 in the middle of a run, twenty times at random moments: nothing finished is lost, nothing is answered twice."""

import random
import signal
import subprocess
import time
from collections import Counter

import orjson
from suites import DI_TUI, ENVIRONMENT, read_final_results

from engines.run_dir import RunDir
from engines.runner import RunSettings, run
from scoring.report import score
from suite_builder.suite import Suite

KILLS = 20
TIMES = {"started_utc", "completed_utc", "total_wall_ms", "model_request_wall_ms"}


def test_twenty_kills_leave_every_result_exactly_once_and_the_same_scores(make_rows_file, tmp_path):
    rows = make_rows_file(count=1500)
    out = tmp_path / "killed"
    command = [*DI_TUI, "run", "--engine", "faulty_engines:Steady", "--option", "seconds=0.001", "--rows", rows, "--out", out]
    moments = random.Random(20260919)
    kills = 0
    while kills < KILLS:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        results = out / "results.jsonl"
        before = results.stat().st_size if results.exists() else 0
        while not results.exists() or results.stat().st_size == before:
            assert process.poll() is None, "the run ended before it was killed: give it more rows"
            time.sleep(0.005)
        time.sleep(moments.uniform(0.0, 0.15))
        assert process.poll() is None, "the run ended before it was killed: give it more rows"
        process.send_signal(signal.SIGKILL)
        process.wait()
        kills += 1
    assert subprocess.run(command, env=ENVIRONMENT, capture_output=True).returncode == 0

    lines = (out / "results.jsonl").read_bytes().splitlines()
    counted = Counter(orjson.loads(line)["run_id"] for line in lines)
    suite = Suite.from_rows_file(rows)
    assert counted == Counter(row.run_id for row in suite.rows())

    whole = RunDir(tmp_path / "whole")
    run(suite, whole, RunSettings("faulty_engines:Steady"))
    assert answers(out / "results.jsonl") == answers(whole.results)
    scored = [score(suite, path, path.parent, "random") for path in (out / "results.jsonl", whole.results)]
    assert scored[0].index == scored[1].index


def answers(path):
    return {run_id: {key: row[key] for key in row.keys() - TIMES} for run_id, row in read_final_results(path).items()}
