"""Shows the scores of a run: the index, its areas, and every benchmark that has rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from di_tui.display.run import latency, write_line
from di_tui.display.table import Column, fitting_table, shorten
from suite_builder.suite import Suite

if TYPE_CHECKING:
    from scoring.report import Scores

KEYS = ("engine", "edition", "decision_index", "raw_index", "interval", "complete", "counts")
BAR_WIDTH = 12
HEADLINES = ("balanced_skill", "balanced_raw")  # the latter of edition 0.1
NAME_WIDTH = 24
METRIC_WIDTH = 24


COLUMNS = {
    "id": Column("#", "right"),
    "name": Column("Area / benchmark"),
    "answered": Column("answered", "right"),
    "metric": Column("metric", "left", 164),
    "raw": Column("raw", "right"),
    "fields": Column("fields", "right"),
    "chance": Column("chance", "right"),
    "skill": Column("skill", "right"),
    "interval": Column("95 % interval", "right", 112),
    "bar": Column("", "left", 126),
    "coverage": Column("cov.", "right"),
    "median": Column("median", "right", 96),
}


def show_scores(scores: "Scores", suite: Suite, out: Path | None, as_json: bool) -> None:
    """Print the result of a scoring as one JSON line, or as a table and what to know about it.

    Args:
        out: the folder that the score files were written to, None where none were asked for.
    """
    document = scores.scores
    if as_json:
        summary = {key: document.get(key) for key in KEYS} | {"partial_suite": suite.partial, "warnings": scores.warnings}
        write_line({"event": "scored", **summary, "out": out and str(out)})
        return
    console = Console(highlight=False)
    console.print()
    console.print(_headline(document))
    console.print(fitting_table(COLUMNS, _rows(scores), console.width))
    console.print(_footer(document))
    for warning in scores.warnings:
        console.print(Text(f"! {warning}", style="yellow"), soft_wrap=True)
    if out:
        console.print(f"scores.json, index.json, benchmark-summary.json and cases.parquet are in {out}", soft_wrap=True)


def _headline(document: dict[str, Any]) -> Text:
    edition = document.get("edition", "0.1")
    line = Text.assemble((f"Decision Index {edition}: {document['decision_index']:.2f}", "bold"))
    if "interval" in document:
        low, high = document["interval"][HEADLINES[edition == "0.1"]]
        line.append(f" ({low:.2f} – {high:.2f})")
    line.append(f"  {document['engine']}")
    if "raw_index" in document:
        line.append(f"  raw {document['raw_index']:.2f}  breadth {document['scores']['breadth_skill']:.2f}")
    return line


def _rows(scores: "Scores") -> Iterator[dict[str, Text | str]]:
    """Cells by column: each area with its benchmarks that have rows, then what is not counted."""
    fields = {entry["catalog_id"]: entry.get("detail", {}).get("field_accuracy") for entry in scores.summary["benchmarks"]}
    present = {
        int(key): {**entry, "fields": fields.get(int(key))}
        for key, entry in scores.scores["benchmarks"].items()
        if entry["requests"]
    }
    for area in scores.scores["areas"]:
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
    return {
        "name": name,
        "skill": _share(area["skill"]),
        "interval": _interval(area),
        "bar": bar(area["skill"]),
        "coverage": f"{area['coverage']:.0%}",
    }


def _benchmark_row(entry: dict[str, Any]) -> dict[str, Text | str]:
    skill, coverage = entry.get("index_skill"), entry.get("coverage")
    return {
        "id": str(entry["catalog_id"]),
        "name": f"  {shorten(entry['dataset'], NAME_WIDTH - 2)}",
        "answered": f"{entry['answered']:,}/{entry['requests']:,}",
        "metric": shorten(entry["metric"] or "–", METRIC_WIDTH),
        "raw": _share(entry.get("index_raw", entry["score"])),
        "fields": _share(entry["fields"]),
        "chance": _share(entry.get("chance")),
        "skill": _share(skill),
        "interval": _interval(entry),
        "bar": bar(skill),
        "coverage": "–" if coverage is None else f"{coverage:.0%}",
        "median": latency(entry["median_ms"]),
    }


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(entry: dict[str, Any]) -> str:
    """Interval of the skill."""
    return " – ".join(map(_share, entry["interval"]["skill"])) if "interval" in entry else "–"


def bar(share: float | None) -> str:
    """A bar for a share of 1, filled from the left."""
    filled = round(BAR_WIDTH * min(max(share or 0.0, 0.0), 1.0))
    return "▇" * filled + "▁" * (BAR_WIDTH - filled)


def _footer(document: dict[str, Any]) -> str:
    counts = ", ".join(f"{count:,} {status}" for status, count in document["counts"].items()) or "no results"
    times = document["latency_ms"]
    batched = " (batched)" if document.get("latency_mode") == "batched" else ""
    return f"{counts}; latency{batched} median {latency(times['median'])}, p95 {latency(times['p95'])}"

