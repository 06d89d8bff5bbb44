"""Which columns of a table fit a width, and how wide each is. Knows no widget."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

GAP = 2


@dataclass(frozen=True)
class Column:
    """One column. width: cells it needs. drop: those with the highest number go first where room is short; 0 always stays.
    grow: most cells it takes of the room that is left (0: none)."""

    key: str
    title: str
    width: int
    justify: Literal["left", "right"] = "left"
    drop: int = 0
    grow: int = 0


def fit(columns: Sequence[Column], width: int) -> list[tuple[Column, int]]:
    """The columns that are shown in `width` cells, in their order, each with its width."""
    shown = list(columns)
    while _needed(shown) > width and (droppable := [column for column in shown if column.drop]):
        shown.remove(max(droppable, key=lambda column: column.drop))
    spare = max(width - _needed(shown), 0)
    fitted = []
    for column in shown:
        more = min(column.grow, spare)
        spare -= more
        fitted.append((column, column.width + more))
    return fitted


def _needed(columns: Sequence[Column]) -> int:
    return sum(column.width for column in columns) + GAP * max(len(columns) - 1, 0)
