"""A real model over a stratified sample of five rebuilt benchmarks: `python bench/real_model.py --model DIR --mirror DIR`.

Rebuilds BANKING77, Home appliances, MuSR, SimpleBench and BBH, draws a sample of whole groups, runs the `transformers` engine
(or another) through it with checkpoint and resume, scores it, and prints a Markdown table: the share of right fields beside
what uniform guessing gives, with the chance that guessing does as well (one-sided, normal approximation).
"""

import argparse
import math
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

CATALOG_IDS = (4, 9, 32, 34, 58)
HEADER = "| benchmark | requests | fields | right | uniform guessing | p | median |\n|---|---:|---:|---:|---:|---:|---:|"


def table(cases, labels: dict) -> str:
    """Markdown from cases.parquet (as a table) and run id -> label."""
    lines = [HEADER]
    records = cases.to_pylist()
    for catalog_id in sorted({record["catalog_id"] for record in records}):
        own = [record for record in records if record["catalog_id"] == catalog_id]
        chances = [1 / len(labels[record["run_id"]].questions[record["question"]][1]) for record in own]
        right, expected = sum(bool(record["correct"]) for record in own), sum(chances)
        deviation = math.sqrt(sum(chance * (1 - chance) for chance in chances))
        p = math.erfc((right - expected) / deviation / math.sqrt(2)) / 2
        times = sorted({record["run_id"]: record["wall_ms"] for record in own}.values())
        lines.append(
            f"| {catalog_id} {own[0]['dataset']} | {len(times)} | {len(own)} | {right / len(own):.3f} | "
            f"{expected / len(own):.3f} | {p:.2g} | {times[len(times) // 2]:,.0f} ms |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="model directory, GGUF file or Hub repository")
    parser.add_argument("--mirror", type=Path, help="folder with the sources; by default they are downloaded")
    parser.add_argument("--work", type=Path, default=Path("work/real-model"), help="folder to work in (default: %(default)s)")
    parser.add_argument("--engine", default="transformers")
    parser.add_argument("--n", type=int, default=200)
    given = parser.parse_args()

    import pyarrow.parquet as pq

    from di_tui.run_job import RunRequest, foreground
    from di_tui.suite_commands import rebuild_and_index
    from engines.runner import RunSettings
    from scoring.report import score
    from suite_builder.sample import sample
    from suite_builder.suite import Suite

    suite = rebuild_and_index(given.work, given.work / "suite", None, list(CATALOG_IDS), given.mirror, True, as_json=False)
    rows, out = given.work / f"sample-{given.n}.jsonl.gz", given.work / f"run-{Path(given.model).name}-{given.n}"
    sample(suite, rows, given.n)
    sampled = Suite.from_rows_file(rows)
    code = foreground(RunRequest(sampled, out, RunSettings(given.engine, given.model)), as_json=False)
    if code:
        sys.exit(code)
    score(sampled, out / "results.jsonl", out, given.engine)
    print(table(pq.read_table(out / "cases.parquet"), {label.run_id: label for label in sampled.labels()}))


if __name__ == "__main__":
    main()
