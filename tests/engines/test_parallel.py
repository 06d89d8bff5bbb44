"""One engine in several processes: the same answers, each process in its place, and processes that die."""

import os
import pickle
import re
import shutil
import threading

import psutil
import pytest
from golden import SUITE_0_2
from suites import read_final_results
from tiny_models import save_tiny_model

from engines import events, parallel
from engines.base import Abstained, EngineError, Unsupported
from engines.control import Control
from engines.parallel import ParallelEngine, places, visible_gpus
from engines.run_dir import RunDir, RunError, read_json
from engines.runner import RunSettings, _windows, run
from engines.worker import Failure
from scoring.report import score
from suite_builder.suite import Suite

TIMES = {"started_utc", "completed_utc", "total_wall_ms", "model_request_wall_ms"}
QUESTIONS = {"q": {"type": "noul", "instructions": "Is the kettle on?"}}


@pytest.fixture
def suite(make_suite):
    return make_suite()


@pytest.fixture
def run_dir(tmp_path):
    return RunDir(tmp_path / "run")


@pytest.fixture
def start(monkeypatch):
    """Makes parallel engines that are closed after the test, where there is no GPU."""
    monkeypatch.setattr(parallel, "visible_gpus", list)
    started = []

    def make(name, processes=2, **options):
        started.append(ParallelEngine(name if name.islower() else f"process_engines:{name}", None, options, processes))
        return started[-1]

    yield make
    for engine in started:
        engine.close()


def settings(name, **more):
    return RunSettings(name if name.islower() else f"process_engines:{name}", **{"data_parallel": 2, **more})


def answers(run_dir):
    results = read_final_results(run_dir.results)
    return {run_id: {key: row[key] for key in row.keys() - TIMES} for run_id, row in results.items()}


def lines(run_dir):
    return run_dir.results.read_bytes().splitlines()


def child_processes():
    return [child for child in psutil.Process().children() if "spawn_main" in " ".join(child.cmdline())]


def test_two_processes_answer_and_score_as_one(tmp_path):
    suite = Suite.open(shutil.copytree(SUITE_0_2, tmp_path / "suite"))
    run_dirs = [RunDir(tmp_path / "one"), RunDir(tmp_path / "two")]
    ended = [
        run(suite, run_dir, RunSettings("lexical", verify=False, data_parallel=processes))
        for processes, run_dir in enumerate(run_dirs, start=1)
    ]
    assert ended[0].counts == ended[1].counts and ended[1].state == "complete"
    assert answers(run_dirs[0]) == answers(run_dirs[1])
    assert len(lines(run_dirs[1])) == ended[1].total
    scored = [score(suite, own.results, own.path, "lexical", draws=0) for own in run_dirs]
    assert scored[0].index == scored[1].index
    assert child_processes() == []


def test_two_processes_of_a_language_model_answer_as_one(suite, tmp_path):
    model = str(save_tiny_model(tmp_path / "model"))
    run_dirs = [RunDir(tmp_path / "one"), RunDir(tmp_path / "two")]
    for processes, run_dir in enumerate(run_dirs, start=1):
        options = {"device": "cpu", "window": "8"}
        ended = run(suite, run_dir, RunSettings("transformers", model, options, data_parallel=processes))
        assert (ended.state, ended.counts) == ("complete", {"ok": 30})
    one, two = (
        [
            list(answer["probabilities"].values())
            for _run_id, row in sorted(read_final_results(run_dir.results).items())
            for answer in row["response"]["answers"].values()
        ]
        for run_dir in run_dirs
    )
    assert one == [pytest.approx(probabilities, abs=1e-5) for probabilities in two]
    fingerprints = [read_json(run_dir.environment)["fingerprint"] for run_dir in run_dirs]
    assert fingerprints[0] == fingerprints[1]
    scored = [score(suite, own.results, own.path, "tiny", draws=0) for own in run_dirs]
    assert scored[0].index == scored[1].index


