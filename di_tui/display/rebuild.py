"""Displays of a rebuild: a table with a row per benchmark for people, one JSON object per line for programs."""

import threading
from dataclasses import asdict

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from di_tui.display.base import Display
from di_tui.display.run import duration, write_line
from di_tui.display.table import Column, fitting_table, shorten
from suite_builder import events
from suite_builder.catalog import benchmarks

NAME_WIDTH = 26
LICENCE_WIDTH = 30
COLUMNS = {
    "id": Column("#", "right"),
    "name": Column("Benchmark"),
    "sources": Column("Sources"),
    "normalize": Column("Normalize"),
    "freeze": Column("Freeze"),
    "licence": Column("Licence", from_width=110),
    "time": Column("Time", "right"),
}
STAGES = ("sources", "normalize", "freeze")


def rebuild_display(as_json: bool) -> Display:
    return JsonRebuildDisplay() if as_json else RichRebuildDisplay()


class RichRebuildDisplay(Display):
    """A table that redraws while benchmarks go through their stages."""

    def __init__(self) -> None:
        self.stages: dict[int, dict[str, events.Stage]] = {}
        self.downloads: dict[int, events.Download] = {}
        self._lock = threading.Lock()
        self.console = Console(highlight=False)
        self.live = Live(get_renderable=self._render, console=self.console, refresh_per_second=5)

    def __enter__(self) -> "RichRebuildDisplay":
        self.live.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.live.stop()

    def emit(self, event: events.Event) -> None:
        with self._lock:
            match event:
                case events.Stage():
                    self.stages.setdefault(event.catalog_id, {})[event.stage] = event
                case events.Download():
                    self.downloads[event.catalog_id] = event
                case events.Written():
                    state = "unchanged" if event.unchanged else "written"
                    partial = ", partial" if event.partial else ""
                    self.console.print(f"{event.directory}: {event.rows:,} rows {state}{partial}", soft_wrap=True)

    def _render(self) -> Table:
        with self._lock:
            return fitting_table(COLUMNS, [self._row(catalog_id) for catalog_id in self.stages], self.console.width)

    def _row(self, catalog_id: int) -> dict[str, Text | str]:
        benchmark, stages = benchmarks()[catalog_id], self.stages[catalog_id]
        return {
            "id": str(catalog_id),
            "name": shorten(benchmark.dataset, NAME_WIDTH),
            **{name: self._cell(catalog_id, stages.get(name)) for name in STAGES},
            "licence": shorten(benchmark.licence, LICENCE_WIDTH),
            "time": duration(sum(stage.seconds or 0 for stage in stages.values())),
        }

    def _cell(self, catalog_id: int, stage: events.Stage | None) -> Text:
        if stage is None or stage.state == "waiting":
            return Text("·", style="dim")
        if stage.state == "failed":
            return Text("✗ failed", style="red")
        if stage.state == "running":
            download = self.downloads.get(catalog_id)
            return Text(_received(download) if stage.stage == "sources" and download else "…", style="dim")
        return Text.assemble(("✓ ", "green"), _detail(stage))


def _received(download: events.Download) -> str:
    if download.total:
        return f"{download.received / download.total:.0%} of {megabytes(download.total)}"
    return megabytes(download.received)


def _detail(stage: events.Stage) -> str:
    if stage.stage == "sources":
        return megabytes(stage.size) if stage.size else ""
    # The hash of the normalized file is the published one; that of the frozen rows only follows from it.
    proof = f" {stage.sha256[:8]}…" if stage.stage == "normalize" and stage.sha256 else ""
    return f"{stage.records:,}{proof}"


def megabytes(size: int) -> str:
    """`0.3 MB`, decimal megabytes."""
    return f"{size / 1e6:,.1f} MB" if size >= 5e4 else f"{size / 1e3:,.0f} kB"


class JsonRebuildDisplay(Display):
    """Every stage that ends or fails, and what was written."""

    def emit(self, event: events.Event) -> None:
        match event:
            case events.Stage(state="done" | "failed"):
                write_line({"event": "stage", **asdict(event)})
            case events.Written():
                write_line({"event": "written", **asdict(event)})
