"""From rows to frozen lines: which groups edition 0.1 selects, and the `_evaluation` block that ends every line."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, TypeVar

import orjson

from suite_builder.catalog import Benchmark
from suite_builder.rows import frozen_json, payload_text, sha256_text

SELECTION_SEED = 20260919
SOURCE_PATH = "artifacts/benchmark-suite/active/release-v1/{track}.jsonl"

Key = TypeVar("Key", bound=Hashable)


def base_lines(benchmark: Benchmark, normalized: Mapping[str, Path]) -> Iterator[str]:
    """Frozen lines, without their ends, of the selected rows of a base benchmark.

    Args:
        normalized: track -> normalized file, in published order.
    """
    kept = kept_groups(benchmark, (row for _track, row in _rows(normalized)))
    for track, row in _rows(normalized):
        if kept is None or group_id(row) in kept:
            yield frozen_json({**row, "_evaluation": _base_evaluation(benchmark, track, row)})


def _rows(normalized: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    for track, path in normalized.items():
        with path.open("rb") as lines:
            yield from ((track, orjson.loads(line)) for line in lines)


def group_id(row: Mapping) -> str:
    """Rows with the same group id are one case."""
    return str(row.get("metadata", {}).get("group_id", row["id"]))


def _base_evaluation(benchmark: Benchmark, track: str, row: Mapping) -> dict[str, Any]:
    payload = payload_text(row["state"], row["questions"])
    return {
        "run_id": f"{benchmark.catalog_id}:{track}:{row['id']}",
        "catalog_id": benchmark.catalog_id,
        "dataset": benchmark.dataset,
        "group_id": group_id(row),
        "track": track,
        "source_path": SOURCE_PATH.format(track=track),
        "payload_sha256": sha256_text(payload),
        "proxy_tokens": quarter_characters(payload),
        "benchmark_origin": benchmark.origin,
    }


def quarter_characters(payload: str) -> int:
    """Proxy tokens by length: a quarter of the characters, at least 1."""
    return max(1, len(payload) // 4)


def added_lines(benchmark: Benchmark, rows: Iterable[Mapping], count_tokens: Callable[[str], int]) -> Iterator[str]:
    """Frozen lines, without their ends, of an added benchmark.

    Args:
        count_tokens: counts cl100k_base tokens; not called for a benchmark that belongs to no batch.
    """
    for row in rows:
        yield frozen_json({**row, "_evaluation": _added_evaluation(benchmark, row, count_tokens)})


def _added_evaluation(benchmark: Benchmark, row: Mapping, count_tokens: Callable[[str], int]) -> dict[str, Any]:
    payload = payload_text(row["state"], row["questions"])
    facts = {
        "run_id": f"{'candidates-v3' if benchmark.batch else 'calibration-v1'}:{row['id']}",
        "catalog_id": benchmark.catalog_id,
        "dataset": benchmark.dataset,
        "track": row["metadata"]["track"],
        "group_id": row["metadata"]["group_id"],
        "payload_sha256": sha256_text(payload),
        "benchmark_origin": benchmark.origin,
    }
    if benchmark.batch is None:
        return {**facts, "proxy_tokens": quarter_characters(payload)}
    asked = frozen_json({"state": row["state"], "questions": row["questions"]})
    return {**facts, "proxy_tokens": count_tokens(asked), "batch": benchmark.batch}


def kept_groups(benchmark: Benchmark, rows: Iterable[Mapping]) -> set[str] | None:
    """Group ids that edition 0.1 selects of a benchmark's rows; None when it keeps all (`rows` is not read then).

    With a case cap: that many groups, lowest priority first, shared out over the strata when there are any. With a
    request cap: groups by priority, without those that do not fit any more when their turn comes.
    """
    if benchmark.case_cap is None and benchmark.request_cap is None:
        return None
    sizes: Counter[str] = Counter()
    strata: dict[tuple, list[str]] = {}
    for row in rows:
        group = group_id(row)
        if group not in sizes:
            strata.setdefault(tuple(_at(row, path) for path in benchmark.strata), []).append(group)
        sizes[group] += 1

    def by_priority(groups: Iterable[str]) -> list[str]:
        return sorted(groups, key=lambda group: priority(benchmark.catalog_id, group))

    if benchmark.request_cap is not None:
        return set(fill_budget(by_priority(sizes), sizes, benchmark.request_cap))
    quotas = largest_remainder({stratum: len(groups) for stratum, groups in strata.items()}, benchmark.case_cap)
    return {group for stratum, groups in strata.items() for group in by_priority(groups)[: quotas[stratum]]}


def _at(row: Mapping, path: str) -> Any:
    """The value at a path such as `metadata.locale`."""
    return reduce(lambda value, key: value[key], path.split("."), row)


def priority(catalog_id: int, group: str, seed: int = SELECTION_SEED) -> str:
    """The hex sha256 that orders groups; lower comes first."""
    return sha256_text(f"{seed}:{catalog_id}:{group}")


def fill_budget(groups: Iterable[str], sizes: Mapping[str, int], budget: int) -> Iterator[str]:
    """Take groups in order as long as they fit; one that does not is skipped and the next is tried."""
    for group in groups:
        if sizes[group] <= budget:
            budget -= sizes[group]
            yield group


def largest_remainder(sizes: Mapping[Key, int], seats: int) -> dict[Key, int]:
    """Share out `seats` in proportion to `sizes`: integer parts, then one each by largest fraction, ties by key."""
    total = sum(sizes.values())
    shares = {key: divmod(seats * size, total) for key, size in sizes.items()}
    quotas = {key: whole for key, (whole, _fraction) in shares.items()}
    for key in sorted(shares, key=lambda key: (-shares[key][1], key))[: seats - sum(quotas.values())]:
        quotas[key] += 1
    return quotas