def test_every_process_has_a_gpu_of_its_own_and_its_share_of_the_cores(suite, run_dir, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    run(suite, run_dir, settings("Placed", options={"seconds": "0.01"}))
    seen = [row["response"]["model"].split("/") for row in read_final_results(run_dir.results).values()]
    assert {gpu for _pid, gpu, _threads in seen} == {"3", "5"}
    assert len({pid for pid, *_rest in seen}) == 2 and str(os.getpid()) not in {pid for pid, *_rest in seen}
    assert {threads for *_rest, threads in seen} == {str(max(1, len(os.sched_getaffinity(0)) // 2))}
    assert read_json(run_dir.environment)["model_source"]["data_parallel"] == ["gpu 3", "gpu 5"]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3,5" and "OMP_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(
    "named, processes, expected",
    [("0,1,2", 2, ["0", "1"]), ("4", 3, ["4"] * 3), (" GPU-a , MIG-b", 2, ["GPU-a", "MIG-b"]), ("", 2, [None, None])],
)
def test_places_follow_the_visible_gpus_and_go_round(monkeypatch, named, processes, expected):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", named)
    assert [own.get("CUDA_VISIBLE_DEVICES") for _name, own in places(processes, {})] == expected
    assert all("CUDA_VISIBLE_DEVICES" not in own for _name, own in places(processes, {"device": "cpu"}))


def test_gpus_that_nobody_named_are_those_that_nvidia_smi_lists(monkeypatch, tmp_path):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert visible_gpus() == []
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 0\necho 1\n")
    tool.chmod(0o755)
    assert visible_gpus() == ["0", "1"]
    tool.write_text("#!/bin/sh\necho 'no driver'\nexit 9\n")
    assert visible_gpus() == []


def test_a_thread_count_that_somebody_set_stays(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert all("OMP_NUM_THREADS" not in own for _name, own in places(2, {"device": "cpu"}))


def test_groups_of_a_window_come_as_the_engine_forms_them(start):
    groups = list(start("Grouped").answer_window([({"n": n}, QUESTIONS) for n in range(8)]))
    assert [len(group.positions) for group in groups] == [3, 3, 2]
    assert sorted(position for group in groups for position in group.positions) == list(range(8))
    assert {group.wall_ms for group in groups} == {5.0}


def test_a_group_is_computed_only_when_it_is_asked_for(start):
    engine = start("Grouped", processes=1)
    groups = engine.answer_window([({"n": n}, QUESTIONS) for n in range(8)])
    next(groups)
    groups.close()
    list(engine.answer_window([("kettle", QUESTIONS)]))
    assert engine.live()["groups"] == 2


def test_rates_add_up_and_the_rest_is_averaged(start):
    engine = start("Grouped")
    assert engine.live() == {}
    for _process in range(2):
        list(engine.answer_window([("kettle", QUESTIONS)] * 4))
    assert engine.live() == {"groups_per_second": 4.0, "batch_size": 3.0, "groups": 2.0}


def test_every_outcome_keeps_its_status_name_and_text(suite, run_dir, tmp_path):
    single = RunDir(tmp_path / "single")
    for where, processes in ((single, 1), (run_dir, 2)):
        run(suite, where, RunSettings("faulty_engines:Moody", data_parallel=processes))
    without_place = [
        {run_id: {key: row[key] for key in row.keys() - {"traceback"}} for run_id, row in answers(own).items()}
        for own in (single, run_dir)
    ]
    assert without_place[0] == without_place[1]
    assert {row["status"] for row in without_place[1].values()} == {"ok", "unsupported", "abstained", "error"}
    failed = next(row for row in answers(run_dir).values() if row.get("exception") == "ValueError")
    assert 'raise ValueError("bad luck")' in failed["traceback"]


def test_one_request_alone_is_answered_or_raises(start):
    response, _raw = start("random")("kettle", QUESTIONS)
    assert response["answers"].keys() == {"q"}
    with pytest.raises(Exception, match="a noul takes no criteria"):
        start("random")("kettle", {"q": {"type": "noul", "criteria": []}})


@pytest.mark.parametrize("count, size, workers", [(0, 8, 2), (1, 1, 1), (100, 16, 1), (100, 16, 4), (37, 64, 3), (1000, 1, 8)])
def test_windows_shrink_towards_the_end_and_hold_every_request_once(count, size, workers):
    windows = list(_windows(list(range(count)), size, workers))
    assert [entry for window in windows for entry in window] == list(range(count))
    sizes = list(map(len, windows))
    assert all(0 < own <= size for own in sizes) and sizes == sorted(sizes, reverse=True)
    if workers == 1:
        assert sizes[:-1] == [size] * len(sizes[:-1])
    elif count > size > 1:
        assert sizes[-1] <= max(size // 8, 1)


@pytest.mark.parametrize("first, second", [(1, 3), (3, 1)])
def test_a_run_goes_on_with_another_number_of_processes(suite, run_dir, first, second):
    run(suite, run_dir, settings("lexical", limit=11, data_parallel=first))
    ended = run(suite, run_dir, settings("lexical", data_parallel=second))
    assert (ended.state, ended.counts) == ("complete", {"ok": 19})
    environment = read_json(run_dir.environment)
    assert [session["data_parallel"] for session in environment["sessions"]] == [first, second]
    assert environment["fingerprint"] == {"engine": "lexical", "k1": 1.2, "b": 0.75, "temperature": 1.0}


@pytest.mark.parametrize("how", ["kill", "exit", "device"])
def test_what_a_process_had_in_flight_when_it_died_is_asked_again(suite, run_dir, tmp_path, how):
    options = {"how": how, "marker": str(tmp_path / "marker")}
    ended = run(suite, run_dir, settings("Dying", options=options))
    assert (ended.state, ended.counts) == ("complete", {"ok": 30})
    assert len(lines(run_dir)) == 30 and (tmp_path / "marker").exists()


def test_a_process_may_die_often_as_long_as_it_gets_on(suite, run_dir):
    ended = run(suite, run_dir, settings("Dying"))
    assert (ended.state, ended.counts, len(lines(run_dir))) == ("complete", {"ok": 30}, 30)


@pytest.mark.parametrize(
    "how, said", [("kill", "was ended by SIGKILL"), ("exit", "ended with exit code 7"), ("device", "lost its device .the card")]
)
def test_a_process_that_dies_over_and_over_ends_the_run_with_its_checkpoint_intact(suite, run_dir, tmp_path, how, said):
    healthy = {"marker": str(tmp_path)}
    run(suite, run_dir, settings("Dying", limit=4, options=healthy))
    before = lines(run_dir)
    ended = run(suite, run_dir, settings("Dying", options={"how": how, "at": "1"}))
    assert ended.state == "failed" and "\n" not in ended.reason
    assert re.search(f"engine process . of 2 .* died 3 times in a row; at last it {said}.*run the same command", ended.reason)
    assert lines(run_dir)[:4] == before and "error" not in ended.counts
    assert child_processes() == []
    resumed = run(suite, run_dir, settings("Dying", options=healthy))
    assert (resumed.state, resumed.completed, len(lines(run_dir))) == ("complete", 30, 30)


def test_a_process_that_cannot_be_started_again_ends_the_run(suite, run_dir, tmp_path):
    marker = tmp_path / "marker"
    options = {"loads_without": str(marker)}
    ended = run(suite, run_dir, settings("LoadsOnce", options=options, data_parallel=2))
    assert ended.state == "failed" and "could not be started again: no weights any more" in ended.reason
    assert "error" not in ended.counts


def test_a_stop_keeps_the_groups_in_flight_and_asks_for_no_more(suite, run_dir):
    control, seen = Control(), []

    def stop_at_first(event):
        if isinstance(event, events.Answer):
            seen.append(event.run_id)
            control.stop("enough")

    slow = settings("Grouped", options={"seconds": "0.2", "window": "15"})
    ended = run(suite, run_dir, slow, stop_at_first, control)
    assert (ended.state, ended.reason) == ("interrupted", "enough")
    assert 3 <= len(lines(run_dir)) == len(seen) < 30
    assert run(suite, run_dir, settings("Grouped")).completed == 30
    assert len(lines(run_dir)) == 30


def test_a_stop_reaches_the_engine_in_every_process(suite, run_dir):
    control = Control()
    threading.Timer(1.5, control.stop, ["enough"]).start()
    ended = run(suite, run_dir, settings("Stoppable", stop_timeout=60.0), control=control)
    assert (ended.state, ended.counts) == ("interrupted", {"ok": 2})


def test_closing_lets_every_engine_release_what_it_holds(start, tmp_path):
    engine = start("Closes", marker=str(tmp_path / "marker"))
    engine.close()
    assert (tmp_path / "marker").exists() and child_processes() == []


def test_what_cannot_be_loaded_is_the_same_clear_error_as_in_one_process(suite, run_dir):
    with pytest.raises(EngineError, match="unknown engine 'nothing'"):
        run(suite, run_dir, settings("nothing"))
    with pytest.raises(RunError, match="failed while loading: OSError\\('no weights here'\\)"):
        run(suite, run_dir, RunSettings("faulty_engines:FailsToLoad", data_parallel=2))
    with pytest.raises(EngineError, match="engine process 1 of 2 .* was ended by SIGKILL while it loaded; if memory is short"):
        run(suite, run_dir, settings("DiesLoading"))
    assert child_processes() == []


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"engine": "faulty_engines:Steady", "options": {"concurrency": "4"}}, "asks 4 requests at a time by itself"),
        ({"options": {"device": "cuda:1"}}, "leave out device=cuda:1"),
        ({"latency": True}, "times one request at a time; leave out --data-parallel"),
        ({"engine": "process_engines:Differs"}, "differs between devices"),
    ],
    ids=["concurrency", "device", "latency", "identity"],
)
def test_what_several_processes_cannot_serve_is_refused(suite, run_dir, changes, said):
    with pytest.raises(EngineError, match=said):
        run(suite, run_dir, RunSettings(**{"engine": "random", "data_parallel": 2, **changes}))
    assert not lines(run_dir) and child_processes() == []


@pytest.mark.parametrize(
    "error", [Unsupported("too long"), Abstained("no idea", {"seen": 1}), EngineError("no model"), KeyError("q")], ids=repr
)
def test_an_exception_crosses_processes_by_name_and_text(error):
    restored = pickle.loads(pickle.dumps(Failure.of(error))).restored()
    assert (type(restored).__name__, str(restored)) == (type(error).__name__, str(error))
    assert getattr(restored, "raw_output", None) == getattr(error, "raw_output", None)
