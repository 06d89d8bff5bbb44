"""Shows a board: runs and published entrants by rank."""

from typing import Any

from rich.console import Console
from rich.text import Text

from di_tui.display.export import print_csv, print_json, print_markdown
from di_tui.display.run import latency, write_line
from di_tui.display.table import Column, fitting_table, shorten
from scoring.board import Board, Entrant

NAME_WIDTH = 28
COLUMNS = {
    "rank": Column("rank", "right"),
    "name": Column("entrant"),
    "index": Column("index", "right"),
    "interval": Column("95 % interval", "right"),
    "by_interval": Column("rank by interval", "right", 84),
    "raw": Column("raw", "right", 92),
    "breadth": Column("breadth", "right", 100),
    "coverage": Column("cov.", "right", 108),
    "median": Column("median", "right", 118),
    "note": Column(""),
}


def show_board(board: Board, output: str) -> None:
    """Print a board. output: `table`, `json`, `line` (one JSON line), `csv` or `md`."""
    records = list(map(_record, board.entrants))
    if output == "line":
        write_line({"event": "board", "edition": board.edition, "entrants": records})
    elif output == "json":
        print_json({"edition": board.edition, "entrants": records})
    elif output in ("csv", "md"):
        flat = [{key: value for key, value in record.items() if key != "interval"} for record in records]
        print_csv(flat) if output == "csv" else print_markdown(flat)
    else:
        _print_table(board)


def _record(entrant: Entrant) -> dict[str, Any]:
    low, high = entrant.interval or (None, None)
    return {**vars(entrant), "interval": entrant.interval and list(entrant.interval), "low": low, "high": high}


def _print_table(board: Board) -> None:
    console = Console(highlight=False)
    console.print()
    console.print(f"Decision Index {board.edition}", style="bold")
    console.print(fitting_table(COLUMNS, map(_row, board.entrants), console.width))
    console.print(
        "A rank opens when an entrant is more than 0.25 points below the one above it. By interval, a rank counts those whose"
        " whole interval lies above.",
        style="dim",
    )


def _row(entrant: Entrant) -> dict[str, Text | str]:
    return {
        "rank": f"{'=' if entrant.tied else ''}{entrant.rank}",
        "name": shorten(entrant.name, NAME_WIDTH),
        "index": Text(f"{entrant.index:.2f}", style="bold"),
        "interval": f"{entrant.interval.low:.2f} – {entrant.interval.high:.2f}" if entrant.interval else "–",
        "by_interval": str(entrant.rank_by_interval or "–"),
        "raw": _points(entrant.raw_index),
        "breadth": _points(entrant.breadth),
        "coverage": "–" if entrant.coverage is None else f"{entrant.coverage:.0%}",
        "median": latency(entrant.median_ms),
        "note": {True: "", False: Text("incomplete", style="yellow"), None: Text("published", style="dim")}[entrant.complete],
    }


def _points(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
