"""Rebuild time of the benchmarks whose sources a mirror holds: `python bench/rebuild.py --mirror DIR`.

Builds them anew with one and with two recipes at a time, then calls again with nothing to do, and prints a Markdown table.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

# POP909 (22) is left out by default: its 75,582 rows take as long as all the others together.
CATALOG_IDS = (1, 4, 5, 9, 11, 12, 21, 24, 26, 27, 28, 29, 30, 32, 34, 38, 39, 40, 42, 43, 58)


def measure(folder: Path, mirror: Path, jobs: int, catalog_ids: list[int]) -> float:
    """Seconds of one rebuild into `folder`."""
    from suite_builder.build import rebuild
    from suite_builder.editions import edition

    began = time.perf_counter()
    result = rebuild(folder / "work", folder / "suite", edition(), catalog_ids, mirror, jobs=jobs)
    if not result.ok:
        sys.exit("\n".join(result.failed.values()))
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mirror", type=Path, required=True)
    parser.add_argument("--only", type=int, nargs="*", default=list(CATALOG_IDS))
    given = parser.parse_args()
    rows = []
    for jobs in (1, 2):
        with tempfile.TemporaryDirectory() as folder:
            rows.append((f"first call, --jobs {jobs}", measure(Path(folder), given.mirror, jobs, given.only)))
            if jobs == 2:
                rows.append(("second call", measure(Path(folder), given.mirror, jobs, given.only)))
    print(f"| {len(given.only)} benchmarks | seconds | ratio |\n|---|---:|---:|")
    for name, seconds in rows:
        print(f"| {name} | {seconds:.1f} | {rows[0][1] / seconds:.1f} |")


if __name__ == "__main__":
    main()
