"""Displays of a run: a progress bar for people, one JSON object per line for programs."""

import sys
import time
from datetime import UTC, datetime
from typing import Any

import orjson
from rich.console import Console
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from di_tui.display.base import Display
from di_tui.monitor import Monitor, Snapshot
from engines import events

SECONDS_BETWEEN_PROGRESS_LINES = 1.0
STATUS_STYLES = {"ok": ("✓", "green"), "unsupported": ("–", "yellow"), "abstained": ("○", "yellow"), "error": ("×", "red")}


def run_display(as_json: bool) -> Display:
    return JsonRunDisplay() if as_json else RichRunDisplay()


class RichRunDisplay(Display):
    """Two lines that redraw: progress with time left, and rate, latency and counts by status."""

    def __init__(self) -> None:
        self.monitor = Monitor()
        self.console = Console(highlight=False)
        self.live = Live(get_renderable=self._render, console=self.console, refresh_per_second=5)

    def __enter__(self) -> "RichRunDisplay":
        self.live.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.live.stop()

    def emit(self, event: events.Event) -> None:
        self.monitor.take(event)
        if isinstance(event, events.Notice):
            self.console.print(Text(f"note: {event.text}", style="yellow"), soft_wrap=True)

    def _render(self) -> Table:
        snapshot = self.monitor.snapshot()
        grid = Table.grid(padding=(0, 2))
        bar = ProgressBar(total=max(snapshot.total, 1), completed=snapshot.done, width=28)
        first = Table.grid(padding=(0, 2))
        first.add_row(
            Text(f"{snapshot.engine} {snapshot.phase}", style="bold"),
            bar,
            f"{snapshot.share:6.1%}",
            f"{snapshot.done:,}/{snapshot.total:,}",
            f"ETA {duration(snapshot.eta)}" if snapshot.done < snapshot.total else duration(snapshot.elapsed),
        )
        grid.add_row(first)
        grid.add_row(_second_line(snapshot))
        if snapshot.last_error:
            grid.add_row(Text(f"last error: {snapshot.last_error}", style="red", overflow="ellipsis", no_wrap=True))
        return grid


def _second_line(snapshot: Snapshot) -> Text:
    line = Text(f"{snapshot.rate:,.1f} req/s  median {latency(snapshot.median_ms)}  p95 {latency(snapshot.p95_ms)}  ")
    for status, (symbol, style) in STATUS_STYLES.items():
        if status == "ok" or snapshot.counts.get(status):
            line.append(f" {symbol} {status} {snapshot.counts.get(status, 0):,} ", style=style)
    return line


class JsonRunDisplay(Display):
    """One JSON object per line: every event but single answers, which are summed up in `progress` lines."""

    def __init__(self) -> None:
        self.monitor = Monitor()
        self._last_progress = 0.0

    def emit(self, event: events.Event) -> None:
        self.monitor.take(event)
        match event:
            case events.Loading():
                write_line({"event": "loading", "engine": event.engine})
            case events.Ready():
                snapshot = self.monitor.snapshot()
                write_line({"event": "ready", "engine": event.engine, "completed": snapshot.done, "total": snapshot.total})
            case events.Answer() if time.monotonic() - self._last_progress >= SECONDS_BETWEEN_PROGRESS_LINES:
                self._last_progress = time.monotonic()
                write_line({"event": "progress", **progress_record(self.monitor.snapshot())})
            case events.Paused() | events.Resumed():
                write_line({"event": type(event).__name__.lower()})
            case events.Notice():
                write_line({"event": "notice", "text": event.text})
            case events.Ended():
                write_line({"event": event.state, **progress_record(self.monitor.snapshot()), "error": event.reason})


def progress_record(snapshot: Snapshot) -> dict[str, Any]:
    """What a progress line says of a run."""
    return {
        "engine": snapshot.engine,
        "completed": snapshot.done,
        "total": snapshot.total,
        "counts": snapshot.counts,
        "requests_per_second": round(snapshot.rate, 2),
        "elapsed_seconds": round(snapshot.elapsed, 2),
        "eta_seconds": None if snapshot.eta is None else round(snapshot.eta, 1),
        "median_ms": snapshot.median_ms and round(snapshot.median_ms, 2),
        "p95_ms": snapshot.p95_ms and round(snapshot.p95_ms, 2),
    }


def write_line(record: dict[str, Any]) -> None:
    """Print one JSON object with the time in front."""
    sys.stdout.write(orjson.dumps({"time": datetime.now(UTC).isoformat(), **record}).decode() + "\n")
    sys.stdout.flush()


def duration(seconds: float | None) -> str:
    """`1h 52m`, `4m 10s`, `0.8s`, or a dash when unknown."""
    if seconds is None:
        return "–"
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    return f"{minutes // 60}h {minutes % 60:02d}m"


def latency(milliseconds: float | None) -> str:
    if milliseconds is None:
        return "–"
    return f"{milliseconds:.2g} ms" if milliseconds < 10 else f"{milliseconds:,.0f} ms"
