"""Pictures of the screens with fixed data, at the smallest, a usual and a large terminal. After a change that is meant to
show, look at the new ones and take them in with `pytest --snapshot-update`."""

import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from di_tui.app import DiTui
from di_tui.liveness import Writer
from di_tui.monitor import BenchmarkSnapshot, Snapshot
from di_tui.run_follower import FollowedRun, RequestError
from di_tui.run_list import ListedRebuild, ListedRun, ListedSuite
from di_tui.screens import home, monitor

SIZES = pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)], ids=lambda size: f"{size[0]}x{size[1]}")
RUNS = [
    ("qwen-7b", "progress", True, "transformers", "Qwen/Qwen2.5-7B-Instruct", 91_904, 150_317, 4, None, 1),
    ("server", "paused", True, "http", "a-model-with-a-long-name-that-has-to-be-cut", 1_204, 150_317, 0, None, 61),
    ("lexical", "complete", False, "lexical", None, 150_317, 150_317, 0, 12.34, 4_000),
    ("sample/random", "limited", False, "random", None, 100, 100, 0, 0.51, 90_000),
    ("stopped", "interrupted", False, "transformers", "models/small.gguf", 40_000, 150_317, 12, None, 700_000),
    ("killed", "gone", False, "my_engines:Mine", None, 7, 150_317, 0, None, 900_000),
]
SUITES = [
    ListedSuite(Path("suite"), "0.2.1", published=True),
    ListedSuite(Path("suite-0.3"), "0.3", partial=True),
    ListedSuite(Path("old"), None, problem="old/manifest.json is not valid JSON"),
]
AREAS = (
    ("Knowledge & Reasoning", (25, 44, 45)),
    ("Language Understanding", (11, 41)),
    ("Retrieval & Classification", (4, 36)),
)
BENCHMARKS = [
    (4, "BANKING77", 1_900, 3_080, {"ok": 1_900}, 0.3, 40.0, 61.0),
    (11, "iSarcasmEval", 1_400, 1_400, {"ok": 1_399, "error": 1}, 0.2, 33.0, 52.0),
    (36, "BRIGHT", 600, 1_384, {"ok": 210, "unsupported": 390}, 0.1, 900.0, 2_400.0),
    (41, "VAST", 1_500, 3_006, {"ok": 1_500}, 0.2, 71.0, 130.0),
    (44, "CLadder", 5_000, 10_112, {"ok": 4_912, "abstained": 88}, 0.7, 69.0, 201.0),
    (45, "HLE", 0, 480, {}, 0.0, None, None),
    (34, "SimpleBench", 4, 10, {"ok": 4}, 0.0, 12.0, 12.0),
]


def listed():
    return [
        ListedRun(
            *(Path("runs", name), name, state, live, engine, model, "0.2.1", done, total, errors, index),
            index and (index - 0.4, index + 0.4),
            time.time() - age,
        )
        for name, state, live, engine, model, done, total, errors, index, age in RUNS
    ]


def followed(phase="running", **more):
    progress = Snapshot(
        phase=phase,
        engine="transformers",
        done=91_904,
        total=150_317,
        counts={"ok": 91_310, "unsupported": 502, "abstained": 88, "error": 4},
        rate=12.9,
        elapsed=7_124.0,
        eta=6_720.0,
        median_ms=71.0,
        p95_ms=240.0,
        last_error=None,
        history=tuple(float(2 + (place * 7) % 11) for place in range(60)),
        benchmarks=tuple(BenchmarkSnapshot(*benchmark) for benchmark in BENCHMARKS),
    )
    errors = tuple(
        RequestError(f"11:iSarcasmEval:test:{number}", "iSarcasmEval", f"2026-09-19T12:00:0{number}+00:00", "ValueError",
                     "the answer has no probability for option sarcastic", "Traceback")
        for number in range(4)
    )
    right = {4: 0.612, 11: 0.433, 41: 0.551, 44: 0.642, 34: 0.25}
    live = {
        "devices": ({"utilisation": 96, "memory_used": 41e9, "memory_total": 80e9},),
        "throughput": {"prompt_tokens_per_second": 12_345.6, "padding_share": 0.042, "batch_size": 32},
    }
    facts = dict(right=right, **live, model="Qwen/Qwen2.5-7B-Instruct", edition="0.2.1", areas=AREAS, errors=errors, read=1.0)
    writer = None if phase == "complete" else Writer(4711, "vm", phase != "gone")
    return FollowedRun(Path("runs/qwen-7b"), progress, writer=writer, **facts, **more)


def watching(monkeypatch, run):
    """The app on a follower that has only this to tell."""

    class Fixed:
        def __init__(self, _path):
            pass

        def snapshot(self):
            return run

        def start(self):
            pass

        stop = start

    monkeypatch.setattr(monitor, "RunFollower", Fixed)
    return DiTui(watched=Path("runs/qwen-7b"))


def at_home(monkeypatch, runs, suites, rebuilds=()):
    monkeypatch.setattr(home, "find_runs", lambda folder: runs)
    monkeypatch.setattr(home, "find_rebuilds", lambda folder: rebuilds)
    monkeypatch.setattr(home, "find_suites", lambda folder: suites)
    return DiTui()


async def settle(pilot):
    await pilot.app.workers.wait_for_complete()
    await pilot.pause(0.1)


@SIZES
def test_home(snap_compare, monkeypatch, size):
    app = at_home(monkeypatch, listed(), SUITES, [ListedRebuild(Path("work"), "running", "0.3")])
    assert snap_compare(app, press=["space"], terminal_size=size, run_before=settle)


def test_home_without_anything(snap_compare, monkeypatch):
    assert snap_compare(at_home(monkeypatch, [], []), terminal_size=(80, 24), run_before=settle)


@SIZES
def test_monitor(snap_compare, monkeypatch, size):
    assert snap_compare(watching(monkeypatch, followed()), terminal_size=size, run_before=settle)


@pytest.mark.parametrize("phase", ["paused", "gone", "complete"])
def test_monitor_in_other_phases(snap_compare, monkeypatch, phase):
    assert snap_compare(watching(monkeypatch, followed(phase)), terminal_size=(80, 24), run_before=settle)


def test_monitor_in_light_colours(snap_compare, monkeypatch):
    app = watching(monkeypatch, followed())
    assert snap_compare(app, press=["ctrl+t"], terminal_size=(120, 40), run_before=settle)


def test_monitor_help(snap_compare, monkeypatch):
    app = watching(monkeypatch, followed())
    assert snap_compare(app, press=["question_mark"], terminal_size=(80, 24), run_before=settle)


def test_leaving(snap_compare, monkeypatch):
    app = watching(monkeypatch, followed())
    app.job = SimpleNamespace(pid=4711, code=None, log=Path("runs/qwen-7b/run.log"))
    assert snap_compare(app, press=["q"], terminal_size=(80, 24), run_before=settle)
