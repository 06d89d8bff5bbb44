"""Displays of a rebuild: a table with a row per benchmark for people, one JSON object per line for programs."""

import threading
from dataclasses import asdict

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from di_tui.display.base import Display, interactive
from di_tui.display.run import duration, write_line
from suite_builder import events
from suite_builder.catalog import benchmarks

STAGES = ("sources", "normalize", "freeze")


def rebuild_display(as_json: bool) -> Display:
    return RichRebuildDisplay() if interactive(as_json) else JsonRebuildDisplay()


class RichRebuildDisplay(Display):
    """A table that redraws while benchmarks go through their stages."""

    def __init__(self) -> None:
        self.stages: dict[int, dict[str, events.Stage]] = {}
        self.downloads: dict[int, events.Download] = {}
        self._lock = threading.Lock()
        self.console = Console()
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
                    rows = ", ".join(f"{name} {count:,} rows" for name, count in event.rows.items())
                    state = "unchanged" if event.unchanged else "written"
                    self.console.print(f"{event.directory} {state}{' (partial)' if event.partial else ''}: {rows}")

    def _render(self) -> Table:
        table = Table("#", "Benchmark", "Sources", "Normalize", "Freeze", "Licence", "Time", box=None, pad_edge=False)
        table.columns[0].justify = table.columns[6].justify = "right"
        table.columns[1].no_wrap = True
        with self._lock:
            for catalog_id, stages in self.stages.items():
                benchmark = benchmarks()[catalog_id]
                seconds = sum(stage.seconds or 0 for stage in stages.values())
                cells = [self._cell(catalog_id, stages.get(name)) for name in STAGES]
                table.add_row(str(catalog_id), benchmark.dataset, *cells, benchmark.licence, duration(seconds))
        return table

    def _cell(self, catalog_id: int, stage: events.Stage | None) -> Text:
        if stage is None or stage.state == "waiting":
            return Text("·", style="dim")
        if stage.state == "failed":
            return Text(f"✗ {stage.reason}", style="red")
        if stage.state == "running":
            download = self.downloads.get(catalog_id)
            return Text(_received(download) if stage.stage == "sources" and download else "…", style="dim")
        return Text.assemble(("✓ ", "green"), _detail(stage))


def _received(download: events.Download) -> str:
    if download.total:
        return f"{download.received / download.total:.0%} of {megabytes(download.total)}"
    return megabytes(download.received)


def _detail(stage: events.Stage) -> str:
    if stage.records is None:
        return megabytes(stage.size) if stage.size else "none needed"
    proof = {True: f" = {stage.sha256[:8]}…", False: " ≠ published", None: ""}[stage.matches] if stage.sha256 else ""
    return f"{stage.records:,}{proof}"


def megabytes(size: int) -> str:
    """`0.3 MB`, decimal megabytes."""
    return f"{size / 1e6:,.1f} MB"


class JsonRebuildDisplay(Display):
    """Every stage that ends or fails, and what was written."""

    def emit(self, event: events.Event) -> None:
        match event:
            case events.Stage(state="done" | "failed"):
                write_line({"event": "stage", **asdict(event)})
            case events.Written():
                write_line({"event": "written", **asdict(event)})
