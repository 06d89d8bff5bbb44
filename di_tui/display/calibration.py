"""Shows the calibration of a run: errors and thresholds of every benchmark, and the reliability table of all fields."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from di_tui.display.export import print_csv, print_json, print_markdown
from di_tui.display.run import write_line
from di_tui.display.scores import bar
from di_tui.display.table import Column, fitting_table, shorten
from scoring.calibration import THRESHOLDS

NAME_WIDTH = 24
OVERALL = "all fields"
COLUMNS = {
    "id": Column("#", "right"),
    "name": Column("Benchmark"),
    "answered": Column("answered", "right", 88),
    "accuracy": Column("right", "right"),
    "confidence": Column("sure", "right"),
    "ece": Column("ECE", "right"),
    "brier": Column("Brier", "right"),
    **{f"at {threshold}": Column(f"≥ {threshold}", "right", 60 + 12 * place) for place, threshold in enumerate(THRESHOLDS)},
    "net": Column(f"net at {THRESHOLDS[-2]}", "right", 132),
}


def show_calibration(calibration: dict[str, Any], run: str, names: Mapping[int, str], output: str) -> None:
    """Print the calibration of a run.

    Args:
        calibration: see `scoring.calibration.of_run`. names: catalog id -> name.
        output: `table`, `json`, `line` (one JSON line), `csv` or `md`.
    """
    if output == "line":
        write_line({"event": "calibration", "run": run, **calibration})
    elif output == "json":
        print_json({"run": run, **calibration})
    elif output in ("csv", "md"):
        records = [_record(*own) for own in _reports(calibration, names)]
        print_csv(records) if output == "csv" else print_markdown(records)
    else:
        _print_tables(calibration, run, names)


def _reports(calibration: dict[str, Any], names: Mapping[int, str]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Id, name and report of every benchmark, and of all fields together last."""
    for catalog_id, report in calibration["benchmarks"].items():
        yield catalog_id, names[int(catalog_id)], report
    if calibration["overall"]:
        yield "", OVERALL, calibration["overall"]


def _record(catalog_id: str, name: str, report: dict[str, Any]) -> dict[str, Any]:
    own = {key: report[key] for key in ("fields", "answered", "accuracy", "confidence", "ece", "brier")}
    thresholds = {
        f"{key}_{row['threshold']}": row[key] for row in report["thresholds"] for key in ("coverage", "accuracy", "net_value")
    }
    return {"id": catalog_id, "name": name, **own, **thresholds}


def _print_tables(calibration: dict[str, Any], run: str, names: Mapping[int, str]) -> None:
    console = Console(highlight=False)
    console.print()
    console.print(Text.assemble(("Calibration", "bold"), f"  {run}"))
    console.print(fitting_table(COLUMNS, (_row(*own) for own in _reports(calibration, names)), console.width))
    console.print(
        "Under each threshold: share of all fields that are at least that sure, and how many of these are right.", style="dim"
    )
    if calibration["overall"]:
        console.print()
        console.print(_reliability(calibration["overall"]["reliability"]))


def _row(catalog_id: str, name: str, report: dict[str, Any]) -> dict[str, Text | str]:
    thresholds = report["thresholds"]
    return {
        "id": catalog_id,
        "name": Text(shorten(name, NAME_WIDTH), style="" if catalog_id else "bold"),
        "answered": f"{report['answered']:,}/{report['fields']:,}",
        **{key: _share(report[key]) for key in ("accuracy", "confidence", "ece", "brier")},
        **{f"at {row['threshold']}": f"{_percent(row['coverage'])} {_percent(row['accuracy'])}" for row in thresholds},
        "net": "–" if thresholds[-2]["net_value"] is None else f"{thresholds[-2]['net_value']:+.3f}",
    }


def _reliability(bins: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("sure", "answers", "mean", "right", ""):
        table.add_column(title, justify="left" if not title else "right", no_wrap=True)
    for row in bins:
        span = f"{row['from']:.2f} – {row['to']:.2f}"
        table.add_row(span, f"{row['n']:,}", _share(row["confidence"]), _share(row["accuracy"]), bar(row["accuracy"]))
    return table


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.0%}"
