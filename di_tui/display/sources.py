"""Shows the pinned sources of the suite and what of them is there."""

from collections.abc import Sequence
from dataclasses import asdict

from rich.console import Console
from rich.text import Text

from di_tui.display.rebuild import megabytes
from di_tui.display.run import write_line
from di_tui.display.table import Column, fitting_table, shorten
from suite_builder.inventory import SourceState

COLUMNS = {
    "id": Column("#", "right"),
    "dataset": Column("Benchmark", from_width=108),
    "kind": Column("Kind"),
    "repository": Column("Repository"),
    "revision": Column("Revision", from_width=118),
    "files": Column("Files", "right"),
    "size": Column("Size", "right"),
    "state": Column("State"),
    "instead": Column("There instead", from_width=145),
    "licence": Column("Licence", from_width=176),
}
STATES = {"present": ("✓", "green"), "missing": ("·", "dim"), "gated": ("×", "yellow")}


def show_sources(states: Sequence[SourceState], as_json: bool) -> None:
    """Print a line per source and the total still to download."""
    total = {
        "to_download": sum(state.to_download for state in states),
        "unknown": sum(state.unknown for state in states),
        "gated": sum(state.state == "gated" for state in states),
    }
    if as_json:
        for state in states:
            write_line({"event": "source", **asdict(state)})
        write_line({"event": "sources", **total})
        return
    console = Console(highlight=False)
    console.print(fitting_table(COLUMNS, map(_row, states), console.width))
    print(f"\nstill to download: {megabytes(total['to_download'])}", end="")
    print(f" and {total['unknown']} files of unknown size" if total["unknown"] else "")
    if total["gated"]:
        print("gated: accept the terms on the page of each, then run `hf auth login` or set HF_TOKEN")


def _row(state: SourceState) -> dict[str, Text | str]:
    symbol, style = STATES[state.state]
    return {
        "id": str(state.catalog_id),
        "dataset": shorten(state.dataset, 26),
        "kind": state.kind,
        "repository": shorten(state.repository.removeprefix("https://"), 36),
        "revision": (state.revision or "–")[:7],
        "files": f"{state.present}/{state.files or '?'}",
        "size": megabytes(state.size) if state.size else "?",
        "state": Text(f"{symbol} {state.state}", style=style),
        "instead": shorten(state.instead or "", 26),
        "licence": shorten(state.licence, 30),
    }
