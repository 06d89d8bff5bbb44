"""What a run directory's run has to do in all, worked out from the suite that its environment.json names. No screen."""

from collections import Counter
from collections.abc import Collection
from itertools import product
from pathlib import Path
from typing import Any

from engines.environment import find_shown_path
from engines.events import BenchmarkPlan
from engines.plan import ORDERS, Shard, plan, shares
from suite_builder.errors import SuiteError
from suite_builder.row_index import RowIndex
from suite_builder.suite import Suite

LARGEST_LOOSE_FILE = 32 << 20


class RunRows:
    """The rows that a run asks, as far as they are at hand."""

    def __init__(self, suite: Suite, index: RowIndex, shard: Shard | None):
        self.suite = suite
        self.index = index
        self.shard = shard

    @classmethod
    def find(cls, environment: dict[str, Any], run_dir: Path) -> "RunRows | None":
        """The rows of the run that environment.json describes; None when they are not at hand or not the ones they were."""
        try:
            index, suite = _open(environment, run_dir)
            if index is None:
                return None
            if index.content_sha256 == environment.get("frozen_corpus_sha256"):
                shard = environment.get("shard")
                return cls(suite, index, shard and Shard.parse(shard))
            index.close()
        except (SuiteError, OSError, ValueError, KeyError):
            pass
        return None

    def planned(self, total: int, answered: Collection[str]) -> tuple[BenchmarkPlan, ...]:
        """The run's benchmarks with all their requests open; empty when no way to run the suite has so many requests.

        Args:
            total: how many requests status.json says that the run has: with it, whether excluded ones and a limit count is
                found.
            answered: run ids with results, which the plan must hold.
        """
        return _of_total(self.suite, self.index, total, answered, self.shard)

    def close(self) -> None:
        self.index.close()


def _open(environment: dict[str, Any], run_dir: Path) -> tuple[RowIndex | None, Suite | None]:
    """The row index of the run's suite; that of a loose rows file is made for the moment when it is small."""
    found = environment.get("rows_path") and find_shown_path(environment["rows_path"], run_dir)
    if not found:
        return None, None
    if found.is_dir():
        suite = Suite.open(found, environment.get("edition"))
        return RowIndex.of(suite), suite
    if found.stat().st_size > LARGEST_LOOSE_FILE:
        return None, None
    suite = Suite.from_rows_file(found, environment.get("edition"))
    return RowIndex.require(suite), suite


def _of_total(
    suite: Suite, index: RowIndex, total: int, answered: Collection[str], shard: Shard | None
) -> tuple[BenchmarkPlan, ...]:
    """The first way to run the suite, or the shard of it, that has `total` requests; of a limited one also with the answered
    ones among them."""
    for with_excluded in () if shard else (False, True):
        benchmarks = _whole(suite, index, with_excluded)
        if sum(benchmark.requests for benchmark in benchmarks) == total:
            return benchmarks
    for with_excluded, order in product((False, True), ORDERS):
        limited = plan(suite, index, order, with_excluded, shard)[:total]
        if len(limited) == total and {entry.run_id for entry in limited}.issuperset(answered):
            return shares(limited, ())
    return ()


def _whole(suite: Suite, index: RowIndex, with_excluded: bool) -> tuple[BenchmarkPlan, ...]:
    """All that the edition reads, counted without keeping an object a request: over 150,000 of them the garbage collector
    would hold up the screen."""
    names: dict[int, str] = {}
    requests: Counter[int] = Counter()
    tokens: Counter[int] = Counter()
    for label in index.labels():
        if suite.edition.reads(label) and (with_excluded or label.run_id not in suite.excluded):
            names[label.catalog_id] = label.dataset
            requests[label.catalog_id] += 1
            tokens[label.catalog_id] += label.proxy_tokens
    return tuple(
        BenchmarkPlan(catalog_id, name, requests[catalog_id], 0, tokens[catalog_id], 0)
        for catalog_id, name in sorted(names.items())
    )
