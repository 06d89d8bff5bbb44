import orjson
import pytest

from di_tui.run_plan import RunRows
from engines.plan import Shard, plan, shares
from engines.run_dir import RunDir, read_json
from engines.runner import RunSettings, run
from suite_builder.row_index import RowIndex
from suite_builder.suite import EXCLUSIONS, Suite


def planned(run_dir, total, answered=()):
    rows = RunRows.find(read_json(run_dir.environment), run_dir.path)
    try:
        return rows.planned(total, answered)
    finally:
        rows.close()


@pytest.fixture
def excluding(make_suite):
    """A suite of 30 rows that excludes two."""
    directory = make_suite().directory
    gone = [row.run_id for row in Suite.open(directory).rows()][:2]
    (directory / EXCLUSIONS).write_bytes(orjson.dumps({"rows": dict.fromkeys(gone, {})}))
    return Suite.open(directory)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"with_excluded": True},
        {"limit": 7},
        {"limit": 12, "order": "file"},
        {"shard": Shard(2, 3)},
        {"shard": Shard(1, 2), "with_excluded": True, "limit": 9},
    ],
    ids=["whole", "with-excluded", "limit", "limit-in-file-order", "shard", "limited-shard-with-excluded"],
)
def test_a_run_is_planned_as_it_was_run(excluding, tmp_path, settings):
    run_dir = RunDir(tmp_path / "run")
    ended = run(excluding, run_dir, RunSettings("random", **settings))
    index = RowIndex.require(excluding)
    order, with_excluded = settings.get("order", "interleaved"), settings.get("with_excluded", False)
    entries = plan(excluding, index, order, with_excluded, settings.get("shard"))
    answered = [orjson.loads(line)["run_id"] for line in run_dir.results.read_bytes().splitlines()]
    expected = shares(entries[: settings.get("limit")], ())
    assert planned(run_dir, ended.total, answered) == expected
    index.close()


def test_a_total_that_the_suite_cannot_have_gives_no_plan(excluding, tmp_path):
    run_dir = RunDir(tmp_path / "run")
    run(excluding, run_dir, RunSettings("random"))
    assert planned(run_dir, 31) == ()


def test_a_loose_rows_file_is_planned_too(make_rows_file, tmp_path):
    suite, run_dir = Suite.from_rows_file(make_rows_file(5)), RunDir(tmp_path / "run")
    run(suite, run_dir, RunSettings("random"))
    benchmarks = planned(run_dir, 15)
    assert [(benchmark.catalog_id, benchmark.requests) for benchmark in benchmarks] == [(41, 5), (44, 5), (45, 5)]
