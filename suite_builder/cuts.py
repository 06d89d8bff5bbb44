"""Which rows of a benchmark an edition reads. The row files stay whole; a cut applies when rows are read."""

from dataclasses import dataclass
from functools import cache

from suite_builder.data_files import load_lines


@dataclass(frozen=True)
class Cut:
    """A rule by name and what it needs: the data file that lists what stays, or a prefix."""

    keep: str
    by: str | None = None

    def keeps(self, row) -> bool:
        """Whether `row` (anything with `run_id`, `group_id` and `scoring`) stays."""
        return RULES[self.keep](row, self.by)


@cache
def _listed(name: str) -> frozenset[str]:
    return frozenset(load_lines(name))


def _answerable(row, _by) -> bool:
    """A retrieval query stays when at least one candidate that can be ranked is relevant."""
    block = row.scoring
    return any(block["qrels"].get(document, 0) > 0 for document in block["scorable_ids"])


RULES = {
    "listed groups": lambda row, name: row.group_id in _listed(name),
    "listed run ids": lambda row, name: row.run_id in _listed(name),
    "answerable queries": _answerable,
    "run ids that begin": lambda row, prefix: row.run_id.startswith(prefix),
    "nothing": lambda row, _by: False,
}
