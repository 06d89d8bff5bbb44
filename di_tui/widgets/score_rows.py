"""Rows of the score table: areas with their benchmarks, and the tracks of those that are opened."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from di_tui.display.run import latency
from di_tui.score_view import AreaScore, BenchmarkScore, Interval, View
from di_tui.shapes import bar
from di_tui.widgets.columns import Column
from di_tui.widgets.row_table import Row

BAR = 16
OPEN, CLOSED = "▼", "▶"
GOLD = "◆"
SLOW_MS = 1000.0  # the board lists no model above it
COLUMNS = (
    Column("id", "#", 2, "right", drop=11),
    Column("name", "Area / benchmark", 25, grow=15),
    Column("raw", "Raw", 6, "right", drop=2),
    Column("chance", "Chance", 7, "right", drop=3),
    Column("skill", "Skill", 7, "right"),
    Column("interval", "95 % interval", 14, "right", drop=1),
    Column("bar", "", BAR, drop=5),
    Column("coverage", "Answered", 10, "right"),
    Column("answered", "Requests", 10, "right", drop=6),
    Column("failed", "Failed", 8, "right", drop=8),
    Column("median", "Median", 10, "right", drop=4),
    Column("weight", "Weight", 8, "right", drop=7),
    Column("metric", "Metric", 24, drop=10, grow=14),
    Column("area", "Area", 26, drop=12),
)
BY_AREA = COLUMNS[:-1]  # where rows stand below their areas


def score_rows(areas: Sequence[AreaScore], view: View, measure: str) -> list[Row]:
    """Keys are ids of areas, catalog ids of benchmarks, and (catalog id, name) of tracks.

    Args:
        measure: `skill` or `raw`, what bars show.
    """
    if view.order.column:
        shown = [own for area in areas for own in area.benchmarks if view.shows(own)]
        return [row for own in view.order.apply(shown) for row in _benchmark_rows(own, view, measure)]
    return [row for area in areas for row in _area_rows(area, view, measure)]


def _area_rows(area: AreaScore, view: View, measure: str) -> Iterator[Row]:
    members = [own for own in area.benchmarks if view.shows(own)]
    if not members:
        return
    folded = area.id in view.folded and not view.text
    name = Text(f"{CLOSED if folded else OPEN} {area.label}")
    if len(area.benchmarks) < area.of:
        name.append(f" {len(area.benchmarks)}/{area.of}", style="muted")
    value = getattr(area, measure)
    cells = {
        "name": name,
        "raw": share(area.raw),
        "skill": share(area.skill),
        "interval": interval(area.interval),
        "bar": _bar(value),
        "coverage": _coverage(area.coverage),
        "answered": f"{sum(own.requests for own in area.benchmarks):,}",
        "failed": _failed(sum(own.requests - own.answered for own in area.benchmarks)),
        "weight": _weight(area.weight),
    }
    yield Row(area.id, cells, heading=True)
    if not folded:
        for own in members:
            yield from _benchmark_rows(own, view, measure)


def _benchmark_rows(own: BenchmarkScore, view: View, measure: str) -> Iterator[Row]:
    opened = own.catalog_id in view.opened
    fold = (OPEN if opened else CLOSED) if own.tracks else " "
    name = Text.assemble((f"  {fold} ", "muted"), own.dataset, (f" {GOLD}" if own.gold else "", "warning"))
    cells = {
        "id": Text(f"{own.catalog_id}", style="muted"),
        "name": name,
        "raw": share(own.raw),
        "chance": Text(share(own.chance), style="muted"),
        "skill": Text(share(own.skill), style="bold" if measure == "skill" else ""),
        "interval": interval(own.interval),
        "bar": _bar(getattr(own, measure), "accent" if own.weight else "muted"),
        "coverage": _coverage(own.coverage),
        "answered": f"{own.requests:,}",
        "failed": _failed(own.requests - own.answered),
        "median": slow(own.median_ms),
        "weight": _weight(own.weight),
        "metric": own.metric or "–",
        "area": Text(own.area, style="muted"),
    }
    yield Row(own.catalog_id, cells)
    for track in own.tracks if opened else ():
        mark = " (counts)" if track.headline else ""
        name = Text.assemble(f"      {track.name}", (mark, "muted"))
        requests = "" if track.requests is None else f"{track.requests:,}"
        cells = {"name": name, "raw": share(track.score), "bar": _bar(track.score, "muted"), "answered": requests}
        yield Row((own.catalog_id, track.name), cells)


def share(value: float | None) -> str:
    """A share of 1 with three decimals, a dash where there is none."""
    return "–" if value is None else f"{value:.3f}"


def interval(bounds: Interval | None) -> str:
    """Bounds with three decimals, a dash where there are none."""
    return "–" if bounds is None else f"{bounds[0]:.3f} – {bounds[1]:.3f}"


def slow(milliseconds: float | None) -> Text:
    """A latency, marked where the board would not list it."""
    if milliseconds is not None and milliseconds > SLOW_MS:
        return Text(f"! {latency(milliseconds)}", style="warning")
    return Text(latency(milliseconds))


def _bar(value: float | None, style: str = "accent") -> Text:
    return Text("" if value is None else bar(value, BAR), style=style)


def _coverage(value: float | None) -> Text:
    if value is None:
        return Text()
    return Text(f"{value:.1%}" if value < 1 else "100%", style="warning" if value < 1 else "")


def _failed(count: int) -> Text:
    return Text(f"{count:,}", style="warning") if count else Text("·", style="muted")


def _weight(value: float) -> Text:
    return Text(f"{value:.1%}" if value else "·", style="muted")
