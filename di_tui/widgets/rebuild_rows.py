"""Rows of the rebuild table: a benchmark with a cell for each stage."""

from collections.abc import Collection, Iterable

from rich.text import Text

from di_tui.display.rebuild import megabytes
from di_tui.display.run import duration
from di_tui.rebuild_state import BenchmarkState
from di_tui.shapes import bar
from di_tui.widgets.columns import Column
from di_tui.widgets.row_table import Row
from suite_builder.catalog import benchmarks
from suite_builder.events import Stage

BAR = 4
COLUMNS = (
    Column("number", "#", 2, "right"),
    Column("name", "Benchmark", 18, grow=6),
    Column("sources", "Download", 18, grow=2),
    Column("normalize", "Normalize", 9),
    Column("freeze", "Verify", 11, grow=2),
    Column("licence", "Licence", 18, drop=2, grow=200),
    Column("time", "Time", 6, "right", drop=1),
)
WAITING = Text("·", style="muted")


def rebuild_rows(shown: Iterable[BenchmarkState], again: Collection[int]) -> list[Row]:
    """A row a benchmark.

    Args:
        again: catalog ids that failed and are to be tried once more.
    """
    return [Row(one.catalog_id, _cells(one, one.catalog_id in again)) for one in shown]


def _cells(one: BenchmarkState, again: bool) -> dict[str, Text | str]:
    facts = benchmarks()[one.catalog_id]
    cells: dict[str, Text | str] = {
        "number": str(one.catalog_id),
        "name": Text(facts.dataset, style="bold" if one.running else ""),
        "sources": _download(one),
        "normalize": _normalize(one),
        "freeze": _verify(one),
        "licence": Text(facts.licence, style="muted"),
        "time": duration(one.seconds) if one.seconds else Text("kept" if one.kept else "", style="muted"),
    }
    if one.failed:
        cells[one.last.stage] = Text("… again", style="warning") if again else Text("× failed", style="bad")
        cells["licence"] = Text(one.last.reason or "", style="bad")
    return cells


def _download(one: BenchmarkState) -> Text:
    stage = one.stages.get("sources")
    if stage is None or stage.state in ("waiting", "failed"):
        return WAITING
    if stage.state == "done":
        return Text.assemble(("✓", "good"), f" {megabytes(stage.size)}" if stage.size else "")
    if not one.received:
        return Text("…", style="accent")
    if not one.total:
        return Text(f"… {megabytes(one.received)}", style="accent")
    share = one.received / one.total
    rate = f" {megabytes(one.rate)}/s" if one.rate else ""
    return Text.assemble((bar(share, BAR), "accent"), f" {share:.0%}{rate}")


def _normalize(one: BenchmarkState) -> Text:
    """The rows made; an added benchmark has no normalized file, its rows are counted when they are frozen."""
    return _records(one.stages.get("normalize") or (one.stages.get("freeze") if benchmarks()[one.catalog_id].added else None))


def _records(stage: Stage | None) -> Text:
    if stage is None or stage.state in ("waiting", "failed"):
        return WAITING
    if stage.state == "running":
        return Text("…", style="accent")
    return Text.assemble(("✓", "good"), f" {stage.records:,}")


def _verify(one: BenchmarkState) -> Text:
    """The published checksum where there is one: that of the normalized file, else of the frozen rows."""
    stage = one.stages.get("freeze")
    if stage is None or stage.state in ("waiting", "failed"):
        return WAITING
    if stage.state == "running":
        return Text("…", style="accent")
    normalized = one.stages.get("normalize")
    if stage.matches is None and not normalized:
        return Text("– no hash", style="muted")
    sha256 = (normalized or stage).sha256
    return Text.assemble(("✓", "good"), f" {sha256[:8]}…" if sha256 else f" {len(benchmarks()[one.catalog_id].normalized)} files")
