"""Rows of the list of flips: requests that one run has right and the other wrong, each made when it comes into view."""

from collections.abc import Sequence
from typing import NamedTuple

from rich.text import Text

from di_tui.widgets.columns import Column
from di_tui.widgets.line_view import printable
from di_tui.widgets.request_rows import answer_cells, short_id
from di_tui.widgets.row_table import LazyRows, Row
from scoring.cases import Cases
from scoring.compare import Shared

COLUMNS = (
    Column("flip", "B", 6),
    Column("benchmark", "Benchmark", 14, grow=10),
    Column("run_id", "Request", 18, grow=40),
    Column("question", "Question", 12, drop=3, grow=10),
    Column("gold", "Gold", 10, grow=20),
    Column("prediction a", "A", 10, grow=20),
    Column("probability a", "Sure", 5, "right", drop=1),
    Column("prediction b", "B", 10, grow=20),
    Column("probability b", "Sure", 5, "right", drop=2),
)


class Flip(NamedTuple):
    """One request that changed sides. lost: A has it right and B wrong."""

    catalog_id: int
    dataset: str
    run_id: str
    lost: bool


def flips_of(benchmarks: Sequence[Shared]) -> list[Flip]:
    """All flips of some benchmarks, one benchmark after the other."""
    return [
        Flip(shared.catalog_id, shared.dataset, run_id, lost)
        for shared in benchmarks
        for lost, run_ids in ((True, shared.right_to_wrong), (False, shared.wrong_to_right))
        for run_id in run_ids
    ]


class FlipRows(LazyRows):
    """Rows of flips; a row's key is its run id. cases: of A and B."""

    def __init__(self, flips: Sequence[Flip], cases: tuple[Cases, Cases]):
        self.flips = flips
        self._cases = cases

    def __len__(self) -> int:
        return len(self.flips)

    def __getitem__(self, place: int) -> Row:
        flip = self.flips[place]
        return Row(flip.run_id, self._cells(flip))

    def place_of(self, key: str) -> int | None:
        return next((place for place, flip in enumerate(self.flips) if flip.run_id == key), None)

    def _cells(self, flip: Flip) -> dict[str, Text | str]:
        fields = [self._fields(cases, flip.run_id) for cases in self._cases]
        # The first question that made the difference; the others of the request may be right or wrong in both runs.
        wrong = self._cases[1 if flip.lost else 0]
        number = next(n for n, field in enumerate(fields[1 if flip.lost else 0]) if not wrong.hit[field])
        own = [
            answer_cells(cases, places[number], bool(cases.hit[places[number]]))
            for cases, places in zip(self._cases, fields, strict=True)
        ]
        return {
            "flip": Text("× lost" if flip.lost else "✓ won", style="bad" if flip.lost else "good"),
            "benchmark": flip.dataset,
            "run_id": short_id(flip.run_id),
            "question": printable(self._cases[0].gold.name(fields[0][number])),
            "gold": own[0]["gold"],
            **{f"{name} {run}": cells[name] for run, cells in zip("ab", own, strict=True) for name in ("prediction", "probability")},
        }

    @staticmethod
    def _fields(cases: Cases, run_id: str) -> range:
        position = cases.gold.places[run_id]
        return range(*cases.gold.starts[position : position + 2].tolist())
