"""Time the runner alone: `python bench/runner.py`.

Runs an engine that answers instantly over a suite of random words of the real one's size (bench/scoring_data.py; made once in
the work folder), with checkpoints and events, with payload and compact, in processes of their own. Prints a Markdown table of
requests a second from the first request to the end, by the clock and by the processor's time (the same on a quiet machine), and of
the runner's memory after a tenth of the requests and at the end.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from engines import events, wire  # noqa: E402
from engines.base import Answered, Engine, Group  # noqa: E402
from engines.run_dir import RunDir  # noqa: E402
from suite_builder.row_index import RowIndex  # noqa: E402
from suite_builder.suite import Suite  # noqa: E402

HEADER = (
    "| results | window | requests | MB written | requests/s | requests per CPU second | MB after a tenth | MB at the end |\n"
    "|---|---:|---:|---:|---:|---:|---:|---:|"
)
WAYS = ((False, 1), (True, 1), (False, 64), (True, 64))


class Instant(Engine):
    """Finds every option as probable as the others. Questions with the same options get the same answer object."""

    def __init__(self, window: int = 1):
        self.window = window
        self._known: dict[tuple, dict] = {}

    def __call__(self, state, questions):
        return {"model": "instant", "answers": {name: self._answer(own) for name, own in questions.items()}, "usage": {}}, None

    def answer_window(self, requests):
        yield Group(range(len(requests)), [Answered(*self(state, questions)) for state, questions in requests])

    def _answer(self, question):
        kind, criteria = question["type"], question.get("criteria") or ()
        key = (kind, tuple(criteria) if kind == "choice" else len(criteria))
        if key not in self._known:
            count = len(wire.options(question))
            self._known[key] = wire.answer(question, [1 / count] * count)
        return self._known[key]


class Watch:
    """Takes the run's events: when the first answer came, and memory after a tenth of them."""

    def __init__(self):
        self.answers = self.total = 0

    def __call__(self, event):
        if isinstance(event, events.Ready):
            self.total = sum(benchmark.requests for benchmark in event.benchmarks)
            self.began, self.cpu = time.perf_counter(), time.process_time()
        elif isinstance(event, events.Answer):
            self.answers += 1
            if self.answers == self.total // 10:
                self.early = memory()


def memory() -> float:
    return psutil.Process().memory_info().rss / 1e6


def measure(work: Path, compact: bool, window: int) -> dict[str, float]:
    """Run once in this process; seconds are counted from when the engine is ready."""
    from engines.runner import RunSettings, run

    out, watch = RunDir(work / "run"), Watch()
    shutil.rmtree(out.path, ignore_errors=True)
    ended = run(Suite.open(work / "suite"), out, RunSettings("runner:Instant", None, {"window": str(window)}, compact=compact), watch)
    wall, cpu = time.perf_counter() - watch.began, time.process_time() - watch.cpu
    if ended.counts != {"ok": ended.total}:
        sys.exit(f"error: the run ended as {ended}")
    written = out.results.stat().st_size / 1e6
    return {"requests": ended.total, "written": written, "wall": wall, "cpu": cpu, "early": watch.early, "late": memory()}


def prepare(work: Path, share: float) -> None:
    from scoring_data import make_suite

    if not (work / "suite").is_dir():
        RowIndex.require(make_suite(work / "suite", share)).close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("work/bench-runner"), help="folder to work in (default: %(default)s)")
    parser.add_argument("--share", type=float, default=1.0, help="of the real number of rows")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        print(json.dumps(measure(given.work, *json.loads(given.way))))
        return
    prepare(given.work, given.share)
    print(HEADER)
    for compact, window in WAYS:
        found = run_apart(given.work, compact, window)
        rates = (found["requests"] / found[clock] for clock in ("wall", "cpu"))
        numbers = (found["requests"], found["written"], *rates, found["early"], found["late"])
        shown = " | ".join(f"{number:,.0f}" for number in numbers)
        print(f"| {'compact' if compact else 'with payload'} | {window} | {shown} |", flush=True)


def run_apart(work: Path, compact: bool, window: int) -> dict[str, float]:
    way = json.dumps([compact, window])
    done = subprocess.run(
        [sys.executable, __file__, "--way", way, "--work", work], check=True, stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
