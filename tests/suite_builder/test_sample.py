import gzip
import hashlib
from collections import Counter

import orjson
import pytest
from suites import make_row

from suite_builder.errors import SuiteError
from suite_builder.sample import sample


def run_ids(path):
    return [orjson.loads(line)["_evaluation"]["run_id"] for line in gzip.decompress(path.read_bytes()).splitlines()]


@pytest.fixture
def grouped_suite(make_suite):
    """Benchmark 41 in groups of three rows, 44 in groups of one, 45 with two rows only."""
    rows = [make_row(41, number, group_id=f"case-{number // 3}") for number in range(12)]
    rows += [make_row(44, number) for number in range(20)]
    rows += [make_row(45, number) for number in range(2)]
    return make_suite(rows)


def test_groups_are_taken_whole_round_the_benchmarks_in_hash_order(grouped_suite, tmp_path):
    out = tmp_path / "sample.jsonl.gz"
    count = sample(grouped_suite, out, n=12)
    assert count == len(run_ids(out)) == 13
    first_group = min((f"case-{n}" for n in range(4)), key=lambda g: hashlib.sha256(f"20260919:41:{g}".encode()).hexdigest())
    number = int(first_group.removeprefix("case-")) * 3
    assert run_ids(out)[:3] == [f"41:VAST:VAST:test:{number + place}" for place in range(3)]
    assert Counter(run_id.split(":")[0] for run_id in run_ids(out)) == {"41": 9, "44": 2, "45": 2}


def test_the_same_seed_gives_the_same_bytes_and_another_seed_another_sample(grouped_suite, tmp_path):
    first, second, other = (tmp_path / name for name in ("a.gz", "b.gz", "c.gz"))
    sample(grouped_suite, first, 10)
    sample(grouped_suite, second, 10)
    sample(grouped_suite, other, 10, seed=1)
    assert first.read_bytes() == second.read_bytes()
    assert set(run_ids(first)) != set(run_ids(other))


def test_single_requests_takes_the_first_row_of_each_group(grouped_suite, tmp_path):
    out = tmp_path / "sample.jsonl.gz"
    sample(grouped_suite, out, n=8, single_requests=True)
    numbers = [int(run_id.split(":")[-1]) for run_id in run_ids(out) if run_id.startswith("41:")]
    assert numbers and all(number % 3 == 0 for number in numbers)


def test_more_rows_than_there_are_gives_all(grouped_suite, tmp_path):
    assert sample(grouped_suite, tmp_path / "all.gz", n=1000) == 34


def test_impossible_samples_are_refused(grouped_suite, tmp_path):
    with pytest.raises(SuiteError, match="at least one row"):
        sample(grouped_suite, tmp_path / "none.gz", n=0)
    (tmp_path / "file").write_text("")
    with pytest.raises(SuiteError, match="cannot write"):
        sample(grouped_suite, tmp_path / "file" / "inside.gz", n=1)
