"""The subsets of whole groups that later editions run, drawn from the rows by the published rule."""

import hashlib
import random
from collections.abc import Iterable
from dataclasses import dataclass

from suite_builder.errors import SuiteError


@dataclass(frozen=True)
class Subset:
    """How many groups of a benchmark stay, the seed of the draw, and the sha256 of the sorted ids joined by line feeds
    (None where only a hash of the run ids is published)."""

    groups: int
    seed: int
    sha256: str | None = None


# Of edition 0.2 on. ToolRet and BRIGHT are cut in the row file, ACOS when rows are read.
SUBSETS = {
    2: Subset(1000, 20260924, "b41dd262162670b2ce1c1cc5b4f854c3b40e198d8e4ff5de7b032e53ba296e6d"),
    36: Subset(550, 20260958, "f3858ce64c48ffad6fa26f523535a7b3146970cc47e2b8f5a5248d15fea1a5f1"),
    38: Subset(400, 20260960),
}


def draw(catalog_id: int, groups: Iterable[str], excluded_groups: Iterable[str] = ()) -> list[str]:
    """The group ids of a benchmark that stay, sorted.

    Groups are shared out over their domains (the id's text before the first `:`) in proportion to size, by largest
    remainder with at least one each; one generator draws domain after domain.

    Args:
        groups: all group ids of the benchmark. excluded_groups: those with an excluded row, which are never drawn.

    Raises:
        SuiteError: the drawn ids are not the published ones, so the groups are not those of the suite.
    """
    subset = SUBSETS[catalog_id]
    pools: dict[str, list[str]] = {}
    for group in sorted(set(groups) - set(excluded_groups)):
        pools.setdefault(group.partition(":")[0], []).append(group)
    quotas = _quotas({domain: len(pool) for domain, pool in pools.items()}, subset.groups)
    generator = random.Random(subset.seed)
    drawn = sorted(group for domain in sorted(pools) for group in generator.sample(pools[domain], quotas[domain]))
    found = hashlib.sha256("\n".join(drawn).encode()).hexdigest()
    if subset.sha256 and found != subset.sha256:
        raise SuiteError(f"the subset of benchmark {catalog_id} has sha256 {found}, published is {subset.sha256}")
    return drawn


def _quotas(sizes: dict[str, int], seats: int) -> dict[str, int]:
    """Seats by domain. A domain whose share is below one gets one and takes no part in sharing out what is left over."""
    total = sum(sizes.values())
    lifted = {domain: 1 for domain, size in sizes.items() if seats * size < total}
    whole = {domain: seats * size // total for domain, size in sizes.items() if domain not in lifted}
    left = seats - len(lifted) - sum(whole.values())
    by_fraction = sorted(whole, key=lambda domain: (-(seats * sizes[domain] % total), domain))
    return lifted | {domain: whole[domain] + (domain in by_fraction[:left]) for domain in whole}
