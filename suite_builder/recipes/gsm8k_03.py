"""GSM8K of edition 0.3: its rows with other options, each the right number of another problem of similar size.

Problems make groups of ten with ten different right numbers. A group's numbers are the options of all its problems, all
ten or a window of four that shifts from group to group, so that option values alone tell nothing.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Any

from suite_builder.catalog import benchmarks
from suite_builder.freeze import quarter_characters
from suite_builder.recipes import gsm8k
from suite_builder.recipes.common import numbered
from suite_builder.rows import payload_text, sha256_text

SEED = 20261003
METHOD = "answer-groups-v1"
SOURCE_PATH = "gsm8k-rows.jsonl"
GROUP_SIZE = 10
TOO_ALIKE = "the right numbers of the GSM8K problems are too much alike to make groups of ten different ones"


@dataclass(frozen=True)
class Group:
    """Problems that share their options.

    band: where in the order of problems its band starts, and how many groups that has; None for the leftover problems.
    members: indices of its problems. values: their right numbers in that order, filled up to ten where they are fewer.
    shift: where its windows of four start, in places before the right number.
    """

    name: str
    band: tuple[int, int] | None
    members: list[int]
    values: list[Decimal]
    shift: int

    def options(self, gold: Decimal, number: int) -> list[Decimal]:
        """The `number` options, 10 or 4, of its problem with the right number `gold`, not yet shuffled."""
        if number == GROUP_SIZE:
            return self.values
        ring = sorted(self.values)
        start = ring.index(gold) - self.shift
        return [ring[(start + step) % GROUP_SIZE] for step in range(number)]


def rows(files: Mapping[str, Path]) -> Iterator[dict]:
    """The rows that replace those of `gsm8k.rows(files)`, in the same order, with their `_evaluation`.

    Raises:
        ValueError: as `gsm8k.rows`, or the right numbers are too much alike to be grouped.
    """
    replaced = list(gsm8k.rows(files))
    golds = {row["metadata"]["provenance"]["source_id"]: row["metadata"]["gold_numeric"] for _track, row in replaced}
    group_of = {member: group for group in groups(list(map(Decimal, golds.values()))) for member in group.members}
    for track, row in replaced:
        yield _row(track, row, group_of[row["metadata"]["provenance"]["source_id"]])


def groups(golds: Sequence[Decimal]) -> list[Group]:
    """All problems, given by their right numbers, in groups."""
    order = sorted(range(len(golds)), key=lambda index: (golds[index], sha256_text(f"{SEED}:order:{index}")))
    leftover = _leftover(order, golds)
    rest = [index for index in order if index not in leftover]
    banded: list[tuple[tuple[int, int] | None, list[int]]] = [
        ((start, width), rest[start + place : start + GROUP_SIZE * width : width])
        for start, width in _bands([golds[index] for index in rest])
        for place in range(width)
    ]
    if leftover:
        banded.append((None, sorted(leftover, key=golds.__getitem__)))
    return [
        Group(f"G{number:03}", band, members, _filled_up([golds[index] for index in members], golds), shift)
        for number, ((band, members), shift) in enumerate(zip(banded, _shifts()))
    ]


def _leftover(order: Sequence[int], golds: Sequence[Decimal]) -> list[int]:
    """As many problems as are too many for groups of ten, from a random place on, all with different numbers."""
    size = len(order) % GROUP_SIZE
    start = random.Random(f"{SEED}:leftover").randrange(len(order))
    taken: dict[Decimal, int] = {}
    for index in (*order[start:], *reversed(order[:start])):
        if len(taken) < size:
            taken.setdefault(golds[index], index)
    return list(taken.values())


def _filled_up(values: list[Decimal], golds: Sequence[Decimal]) -> list[Decimal]:
    """Ten values: these and, where they are fewer, the next higher right numbers, then the next lower ones."""
    low, high, distinct = min(values), max(values), sorted(set(golds))
    further = [gold for gold in distinct if gold > high] + [gold for gold in reversed(distinct) if gold < low]
    filled = values + further[: GROUP_SIZE - len(values)]
    if len(filled) < GROUP_SIZE:
        raise ValueError(TOO_ALIKE)
    return filled


def _bands(golds: Sequence[Decimal]) -> list[tuple[int, int]]:
    """Cut sorted numbers into (start, width): ten times `width` of them, none of them more often than `width` times."""

    def fits(start: int, width: int) -> bool:
        return max(Counter(golds[start : start + GROUP_SIZE * width]).values()) <= width

    bands: list[tuple[int, int]] = []
    start = 0
    while start < len(golds):
        widest = (len(golds) - start) // GROUP_SIZE
        width = next((width for width in range(1, widest + 1) if fits(start, width)), None)
        while width is None:  # the tail joins the band before it
            if not bands:
                raise ValueError(TOO_ALIKE)
            start, _width = bands.pop()
            widest = (len(golds) - start) // GROUP_SIZE
            width = widest if fits(start, widest) else None
        bands.append((start, width))
        start += GROUP_SIZE * width
    return bands


def _shifts() -> Iterator[int]:
    """The shift of every group: each four neighbours have all four of them."""
    for block in count():
        shifts = [0, 1, 2, 3]
        random.Random(f"{SEED}:shifts:{block}").shuffle(shifts)
        yield from shifts


def _row(track: str, row: Mapping[str, Any], group: Group) -> dict[str, Any]:
    question, metadata = row["questions"]["answer"], row["metadata"]
    index, gold, number = metadata["provenance"]["source_id"], metadata["gold_numeric"], len(question["criteria"])
    texts = [gsm8k.number_text(value) for value in group.options(Decimal(gold), number)]
    random.Random(f"{SEED}:GSM:{index}:{number}").shuffle(texts)
    questions = {"answer": {**question, "criteria": numbered(texts)}}
    run_id, payload = f"{gsm8k.CATALOG_ID}:{track}:{row['id']}", payload_text(row["state"], questions)
    return {
        **row,
        "questions": questions,
        "expected": {"answer": f"option_{texts.index(gold)}"},
        "metadata": {
            **metadata,
            "provenance": {**metadata["provenance"], "seed": SEED},
            "distractor_method": METHOD,
            "answer_group": {"id": group.name, "band": group.band, "source_ids": sorted(group.members)},
            "replaces_run_id": run_id,
        },
        "_evaluation": {
            "run_id": f"v0.3-gsm8k:{run_id}",
            "catalog_id": gsm8k.CATALOG_ID,
            "dataset": benchmarks()[gsm8k.CATALOG_ID].dataset,
            "group_id": metadata["group_id"],
            "track": track,
            "source_path": SOURCE_PATH,
            "payload_sha256": sha256_text(payload),
            "proxy_tokens": quarter_characters(payload),
            "benchmark_origin": benchmarks()[gsm8k.CATALOG_ID].origin,
            "source_run_id": run_id,
            "edition": "0.3",
        },
    }
