"""The golden suites and models (random words, see tests/fixtures/golden), and results bent by tests."""

import gzip
from functools import cache
from pathlib import Path

import orjson

from suite_builder.suite import Suite

GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden"
SUITE_0_2 = GOLDEN / "suite-0.2"


def results_of(model: str) -> Path:
    """The results file of a golden model."""
    return GOLDEN / "results" / model / "results.jsonl.gz"


def golden_lines(path: Path) -> list[dict]:
    """Complete JSON lines of a gzip file."""
    with gzip.open(path) as stream:
        return [orjson.loads(line) for line in stream if line.endswith(b"\n") and line.strip()]


def write_lines(path: Path, rows: list[dict]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    return path


@cache
def scored_run_ids() -> frozenset[str]:
    """Run ids that edition 0.2.1 scores in the golden suite."""
    return frozenset(request.run_id for request in Suite.open(SUITE_0_2, "0.2.1").rows())


def bent(results: list[dict], catalog_id: int, **changes) -> tuple[list[dict], str]:
    """The results with the first scored row of a benchmark changed; also that row's run id."""
    first = next(row for row in results if row["catalog_id"] == catalog_id and row["run_id"] in scored_run_ids())
    return [{**row, **changes} if row is first else row for row in results], first["run_id"]


def with_answer(results: list[dict], catalog_id: int, **changes) -> tuple[list[dict], str]:
    """As `bent`, with the first answer of the row changed."""
    row = next(row for row in results if row["run_id"] == bent(results, catalog_id)[1])
    question, answer = next(iter(row["response"]["answers"].items()))
    answers = {**row["response"]["answers"], question: {**answer, **changes}}
    return bent(results, catalog_id, response={**row["response"], "answers": answers})


def write_run(folder: Path, model: str, suite: Path) -> Path:
    """A run directory of a golden model as this program leaves it unscored; returns it."""
    run = folder / model
    run.mkdir(parents=True)
    (run / "results.jsonl").write_bytes(gzip.decompress(results_of(model).read_bytes()))
    (run / "environment.json").write_bytes(orjson.dumps({"engine": model, "rows_path": str(suite), "edition": "0.2.1"}))
    return run
