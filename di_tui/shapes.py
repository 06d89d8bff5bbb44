"""Bars, sparklines and the symbols of states, as text that any terminal font with block characters shows."""

from collections.abc import Sequence
from typing import NamedTuple

FULL, EMPTY = "▇", "▁"
LEVELS = "▁▂▃▅▆▇"


class Mark(NamedTuple):
    """How something is shown: a symbol, a word, and the style of both (see palette.py)."""

    symbol: str
    word: str
    style: str

    def __str__(self) -> str:
        return f"{self.symbol} {self.word}"


PHASES = {
    "starting": Mark("…", "starting", "muted"),
    "no status": Mark("·", "no status", "muted"),
    "loading": Mark("…", "loading", "accent"),
    "ready": Mark("▶", "running", "accent"),
    "progress": Mark("▶", "running", "accent"),
    "running": Mark("▶", "running", "accent"),
    "pausing": Mark("…", "pausing", "warning"),
    "paused": Mark("○", "paused", "warning"),
    "resuming": Mark("…", "resuming", "accent"),
    "stopping": Mark("…", "stopping", "warning"),
    "interrupted": Mark("–", "interrupted", "warning"),
    "complete": Mark("✓", "complete", "good"),
    "limited": Mark("✓", "limit reached", "good"),
    "failed": Mark("×", "failed", "bad"),
    "gone": Mark("×", "writer gone", "bad"),
    "unreadable": Mark("×", "unreadable", "bad"),
}
STATUSES = {
    "ok": Mark("✓", "ok", "good"),
    "unsupported": Mark("–", "unsupported", "warning"),
    "abstained": Mark("○", "abstained", "warning"),
    "error": Mark("×", "errors", "bad"),
}


def phase_mark(phase: str) -> Mark:
    """The mark of a run's phase or of the last event of its status."""
    return PHASES.get(phase, Mark("·", phase, "muted"))


def bar(share: float, width: int) -> str:
    """A bar of `width` cells, filled from the left; full only when the share is 1."""
    filled = int(width * min(max(share, 0.0), 1.0))
    return FULL * filled + EMPTY * (width - filled)


def balance(value: float, interval: tuple[float, float], scale: float, width: int) -> str:
    """A bar from a middle line, to the left for what is below 0, with a thin line as far as the interval reaches.

    Args:
        scale: what half the width stands for. width: cells, an odd number.
    """
    middle = width // 2

    def cell_of(number: float) -> int:
        return middle + round(middle * min(max(number / scale, -1.0), 1.0))

    first, last = sorted((middle, cell_of(value)))
    low, high = map(cell_of, interval)
    cells = ["─" if low <= cell <= high else " " for cell in range(width)]
    cells[first : last + 1] = FULL * (last - first + 1)
    cells[middle] = "│"
    return "".join(cells)


def sparkline(values: Sequence[float], width: int) -> str:
    """Values from 0 to their largest as one line of at most `width` cells; where there are more, each cell is a mean."""
    if not values or max(values) <= 0:
        return ""
    cells = min(width, len(values))
    edges = [round(place * len(values) / cells) for place in range(cells + 1)]
    means = [sum(values[low:high]) / (high - low) for low, high in zip(edges, edges[1:], strict=False)]
    top = max(means)
    return "".join(LEVELS[round((len(LEVELS) - 1) * mean / top)] for mean in means)


def age(seconds: float) -> str:
    """How long ago, in the largest unit that fits: `now`, `42s`, `5m`, `3h`, `12d`."""
    if seconds < 5:
        return "now"
    for unit, size in (("s", 1), ("m", 60), ("h", 3600)):
        limit = 86400 if unit == "h" else 60 * size
        if seconds < limit:
            return f"{int(seconds // size)}{unit}"
    return f"{int(seconds // 86400)}d"
