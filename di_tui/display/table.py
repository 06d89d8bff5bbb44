"""Tables that fit the terminal: a column has a width from which on it is shown."""

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from rich.table import Table
from rich.text import Text


class Column(NamedTuple):
    """One column, shown from a terminal width on."""

    title: str
    justify: Literal["left", "right"] = "left"
    from_width: int = 0


def fitting_table(columns: Mapping[str, Column], rows: Iterable[Mapping[str, Text | str]], width: int) -> Table:
    """A table of the columns that fit; a row maps column names to cells and may leave some out."""
    shown = {name: column for name, column in columns.items() if width >= column.from_width}
    table = Table(box=None, pad_edge=False)
    for column in shown.values():
        table.add_column(column.title, justify=column.justify, no_wrap=True)
    for row in rows:
        table.add_row(*(row.get(name, "") for name in shown))
    return table


def shorten(text: str, width: int) -> str:
    """A text cut to a width, with an ellipsis where something is missing."""
    return text if len(text) <= width else f"{text[: width - 1]}…"
