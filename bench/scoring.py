"""Time scoring against the straightforward way: `python bench/scoring.py`.

Makes a suite of random words of the real one's size and a run over it (made once in the work folder), then scores the run
in processes of their own, in turn: plainly (bench/plain_scorer.py), by `scoring.report.score` with and without the suite's
label file, from cases.parquet for another edition, and the intervals of the index. Prints a Markdown table of the best of
several rounds; every way must come to the same index.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

WAYS = {
    "plain": "json module, one process: values and index",
    "values": "values and index, with label file",
    "values of rows": "values and index, without label file",
    "labels": "score files, cases.parquet, calibration, with label file",
    "rows": "score files, cases.parquet, calibration, without label file",
    "table": "the same for another edition, from cases.parquet",
    "draws": "intervals: 1,000 draws of the index",
}
HEADER = "| way | wall s | CPU s | peak MB | ratio |\n|---|---:|---:|---:|---:|"


def prepare(work: Path, share: float) -> None:
    """Make suite and run; the suite once more with its label file; the run once more with its cases.parquet."""
    from scoring_data import make_results, make_suite

    from scoring.report import score
    from suite_builder.row_index import RowIndex
    from suite_builder.suite import Suite

    if (work / "run" / "cases.parquet").is_file():
        return
    suite = make_suite(work / "suite", share)
    (work / "indexed").mkdir(exist_ok=True)
    for path in suite.directory.iterdir():
        os.link(path, work / "indexed" / path.name)
    indexed = Suite.open(work / "indexed")
    RowIndex.require(indexed).close()
    count = make_results(suite, work / "results.jsonl")
    (work / "run").mkdir(exist_ok=True)
    os.link(work / "results.jsonl", work / "run" / "results.jsonl")
    score(indexed, work / "run" / "results.jsonl", work / "run", "made-up", draws=0)
    print(f"{count:,} results, {(work / 'results.jsonl').stat().st_size / 1e6:,.0f} MB", file=sys.stderr)


def measure(way: str, work: Path) -> dict[str, float]:
    """Score one way in this process; seconds and megabytes, and the index. Modules are loaded before the clock starts."""
    import plain_scorer  # noqa: F401
    import pyarrow.parquet  # noqa: F401

    import scoring.report  # noqa: F401

    job = prepared(way, work)
    began, used = time.perf_counter(), cpu_seconds()
    index = job()
    wall, cpu = time.perf_counter() - began, cpu_seconds() - used
    memory = [resource.getrusage(who).ru_maxrss / 1000 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {"wall": wall, "cpu": cpu, "memory": sum(memory), "index": index}


def cpu_seconds() -> float:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(own.ru_utime + own.ru_stime for own in usage)


def prepared(way: str, work: Path) -> Callable[[], float]:
    """The job of a way, which gives the index."""
    import plain_scorer

    from scoring import index, stats
    from scoring.editions import edition
    from scoring.estimates import Estimate, exact
    from scoring.loading import load
    from scoring.report import score
    from suite_builder.suite import Suite

    rules = edition("0.2.1")
    rows_only = way in ("plain", "values of rows", "rows")
    suite = Suite.open(work / ("suite" if rows_only else "indexed"), "0.2" if way == "table" else "0.2.1")
    results = work / ("run" if way in ("table", "draws") else "") / "results.jsonl"

    def estimates() -> tuple[dict, dict]:
        sheets = load(suite, results, rules).sheets()
        return {key: Estimate.of(rules, key, sheets.get(key)) for key in rules.panel}, sheets

    if way == "plain":
        return lambda: plain_scorer.score(suite, results, rules).scores["balanced_skill"]
    if way.startswith("values"):
        return lambda: index.build(
            rules, {key: own.value(exact) for key, own in estimates()[0].items()}
        ).scores["balanced_skill"]
    if way == "draws":
        own, sheets = estimates()
        values = {key: estimate.published() for key, estimate in own.items()}
        groups = {key: sheet.groups for key, sheet in sheets.items()}
        return lambda: stats.intervals(rules, values, *stats.draw_all([own], groups, 1000)).scores["balanced_skill"].low
    return lambda: score(suite, results, work / f"out-{way}", "made-up", draws=0).scores["decision_index"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("work/bench-scoring"), help="folder to work in (default: %(default)s)")
    parser.add_argument("--share", type=float, default=1.0, help="of the real number of rows")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=WAYS)
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.way:
        print(json.dumps(measure(given.way, given.work)))
        return
    given.work.mkdir(parents=True, exist_ok=True)
    prepare(given.work, given.share)
    rounds = [{way: run_apart(way, given.work) for way in given.ways} for _round in range(given.rounds)]
    best = {way: min((own[way] for own in rounds), key=lambda found: found["wall"]) for way in given.ways}
    compared = [way for way in best if way not in ("table", "draws")]
    indexes = {round(best[way]["index"], 2) for way in compared}
    if len(indexes) > 1:
        sys.exit(f"error: the ways do not agree on the index: {indexes}")
    print(HEADER)
    for way, found in best.items():
        ratio = f"{best['plain']['wall'] / found['wall']:.1f}" if "plain" in best and way in compared else ""
        print(f"| {WAYS[way]} | {found['wall']:.2f} | {found['cpu']:.2f} | {found['memory']:,.0f} | {ratio} |")


def run_apart(way: str, work: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--way", way, "--work", work], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
