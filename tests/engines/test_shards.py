"""Shards of a run: every request in exactly one, whole groups, whatever the order, the edition and what is answered."""

import shutil
from collections import Counter

import pytest
from golden import SUITE_0_2
from hypothesis import given
from hypothesis import strategies as st
from suites import make_row, read_final_results

from engines import events
from engines.plan import ORDERS, Entry, Shard, plan
from engines.run_dir import RunDir, read_json
from engines.runner import RunSettings, run
from suite_builder.row_index import RowIndex
from suite_builder.suite import Suite


@pytest.fixture
def grouped(make_suite):
    """120 rows of three benchmarks in groups of one to four."""
    rows = [make_row(key, number, f"case-{number * number % 17}") for key in (41, 44, 45) for number in range(40)]
    return make_suite(rows)


@pytest.mark.parametrize("order", ORDERS)
def test_every_request_is_in_one_shard_and_groups_stay_whole(grouped, order):
    index = RowIndex.require(grouped)
    shards = [plan(grouped, index, order, shard=Shard(number, 3)) for number in (1, 2, 3)]
    assert Counter(entry.run_id for shard in shards for entry in shard) == Counter(row.run_id for row in grouped.rows())
    groups = [{(entry.catalog_id, entry.group_id) for entry in shard} for shard in shards]
    assert all(groups) and sum(map(len, groups)) == len(set.union(*groups))
    index.close()


def test_shards_of_the_golden_suite_are_of_like_size(tmp_path):
    suite = Suite.open(shutil.copytree(SUITE_0_2, tmp_path / "suite"))
    index = RowIndex.require(suite)
    whole = plan(suite, index)
    sizes = [len(plan(suite, index, shard=Shard(number, 4))) for number in range(1, 5)]
    assert sum(sizes) == len(whole) and min(sizes) > len(whole) / 8
    index.close()


@given(st.text(), st.integers(1, 70), st.integers(1, 50))
def test_a_group_is_in_one_shard_whatever_else_the_entry_says(group, catalog_id, count):
    entries = [Entry(position, f"run-{position}", catalog_id, "any", group, "", position) for position in (0, 7)]
    holding = [[number for number in range(1, count + 1) if Shard(number, count).holds(entry)] for entry in entries]
    assert len(holding[0]) == 1 and holding[0] == holding[1]


def test_a_shard_is_written_as_it_is_read():
    assert str(Shard.parse("2/3")) == "2/3" and Shard.parse("1/1") == Shard(1, 1)


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "1.0/3", "²/3"])
def test_what_is_no_shard_is_refused(text):
    with pytest.raises(ValueError, match="give i/n with i from 1 to n"):
        Shard.parse(text)


def test_a_run_of_a_shard_counts_its_rows_alone_and_says_which_it_is(grouped, tmp_path):
    run_dir, told = RunDir(tmp_path / "run"), []
    settings = RunSettings("random", shard=Shard(2, 3))
    ended = run(grouped, run_dir, settings, told.append)
    index = RowIndex.require(grouped)
    expected = {entry.run_id for entry in plan(grouped, index, shard=Shard(2, 3))}
    index.close()
    assert (ended.state, ended.completed, ended.total) == ("complete", len(expected), len(expected))
    assert read_final_results(run_dir.results).keys() == expected
    ready = next(event for event in told if isinstance(event, events.Ready))
    assert sum(benchmark.requests for benchmark in ready.benchmarks) == len(expected)
    environment = read_json(run_dir.environment)
    assert environment["shard"] == environment["sessions"][0]["shard"] == "2/3"
    assert run(grouped, run_dir, settings).counts == {}


def test_an_interrupted_shard_goes_on_with_the_same_requests_in_another_order(grouped, tmp_path):
    run_dir = RunDir(tmp_path / "run")
    run(grouped, run_dir, RunSettings("random", shard=Shard(1, 2), limit=9))
    ended = run(grouped, run_dir, RunSettings("random", shard=Shard(1, 2), order="file"))
    whole = run(grouped, RunDir(tmp_path / "whole"), RunSettings("random", shard=Shard(1, 2)))
    assert ended.total == whole.total == len(read_final_results(run_dir.results))


@pytest.mark.parametrize("text", ["3", "0/2"])
def test_the_command_line_refuses_what_is_no_shard(di_tui, make_rows_file, tmp_path, text):
    done = di_tui("run", "--engine", "random", "--rows", make_rows_file(2), "--out", tmp_path / "run", "--shard", text)
    assert done.returncode == 2 and "give i/n" in done.stderr and "Traceback" not in done.stderr
