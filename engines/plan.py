"""Which requests a run asks, or a shard of one, in which order, and which of them are still open."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from engines.events import BenchmarkPlan
from suite_builder.row_index import RowIndex
from suite_builder.suite import Suite

ORDERS = ("interleaved", "file")


@dataclass(frozen=True, slots=True)
class Entry:
    """One request of the plan; `position` is its place in the row index."""

    position: int
    run_id: str
    catalog_id: int
    dataset: str
    group_id: str
    payload_sha256: str
    proxy_tokens: int


@dataclass(frozen=True, slots=True)
class Shard:
    """One of `count` parts of a suite, by `number` from 1. A group is in exactly one part, whatever the order of a run, its
    edition and what is answered already."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """A shard from `i/n`.

        Raises:
            ValueError: the text is not that of a shard.
        """
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text)
        number, count = map(int, match.groups()) if match else (0, 0)
        if not 1 <= number <= count:
            raise ValueError(f"no shard {text!r}; give i/n with i from 1 to n, such as 1/3")
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def holds(self, entry: Entry) -> bool:
        return int.from_bytes(_group_hash(entry)) % self.count == self.number - 1


def plan(
    suite: Suite,
    index: RowIndex,
    order: str = "interleaved",
    with_excluded: bool = False,
    shard: Shard | None = None,
) -> list[Entry]:
    """All requests of the suite's edition, or those of a shard.

    Args:
        order: `interleaved` puts whole groups in hash order across benchmarks, so that any first part of a run is a fair
            sample of the whole; `file` keeps the order of the rows.
        with_excluded: ask excluded rows too.
    """
    entries = [
        Entry(
            position,
            label.run_id,
            label.catalog_id,
            label.dataset,
            label.group_id,
            label.payload_sha256,
            label.proxy_tokens,
        )
        for position, label in enumerate(index.labels())
        if suite.edition.reads(label) and (with_excluded or label.run_id not in suite.excluded)
    ]
    if shard:
        entries = list(filter(shard.holds, entries))
    return sorted(entries, key=_group_hash) if order == "interleaved" else entries


def _group_hash(entry: Entry) -> bytes:
    return hashlib.sha256(f"{entry.catalog_id}:{entry.group_id}".encode()).digest()


def shares(entries: Iterable[Entry], finished: Iterable[str]) -> tuple[BenchmarkPlan, ...]:
    """What each benchmark has to do and has done, by catalog id."""
    done = frozenset(finished)
    grouped: dict[int, list[Entry]] = {}
    for entry in entries:
        grouped.setdefault(entry.catalog_id, []).append(entry)
    return tuple(
        BenchmarkPlan(
            catalog_id=catalog_id,
            dataset=members[0].dataset,
            requests=len(members),
            finished=sum(entry.run_id in done for entry in members),
            proxy_tokens=sum(entry.proxy_tokens for entry in members),
            finished_proxy_tokens=sum(entry.proxy_tokens for entry in members if entry.run_id in done),
        )
        for catalog_id, members in sorted(grouped.items())
    )
