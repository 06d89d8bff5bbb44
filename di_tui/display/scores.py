"""Shows the scores of a run: the index, its areas, and every benchmark that has rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from di_tui.display.run import latency, write_line
from scoring.report import Scores
from suite_builder.suite import Suite

BAR_WIDTH = 12
NAME_WIDTH = 27
METRIC_WIDTH = 24


class Column(NamedTuple):
    """A column of the table, shown from a terminal width on."""

    title: str
    justify: Literal["left", "right"]
    from_width: int = 0


COLUMNS = {
    "id": Column("#", "right"),
    "name": Column("Area / benchmark", "left"),
    "answered": Column("answered", "right"),
    "metric": Column("metric", "left", 136),
    "raw": Column("raw", "right"),
    "chance": Column("chance", "right"),
    "skill": Column("skill", "right"),
    "bar": Column("", "left", 96),
    "coverage": Column("coverage", "right"),
    "median": Column("median", "right", 108),
}


def show_scores(scores: Scores, suite: Suite, out: Path, as_json: bool) -> None:
    """Print the result of a scoring as one JSON line, or as a table and what to know about it."""
    document = scores.scores
    if as_json:
        summary = {key: document.get(key) for key in ("engine", "edition", "decision_index", "raw_index", "complete", "counts")}
        write_line({"event": "scored", **summary, "partial_suite": suite.partial, "warnings": scores.warnings, "out": str(out)})
        return
    console = Console()
    console.print()
    console.print(_headline(document))
    console.print(_table(document, console.width))
    console.print(_footer(document))
    for warning in [*_about_missing(document, suite), *scores.warnings]:
        console.print(Text(f"! {warning}", style="yellow"))
    console.print(f"scores.json, index.json, benchmark-summary.json and cases.parquet are in {out}", soft_wrap=True)


def _headline(document: dict[str, Any]) -> Text:
    edition = document.get("edition", "0.1")
    line = Text.assemble((f"Decision Index {edition}: {document['decision_index']:.2f}", "bold"), f"  {document['engine']}")
    if "raw_index" in document:
        line.append(f"  raw {document['raw_index']:.2f}  breadth {document['scores']['breadth_skill']:.2f}")
    return line


def _table(document: dict[str, Any], width: int) -> Table:
    columns = {key: column for key, column in COLUMNS.items() if width >= column.from_width}
    table = Table(box=None, pad_edge=False)
    for column in columns.values():
        table.add_column(column.title, justify=column.justify, no_wrap=True)
    for row in _rows(document):
        table.add_row(*(row.get(key, "") for key in columns))
    return table


def _rows(document: dict[str, Any]) -> Iterator[dict[str, Text | str]]:
    """Cells by column: each area with its benchmarks that have rows, then what is not counted."""
    present = {int(key): entry for key, entry in document["benchmarks"].items() if entry["requests"]}
    for area in document["areas"]:
        members = [catalog_id for catalog_id in area["benchmarks"] if catalog_id in present]
        if members:
            yield _area_row(area, len(members))
            yield from (_benchmark_row(present.pop(catalog_id)) for catalog_id in members)
    if present:
        yield {"name": Text("shown, not counted", style="bold")}
        yield from map(_benchmark_row, present.values())


def _area_row(area: dict[str, Any], present: int) -> dict[str, Text | str]:
    name = Text(area["label"], style="bold")
    if present < area["n"]:
        name.append(f" {present}/{area['n']}", style="dim")
    return {"name": name, "skill": _share(area["skill"]), "bar": bar(area["skill"]), "coverage": f"{area['coverage']:.0%}"}


def _benchmark_row(entry: dict[str, Any]) -> dict[str, Text | str]:
    skill, coverage = entry.get("index_skill"), entry.get("coverage")
    return {
        "id": str(entry["catalog_id"]),
        "name": f"  {_short(entry['dataset'], NAME_WIDTH - 2)}",
        "answered": f"{entry['answered']:,}/{entry['requests']:,}",
        "metric": _short(entry["metric"] or "–", METRIC_WIDTH),
        "raw": _share(entry.get("index_raw", entry["score"])),
        "chance": _share(entry.get("chance")),
        "skill": _share(skill),
        "bar": bar(skill),
        "coverage": "–" if coverage is None else f"{coverage:.0%}",
        "median": latency(entry["median_ms"]),
    }


def _short(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def bar(share: float | None) -> str:
    """A bar for a share of 1, filled from the left."""
    filled = round(BAR_WIDTH * min(max(share or 0.0, 0.0), 1.0))
    return "▇" * filled + "▁" * (BAR_WIDTH - filled)


def _footer(document: dict[str, Any]) -> str:
    counts = ", ".join(f"{count:,} {status}" for status, count in document["counts"].items()) or "no results"
    times = document["latency_ms"]
    return f"{counts}; latency median {latency(times['median'])}, p95 {latency(times['p95'])}"


def _about_missing(document: dict[str, Any], suite: Suite) -> list[str]:
    wanted = {catalog_id for area in document["areas"] for catalog_id in area["benchmarks"]}
    present = {int(key) for key, entry in document["benchmarks"].items() if entry["requests"]}
    notes = []
    if wanted - present:
        notes.append(
            f"{len(wanted - present)} of {len(wanted)} benchmarks of the index have no rows here and count as 0: "
            "this is not a score of the edition"
        )
    elif suite.partial:
        notes.append(f"{suite.name} is not the whole suite: this is not a score of the edition")
    return notes
