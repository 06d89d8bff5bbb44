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
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

WAYS = {
    "plain": "json module, one process, values and index only",
    "rows": "without label file",
    "labels": "with label file",
    "table": "another edition, from cases.parquet",
    "draws": "1,000 draws of the index",
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
    """Score one way in this process; seconds and megabytes, and the index."""
    began, used = time.perf_counter(), cpu_seconds()
    index, started = do(way, work)
    began = started or began
    memory = [resource.getrusage(who).ru_maxrss / 1000 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {"wall": time.perf_counter() - began, "cpu": cpu_seconds() - used, "memory": sum(memory), "index": index}


def cpu_seconds() -> float:
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(own.ru_utime + own.ru_stime for own in usage)


def do(way: str, work: Path) -> tuple[float, float | None]:
    """The index, and when the clock should have started if later than this call."""
    from suite_builder.suite import Suite

    suite = Suite.open(work / ("indexed" if way in ("labels", "table", "draws") else "suite"), "0.2" if way == "table" else "0.2.1")
    if way == "plain":
        import plain_scorer

        from scoring.editions import edition

        return plain_scorer.score(suite, work / "results.jsonl", edition("0.2.1")).scores["balanced_skill"], None
    if way == "draws":
        return intervals(suite, work)
    from scoring.report import score

    results = work / "run" / "results.jsonl" if way == "table" else work / "results.jsonl"
    return score(suite, results, work / f"out-{way}", "made-up", draws=0).scores["decision_index"], None


def intervals(suite, work: Path) -> tuple[float, float]:
    from scoring import stats
    from scoring.editions import edition
    from scoring.estimates import Estimate
    from scoring.loading import load

    rules = edition("0.2.1")
    sheets = load(suite, work / "run" / "results.jsonl", rules).sheets()
    estimates = {key: Estimate.of(rules, key, sheets.get(key)) for key in rules.panel}
    values = {key: estimate.published() for key, estimate in estimates.items()}
    started = time.perf_counter()
    (drawn,) = stats.draw_all([estimates], {key: sheet.groups for key, sheet in sheets.items()}, 1000)
    return stats.intervals(rules, values, drawn).scores["balanced_skill"].low, started


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
    indexes = {round(best[way]["index"], 2) for way in ("plain", "rows", "labels") if way in best}
    if len(indexes) > 1:
        sys.exit(f"error: the ways do not agree on the index: {indexes}")
    print(HEADER)
    for way, found in best.items():
        ratio = f"{best['plain']['wall'] / found['wall']:.1f}" if "plain" in best and way in ("plain", "rows", "labels") else ""
        print(f"| {WAYS[way]} | {found['wall']:.2f} | {found['cpu']:.2f} | {found['memory']:,.0f} | {ratio} |")


def run_apart(way: str, work: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, __file__, "--way", way, "--work", work], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
