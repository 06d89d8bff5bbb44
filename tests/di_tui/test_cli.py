"""The command line as a person or a script meets it: messages, exit codes, files."""

import gzip
import signal
import subprocess
import time

import orjson
import pytest
from suites import DI_TUI, ENVIRONMENT, read_final_results

from di_tui.options import join_only, parse_only, parse_options
from engines.run_dir import RunDir, is_alive, read_json


def events(done):
    """Parsed JSON lines of a command's output."""
    return [orjson.loads(line) for line in done.stdout.splitlines()]


def failure(done, code=1):
    """The one line of a failed command."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


def start(*arguments):
    """A command left running."""
    return subprocess.Popen(
        [*DI_TUI, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT
    )


def wait_for_results(out, at_least=3):
    deadline = time.monotonic() + 30
    results = out / "results.jsonl"
    while not results.exists() or results.read_bytes().count(b"\n") < at_least:
        assert time.monotonic() < deadline, "no results"
        time.sleep(0.01)


SLOW = ("--engine", "faulty_engines:Steady", "--option", "seconds=0.05")


def test_a_run_prints_json_lines_and_resumes_at_once(di_tui, make_rows_file, tmp_path):
    arguments = ("run", "--engine", "lexical", "--rows", make_rows_file(), "--out", tmp_path / "run")
    first = di_tui(*arguments)
    assert first.returncode == 0
    told = events(first)
    assert [told[0]["event"], told[1]["event"], told[-1]["event"]] == ["loading", "ready", "complete"]
    assert (told[-1]["completed"], told[-1]["total"], told[-1]["counts"]) == (30, 30, {"ok": 30})
    again = events(di_tui(*arguments))
    assert (again[-1]["completed"], again[-1]["counts"]) == (30, {})


def test_pipeline_runs_and_scores(di_tui, make_rows_file, tmp_path):
    out = tmp_path / "run"
    done = di_tui("pipeline", "--engine", "random", "--rows", make_rows_file(), "--out", out)
    assert done.returncode == 0, done.stderr
    assert events(done)[-1]["event"] == "scored"
    assert {"scores.json", "index.json", "benchmark-summary.json", "cases.parquet"} <= {path.name for path in out.iterdir()}
    scores = read_json(out / "scores.json")
    assert scores["engine"] == "random" and scores["benchmarks"]["44"]["answered"] == 10
    again = di_tui("score", out)
    assert again.returncode == 0 and events(again)[-1]["decision_index"] == scores["decision_index"]


def test_errors_of_requests_show_in_the_exit_code(di_tui, make_rows_file, tmp_path):
    done = di_tui("run", "--engine", "faulty_engines:Batches", "--rows", make_rows_file(), "--out", tmp_path / "run")
    assert "7 requests ended in an error; run the same command again" in failure(done, code=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("--engine", "gpt-9"),
            "error: unknown engine 'gpt-9'; choose one of random, lexical, http, transformers, openai, vllm, or module:Class",
        ),
        (("--engine", "lexical", "--option", "k9=1"), "error: engine 'lexical' has no option 'k9'; it takes k1, b, temperature"),
        (("--engine", "lexical", "--option", "k1=lots"), "error: engine 'lexical': option k1=lots is not a valid float"),
        (("--engine", "http"), "error: engine 'http' needs --option base_url=VALUE"),
        (("--engine", "nowhere:Engine"), "error: engine 'nowhere:Engine': no module 'nowhere' here or on PYTHONPATH"),
    ],
)
def test_engines_that_cannot_be_used_are_explained(di_tui, make_rows_file, tmp_path, arguments, message):
    done = di_tui("run", *arguments, "--rows", make_rows_file(), "--out", tmp_path / "run")
    assert failure(done).startswith(message)


def test_a_missing_extra_is_named_with_the_command_that_brings_it(make_rows_file, tmp_path):
    blocked = tmp_path / "blocked"
    for package in ("torch", "transformers"):
        (blocked / package).mkdir(parents=True)
        (blocked / package / "__init__.py").write_text(f"raise ModuleNotFoundError('no {package}', name='{package}')")
    arguments = ("run", "--engine", "transformers", "--model", "m", "--rows", make_rows_file(), "--out", tmp_path / "run")
    done = subprocess.run(
        [*DI_TUI, *map(str, arguments)],
        env={**ENVIRONMENT, "PYTHONPATH": f"{blocked}:{ENVIRONMENT['PYTHONPATH']}"},
        capture_output=True,
        text=True,
    )
    assert "which is not installed: pip install 'di-tui[transformers]'" in failure(done)


def test_a_malformed_rows_file_is_named_with_its_line(di_tui, make_rows_file, tmp_path):
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(gzip.decompress(make_rows_file().read_bytes())[:-20])
    done = di_tui("run", "--engine", "random", "--rows", broken, "--out", tmp_path / "run")
    assert f"error: {broken}, line 30: " in failure(done)


def test_files_with_a_wrong_hash_are_not_imported(di_tui, make_rows_file, tmp_path):
    target = tmp_path / "suite"
    done = di_tui("suite", "import", "--edition", "0.1", "--rows", make_rows_file(), "--suite-dir", target)
    assert "is not the published selected-rows of edition 0.1: sha256" in failure(done)
    assert not target.exists()


def test_an_unwritable_directory_is_explained(di_tui, make_rows_file, tmp_path):
    (tmp_path / "file").write_text("")
    done = di_tui("run", "--engine", "random", "--rows", make_rows_file(), "--out", tmp_path / "file" / "run")
    assert "error: cannot create" in failure(done)
    assert "give --out another folder" in failure(done)


def test_a_missing_suite_says_how_to_make_one(di_tui, tmp_path):
    done = di_tui("run", "--engine", "random", "--suite-dir", tmp_path / "none", "--out", tmp_path / "run")
    assert "make one with `di-tui suite rebuild`" in failure(done)


def test_a_second_writer_is_refused(di_tui, make_rows_file, tmp_path):
    rows, out = make_rows_file(), tmp_path / "run"
    slower = ("--engine", "faulty_engines:Steady", "--option", "seconds=1")
    first = start("run", *slower, "--rows", rows, "--out", out)
    try:
        wait_for_results(out)
        second = di_tui("run", *slower, "--rows", rows, "--out", out)
        assert f"is being written by process {first.pid} on" in failure(second)
    finally:
        first.kill()
        first.communicate()


def test_resuming_with_other_options_is_refused(di_tui, make_rows_file, tmp_path):
    common = ("run", "--engine", "lexical", "--rows", make_rows_file(), "--out", tmp_path / "run")
    assert di_tui(*common, "--limit", "5").returncode == 0
    done = di_tui(*common, "--option", "k1=2")
    assert "was started with other settings: k1 was 1.2, now 2.0" in failure(done)
    assert len(read_final_results(tmp_path / "run" / "results.jsonl")) == 5


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["INT", "TERM", "HUP"]
)
def test_a_signal_keeps_what_is_finished_and_has_its_exit_code(make_rows_file, tmp_path, number, code):
    out = tmp_path / "run"
    process = start("run", *SLOW, "--rows", make_rows_file(), "--out", out)
    wait_for_results(out)
    process.send_signal(number)
    _output, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert "results are safe; the same command goes on from there" in errors
    finished = read_final_results(out / "results.jsonl")
    status = read_json(out / "status.json")
    assert (status["event"], status["completed"]) == ("interrupted", len(finished))


def test_a_second_signal_ends_at_once(make_rows_file, tmp_path):
    out = tmp_path / "run"
    process = start("run", "--engine", "faulty_engines:Hangs", "--rows", make_rows_file(), "--out", out)
    deadline = time.monotonic() + 30
    while (read_json(out / "status.json") or {}).get("event") != "progress":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    assert process.returncode == 130


def test_a_detached_run_goes_on_by_itself(di_tui, make_rows_file, tmp_path):
    out = tmp_path / "run"
    began = time.monotonic()
    done = di_tui("run", "--engine", "lexical", "--rows", make_rows_file(), "--out", out, "--detach")
    assert done.returncode == 0 and "running as process" in done.stdout
    while is_alive(status := read_json(out / "status.json")):
        assert time.monotonic() - began < 30
        time.sleep(0.05)
    assert status["event"] == "complete"
    assert len(read_final_results(out / "results.jsonl")) == 30
    assert '"event":"complete"' in RunDir(out).log.read_text()


def test_a_detached_run_that_cannot_start_says_why(di_tui, make_rows_file, tmp_path):
    done = di_tui("run", "--engine", "gpt-9", "--rows", make_rows_file(), "--out", tmp_path / "run", "--detach")
    assert "error: unknown engine 'gpt-9'" in failure(done)


def test_debug_shows_the_traceback(di_tui, tmp_path):
    done = di_tui("--debug", "suite", "status", "--suite-dir", tmp_path)
    assert done.returncode == 1 and "Traceback" in done.stderr


def test_a_sample_of_a_suite_can_be_run(di_tui, make_suite, tmp_path):
    suite = make_suite()
    out = tmp_path / "sample.jsonl.gz"
    assert di_tui("suite", "sample", "--suite-dir", suite.directory, "--n", "9", "--out", out).stdout.startswith("9 rows in")
    assert events(di_tui("run", "--engine", "random", "--rows", out, "--out", tmp_path / "run"))[-1]["completed"] == 9


def test_status_and_verify_report_a_suite(di_tui, make_suite):
    suite = make_suite()
    (status,) = events(di_tui("suite", "status", "--suite-dir", suite.directory))
    assert (status["edition"], status["partial"], status["requests"]) == ("0.2.1", True, 30)
    assert status["benchmarks"] == {"41": 10, "44": 10, "45": 10}
    good = di_tui("suite", "verify", "--suite-dir", suite.directory)
    assert good.returncode == 0 and all(check["ok"] for check in events(good))
    content = gzip.decompress(suite.files[0].read_bytes())
    suite.files[0].write_bytes(gzip.compress(content.replace(b'"text":"', b'"text":"x', 1)))
    bad = di_tui("suite", "verify", "--suite-dir", suite.directory)
    assert bad.returncode == 1 and not all(check["ok"] for check in events(bad))


def test_doctor_reports_every_need(di_tui):
    names = [finding["name"] for finding in events(di_tui("doctor"))]
    assert names[:2] == ["Python", "packages (base)"]
    assert {"device", "free disk here", "Hugging Face Hub"} <= set(names)


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--engine", "lexical"),
        ("run", "--engine", "lexical", "--out", "x", "--option", "k1"),
        ("run", "--engine", "lexical", "--out", "x", "--order", "random"),
        ("suite", "rebuild", "--only", "four"),
        ("score",),
        ("dance",),
    ],
)
def test_wrong_usage_exits_with_2(di_tui, arguments, tmp_path):
    done = di_tui(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert list(tmp_path.iterdir()) == []


SUITE_COMMANDS = "rebuild sources import verify sample status".split()
SCORE_COMMANDS = ("score", "compare", "calibration", "board", "editions")
COMMANDS = (
    *("run", "pipeline", "demo", "doctor", "watch", "runs"), *SCORE_COMMANDS, *(f"suite {name}" for name in SUITE_COMMANDS)
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_helps_with_one_example(di_tui, command):
    done = di_tui(*command.split(), "--help")
    assert done.returncode == 0
    assert done.stdout.count(f"Example: di-tui {command}") == 1


def test_only_takes_every_way_of_writing_a_list():
    for arguments in (["--only", "4", "5", "9"], ["--only", "4,5,9"], ["--only", "4", "--only", "5,9"]):
        values = [value for value in join_only(arguments) if value != "--only"]
        assert parse_only(values) == [4, 5, 9]
    assert join_only(["suite", "rebuild", "--only", "4", "5", "--work", "7"]) == [
        "suite", "rebuild", "--only", "4 5", "--work", "7",
    ]


def test_option_values_may_hold_equal_signs():
    assert parse_options(["extra={\"a\": \"b=c\"}", "n=1"]) == {"extra": '{"a": "b=c"}', "n": "1"}
