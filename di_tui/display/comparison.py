"""Shows the comparison of two runs: values, differences with their intervals, verdicts, and what changed sides."""

import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from di_tui.display.export import csv_text, json_text, markdown_text
from di_tui.display.run import latency, write_line
from di_tui.display.table import Column, fitting_table, shorten
from scoring.compare import BETTER, UNDECIDED, WORSE, AreaDifference, Comparison, Difference, Shared

NAME_WIDTH = 22
VERDICTS = {BETTER: ("▲", "green"), WORSE: ("▼", "red"), UNDECIDED: ("≈", "dim")}
COLUMNS = {
    "id": Column("#", "right"),
    "name": Column("Area / benchmark"),
    "a": Column("A", "right"),
    "b": Column("B", "right"),
    "difference": Column("B − A", "right"),
    "interval": Column("95 % interval", "right"),
    "verdict": Column("B is"),
    "requests": Column("shared", "right", 96),
    "coverage": Column("answered A/B", "right", 112),
    "flips": Column("lost/won", "right", 126),
    "agreement": Column("agree", "right", 136),
    "median": Column("median A/B", "right", 156),
}


def show_comparison(comparison: Comparison, output: str, flips: bool) -> None:
    """Print a comparison.

    Args:
        output: `table`, `json`, `line` (one JSON line), `csv` or `md`. flips: list the requests that changed sides.
    """
    if output == "line":
        write_line({"event": "compared", **comparison.record()})
    elif output == "table":
        _print_table(comparison, flips)
    else:
        sys.stdout.write(comparison_text(comparison, output, flips))


def comparison_text(comparison: Comparison, output: str, flips: bool = False) -> str:
    """A comparison for other programs, or only its flips as records.

    Args:
        output: `json` (always all of it), `csv` or `md`.
    """
    if output == "json":
        return json_text(comparison.record())
    records = list(_flips(comparison) if flips else _records(comparison))
    return csv_text(records) if output == "csv" else markdown_text(records)


def _records(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """One flat record a score (in points), area (skill) and benchmark (raw value)."""
    for name, score in comparison.scores.items():
        yield _record("score", name, name, score)
    for area in comparison.areas:
        yield _record("area", area.id, area.label, area.skill)
    for shared in comparison.benchmarks:
        yield _record("benchmark", str(shared.catalog_id), shared.dataset, shared.raw, shared)


def _record(level: str, key: str, name: str, value: Difference, shared: Shared | None = None) -> dict[str, Any]:
    facts = {
        "requests": shared and shared.requests,
        "answered_a": shared and shared.coverage[0],
        "answered_b": shared and shared.coverage[1],
        "right_to_wrong": shared and len(shared.right_to_wrong),
        "wrong_to_right": shared and len(shared.wrong_to_right),
        "agreement": shared and shared.agreement,
        "median_ms_a": shared and shared.median_ms[0],
        "median_ms_b": shared and shared.median_ms[1],
    }
    own = {"level": level, "id": key, "name": name, "a": value.a, "b": value.b, "difference": value.difference}
    return {**own, "low": value.interval.low, "high": value.interval.high, "verdict": value.verdict, **facts}


def _flips(comparison: Comparison) -> Iterator[dict[str, Any]]:
    for shared in comparison.benchmarks:
        for flip, run_ids in (("right_to_wrong", shared.right_to_wrong), ("wrong_to_right", shared.wrong_to_right)):
            for run_id in run_ids:
                yield {"benchmark": shared.catalog_id, "dataset": shared.dataset, "flip": flip, "run_id": run_id}


def _print_table(comparison: Comparison, flips: bool) -> None:
    console = Console(highlight=False)
    console.print()
    a, b = comparison.names
    console.print(Text.assemble(("A ", "bold"), a, ("   B ", "bold"), b, f"   edition {comparison.edition}"))
    console.print(fitting_table(COLUMNS, _rows(comparison), console.width))
    published = " and ".join(f"{index:.2f}" for index in comparison.published)
    console.print(
        f"Over requests that both answered, as whole groups, on {comparison.draws:,} paired resamples;"
        f" {comparison.counted} of {comparison.panel} benchmarks of the index have some."
        f" As published, with unanswered requests wrong, the index is {published}.",
        style="dim",
    )
    overlap = comparison.overlap
    console.print(
        f"{overlap.requests:,} of {overlap.of:,} requests; the same answer in {overlap.agreement:.0%} of their fields;"
        f" A answered {overlap.coverage[0]:.0%}, B {overlap.coverage[1]:.0%};"
        f" median A {latency(overlap.median_ms[0])}, B {latency(overlap.median_ms[1])}.",
        style="dim",
    )
    console.print("Of twenty benchmarks without any difference, an interval of 95 % still calls about one.", style="dim")
    if flips:
        for record in _flips(comparison):
            console.print(f"{record['benchmark']:>3} {record['flip'].replace('_', ' ')}  {record['run_id']}", soft_wrap=True)


def _rows(comparison: Comparison) -> Iterator[dict[str, Text | str]]:
    """Cells by column: the scores, each area with its benchmarks, then what is not counted."""
    for name, score in comparison.scores.items():
        title = name.replace("_", " ")
        title = Text(f"index ({title})", "bold") if name == comparison.headline else Text(title)
        yield {"name": title, **_difference_cells(score, 2)}
    left = {shared.catalog_id: shared for shared in comparison.benchmarks}
    for area in comparison.areas:
        yield _area_row(area)
        yield from (_benchmark_row(left.pop(catalog_id)) for catalog_id in area.benchmarks)
    if left:
        yield {"name": Text("shown, not counted", style="bold")}
        yield from map(_benchmark_row, left.values())


def _area_row(area: AreaDifference) -> dict[str, Text | str]:
    part = f" {len(area.benchmarks)}/{area.of}" if len(area.benchmarks) < area.of else ""
    name = Text.assemble((shorten(area.label, NAME_WIDTH - len(part)), "bold"), (part, "dim"))
    return {"name": name, **_difference_cells(area.skill, 3)}


def _benchmark_row(shared: Shared) -> dict[str, Text | str]:
    return {
        "id": str(shared.catalog_id),
        "name": f"  {shorten(shared.dataset, NAME_WIDTH - 2)}",
        **_difference_cells(shared.raw, 3),
        "requests": f"{shared.requests:,}",
        "coverage": "/".join(f"{share:.0%}" for share in shared.coverage),
        "flips": f"{len(shared.right_to_wrong):,}/{len(shared.wrong_to_right):,}",
        "agreement": f"{shared.agreement:.0%}",
        "median": " / ".join(map(latency, shared.median_ms)),
    }


def _difference_cells(value: Difference, digits: int) -> dict[str, Text | str]:
    symbol, style = VERDICTS[value.verdict]
    return {
        "a": f"{value.a:.{digits}f}",
        "b": f"{value.b:.{digits}f}",
        "difference": f"{value.difference:+.{digits}f}",
        "interval": f"{value.interval.low:+.{digits}f} {value.interval.high:+.{digits}f}",
        "verdict": Text(f"{symbol} {value.verdict}", style=style),
    }
