"""Displays of a rebuild: a table with a row per benchmark for people, one JSON object per line for programs."""

import threading
import time
from dataclasses import asdict

from rich.console import Console, Group
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
SECONDS_BETWEEN_DOWNLOAD_LINES = 5.0


class Traffic:
    """What of the sources has arrived, by benchmark and file. coming: catalog id -> bytes as planned."""

    def __init__(self) -> None:
        self.coming: dict[int, int] = {}
        self.files: dict[int, dict[str, events.Download]] = {}
        self._before = 0  # bytes that an earlier call had received
        self._began = 0.0

    def take(self, event: events.Download) -> None:
        if not self.files:
            self._began = time.monotonic()
        known = self.files.setdefault(event.catalog_id, {})
        if event.path not in known:
            self._before += event.received
        known[event.path] = event

    def received(self, catalog_id: int) -> int:
        return sum(file.received for file in self.files.get(catalog_id, {}).values())

    def total(self, catalog_id: int) -> int:
        """Bytes to expect: what was planned, or what the servers say where that is more."""
        told = sum(file.total or file.received for file in self.files.get(catalog_id, {}).values())
        return max(self.coming.get(catalog_id, 0), told)

    def summary(self) -> dict[str, float | None]:
        """Bytes received and expected, bytes per second of this call, seconds left."""
        received = sum(map(self.received, self.files))
        total = sum(map(self.total, self.coming.keys() | self.files.keys()))
        elapsed = time.monotonic() - self._began
        rate = max(0, received - self._before) / elapsed if elapsed else 0.0
        return {"received": received, "total": total, "rate": rate, "eta": (total - received) / rate if rate else None}


def rebuild_display(as_json: bool) -> Display:
    return JsonRebuildDisplay() if as_json else RichRebuildDisplay()


class RichRebuildDisplay(Display):
    """A table that redraws while benchmarks go through their stages."""

    def __init__(self) -> None:
        self.stages: dict[int, dict[str, events.Stage]] = {}
        self.traffic = Traffic()
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
                case events.Planned():
                    self.traffic.coming = event.download
                case events.Download():
                    self.traffic.take(event)
                case events.Written():
                    state = "unchanged" if event.unchanged else "written"
                    partial = ", partial" if event.partial else ""
                    self.console.print(f"{event.directory}: {event.rows:,} rows {state}{partial}", soft_wrap=True)

    def _render(self) -> Group | Table:
        with self._lock:
            table = fitting_table(COLUMNS, [self._row(catalog_id) for catalog_id in self.stages], self.console.width)
            return Group(self._summary(), table) if len(self.stages) > 1 else table

    def _summary(self) -> Text:
        last = [list(stages.values())[-1] for stages in self.stages.values()]
        done = sum((stage.stage, stage.state) == ("freeze", "done") for stage in last)
        line = Text(f"{done}/{len(last)} done")
        if failed := sum(stage.state == "failed" for stage in last):
            line.append(f"  {failed} failed", style="red")
        if self.traffic.files:
            facts = self.traffic.summary()
            line.append(f"  {megabytes(facts['received'])} of {megabytes(facts['total'])}")
            line.append(f"  {megabytes(facts['rate'])}/s  ETA {duration(facts['eta'])}")
        return line

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
            return Text("× failed", style="red")
        if stage.state == "running":
            arriving = stage.stage == "sources" and catalog_id in self.traffic.files
            return Text(self._received(catalog_id) if arriving else "…", style="dim")
        return Text.assemble(("✓ ", "green"), _detail(stage))

    def _received(self, catalog_id: int) -> str:
        received, total = self.traffic.received(catalog_id), self.traffic.total(catalog_id)
        return f"{received / total:.0%} of {megabytes(total)}" if total else megabytes(received)


def _detail(stage: events.Stage) -> str:
    if stage.stage == "sources":
        return megabytes(stage.size) if stage.size else ""
    # The hash of the normalized file is the published one; that of the frozen rows only follows from it.
    proof = f" {stage.sha256[:8]}…" if stage.stage == "normalize" and stage.sha256 else ""
    return f"{stage.records:,}{proof}"


def megabytes(size: float) -> str:
    """`0.3 MB`, in decimal units."""
    if size >= 1e9:
        return f"{size / 1e9:,.1f} GB"
    return f"{size / 1e6:,.1f} MB" if size >= 5e4 else f"{size / 1e3:,.0f} kB"


class JsonRebuildDisplay(Display):
    """Every stage that ends or fails, what was written, and now and then how the downloads go."""

    def __init__(self) -> None:
        self.traffic = Traffic()
        self._last_download = time.monotonic()

    def emit(self, event: events.Event) -> None:
        match event:
            case events.Planned():
                self.traffic.coming = event.download
            case events.Download():
                self.traffic.take(event)
                if time.monotonic() - self._last_download >= SECONDS_BETWEEN_DOWNLOAD_LINES:
                    self._last_download = time.monotonic()
                    write_line({"event": "download", **self.traffic.summary()})
            case events.Stage(state="done" | "failed"):
                write_line({"event": "stage", **asdict(event)})
            case events.Written():
                write_line({"event": "written", **asdict(event)})
