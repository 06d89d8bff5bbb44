"""Rows of the run table: every area with the sum of its benchmarks, below it the benchmarks."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from rich.text import Text

from di_tui.display.run import latency
from di_tui.monitor import BenchmarkSnapshot
from di_tui.run_follower import FollowedRun
from di_tui.shapes import STATUSES, bar
from di_tui.widgets.columns import Column
from di_tui.widgets.row_table import Row

BAR = 12
NOT_COUNTED = "Shown, not counted"
COLUMNS = (
    Column("name", "Area / benchmark", 24, grow=26),
    Column("bar", "", BAR, drop=5),
    Column("done", "Done", 15, "right"),
    Column("share", "%", 6, "right", drop=4),
    Column("right", "Right", 6, "right", drop=2),
    Column("rate", "Req/s", 7, "right", drop=2),
    Column("median", "Median", 9, "right", drop=1),
    Column("p95", "p95", 9, "right", drop=3),
    Column("ok", "✓ ok", 8, "right", drop=8),
    Column("unsupported", "– unsup", 8, "right", drop=6),
    Column("abstained", "○ abst", 8, "right", drop=7),
    Column("error", "× err", 7, "right", drop=1),
)


def benchmark_rows(run: FollowedRun) -> list[Row]:
    """Areas in the edition's order with the benchmarks that this run has, then what is in no area."""
    left = {benchmark.catalog_id: benchmark for benchmark in run.progress.benchmarks}
    rows: list[Row] = []
    for label, catalog_ids in run.areas:
        rows += _group(label, [left.pop(catalog_id) for catalog_id in catalog_ids if catalog_id in left], run.right)
    rows += _group(NOT_COUNTED, [left[catalog_id] for catalog_id in sorted(left)], run.right)
    return rows


def _group(label: str, members: Sequence[BenchmarkSnapshot], right: Mapping[int, float]) -> Iterator[Row]:
    """right: catalog id -> share of right answers; that of an area is the mean of its benchmarks."""
    if not members:
        return
    counts = Counter()
    for member in members:
        counts.update(member.counts)
    known = all(member.total for member in members)
    done, total = sum(member.done for member in members), sum(member.total for member in members) if known else 0
    heading = {"name": Text(f"▶ {label}"), **_numbers(done, total, sum(member.rate for member in members), counts)}
    known_shares = [right[member.catalog_id] for member in members if member.catalog_id in right]
    heading["right"] = _share(fmean(known_shares) if known_shares else None)
    yield Row(label, heading, heading=True)
    for member in members:
        cells = _numbers(member.done, member.total, member.rate, member.counts)
        name = Text.assemble((f"  {member.catalog_id:>2} ", "muted"), member.dataset)
        times = {"median": latency(member.median_ms), "p95": latency(member.p95_ms)}
        yield Row(member.catalog_id, {"name": name, "right": _share(right.get(member.catalog_id)), **times, **cells})


def _share(share: float | None) -> Text | str:
    """A running score; a dash where there is none, or none that means something."""
    return Text("–", style="muted") if share is None else f"{share:.3f}"


def _numbers(done: int, total: int, rate: float, counts: dict[str, int]) -> dict[str, Text | str]:
    share = done / total if total else 0.0
    finished = bool(total) and done >= total
    style = "good" if finished else "accent"
    cells: dict[str, Text | str] = {
        "bar": Text(bar(share, BAR), style=style) if total else "",
        "done": f"{done:,}/{total:,}" if total else f"{done:,}",
        "share": Text("✓ all", style="good") if finished else (f"{share:.1%}" if total else "–"),
        "rate": f"{rate:,.1f}" if rate else Text("·", style="muted"),
    }
    for status, mark in STATUSES.items():
        count = counts.get(status, 0)
        cells[status] = Text(f"{count:,}", style="" if status == "ok" else mark.style) if count else Text("·", style="muted")
    return cells
