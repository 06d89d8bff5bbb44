"""Shows the editions: what each of them asks, counts and weighs."""

from typing import Any

from rich.console import Console
from rich.text import Text

from di_tui.display.run import write_line
from di_tui.display.table import Column, fitting_table
from scoring.editions import Edition, edition
from suite_builder.editions import editions

COLUMNS = {
    "id": Column("edition"),
    "index": Column("index"),
    "benchmarks": Column("counted", "right"),
    "results": Column("requests", "right"),
    "suite": Column("suite"),
    "areas": Column("areas: benchmarks × weight", "left", 100),
}
NAMES = {"balanced_raw": "raw", "balanced_skill": "skill"}


def show_editions(as_json: bool) -> None:
    """Print every edition as a JSON line, or all as a table."""
    known = [edition(edition_id) for edition_id in editions()]
    default = edition().id
    if as_json:
        for rules in known:
            write_line({"event": "edition", **_record(rules), "default": rules.id == default})
        return
    console = Console(highlight=False)
    console.print(fitting_table(COLUMNS, (_row(rules, default) for rules in known), console.width))
    console.print(f"{default} is the default. `di-tui score RUN --edition ID` scores a run again under another one.", style="dim")


def _record(rules: Edition) -> dict[str, Any]:
    published = rules.published
    areas = [
        {"id": area.id, "label": area.label, "weight": round(share, 6), "benchmarks": area.benchmarks}
        for area, share in zip(rules.areas, rules.shares(), strict=True)
    ]
    return {
        "id": rules.id,
        "release": published.release,
        "panel_id": rules.panel_id,
        "headline": rules.headline,
        "requests": published.requests,
        "scoreable": published.scoreable,
        "added_requests": published.added_requests,
        "benchmarks": published.benchmarks,
        "benchmarks_in_index": len(rules.panel),
        "areas": areas,
        "gold": sorted(rules.gold),
        "gold_weight": rules.gold_weight,
        "shown": list(rules.shown),
        "suite_dir": published.suite_dir,
        "files": {stem: file.sha256 for stem, file in published.files.items()},
    }


def _row(rules: Edition, default: str) -> dict[str, Text | str]:
    published = rules.published
    areas = (f"{area.id} {len(area.benchmarks)}×{share:.3f}" for area, share in zip(rules.areas, rules.shares(), strict=True))
    return {
        "id": Text(rules.id, style="bold" if rules.id == default else ""),
        "index": NAMES[rules.headline],
        "benchmarks": f"{len(rules.panel)}/{published.benchmarks}",
        "results": f"{published.scoreable + published.added_requests:,}",
        "suite": published.suite_dir,
        "areas": ", ".join(areas),
    }
