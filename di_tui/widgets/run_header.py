"""The lines above a run's table: what runs, how far it is, how fast, and how its requests ended."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from di_tui.display.run import duration, latency
from di_tui.run_follower import FollowedRun
from di_tui.shapes import STATUSES, Mark, bar, phase_mark, sparkline

GAP = "  "
NARROWEST_BAR, WIDEST_BAR = 16, 60
SPARKLINE = 24
FEWEST_RATES = 4
# Phase and the command that waits -> what comes next.
COMING = {("running", "pause"): "pausing", ("paused", "run"): "resuming"}


def header(run: FollowedRun, width: int) -> Text:
    """Two lines where there is room; names and counts get a line of their own where there is none, and so does what a live
    engine tells of itself."""
    lines = [*_names_and_progress(run, width), *_speed_and_counts(run, width)]
    if live := list(_live_facts(run)):
        lines.append(Text(GAP).join(live))
    return Text("\n").join(lines)


def shown_phase(run: FollowedRun) -> str:
    """The phase, or what a command that waits in control.json will make of it."""
    phase = run.progress.phase
    if not run.live:
        return phase
    return "stopping" if run.asked == "stop" else COMING.get((phase, run.asked), phase)


def _names_and_progress(run: FollowedRun, width: int) -> list[Text]:
    progress = run.progress
    mark = phase_mark(shown_phase(run))
    names = Text.assemble((" · ", "muted")).join([Text.assemble((str(mark), mark.style)), *_names(run)])
    numbers = Text(f"{progress.share:.1%}  {progress.done:,}/{progress.total:,}" if progress.total else f"{progress.done:,} done")
    if time_shown := _time(run):
        numbers.append(f"{GAP}{time_shown}")
    return with_bar(names, progress.share, mark.style if run.live else "muted", numbers, width)


def with_bar(names: Text, share: float, style: str, numbers: Text, width: int) -> list[Text]:
    """Names, a bar and numbers in one line of at most `width` cells, or names above the others where there is no room."""
    room = width - numbers.cell_len - len(GAP)
    spare = room - names.cell_len - len(GAP)
    if spare < NARROWEST_BAR:
        names.truncate(width, overflow="ellipsis")
        return [names, Text.assemble((bar(share, max(room, 0)), style), GAP, numbers)]
    bar_width = min(spare, WIDEST_BAR)
    names.pad_right(spare - bar_width)
    return [Text.assemble(names, GAP, (bar(share, bar_width), style), GAP, numbers)]


def _names(run: FollowedRun) -> Iterable[Text]:
    if run.progress.engine:
        yield Text(run.progress.engine, style="bold")
    if run.model:
        yield Text(run.model)
    if run.edition:
        yield Text(f"suite {run.edition}{' partial' if run.partial else ''}")


def _time(run: FollowedRun) -> str:
    if run.ended or run.progress.phase not in ("running", "paused"):
        return f"took {duration(run.progress.elapsed)}" if run.progress.elapsed else ""
    return f"ETA {duration(run.progress.eta)}"


def _speed_and_counts(run: FollowedRun, width: int) -> list[Text]:
    progress = run.progress
    parts = [Text(f"{progress.rate:,.1f} req/s")]
    if len(progress.history) >= FEWEST_RATES:
        parts.append(Text(sparkline(progress.history, SPARKLINE), style="accent"))
    parts += [_latency("median", progress.median_ms), _latency("p95", progress.p95_ms)]
    speed = Text(GAP).join(parts)
    counts = Text(GAP).join(_count(mark, progress.counts.get(status, 0)) for status, mark in STATUSES.items())
    space = width - speed.cell_len - counts.cell_len
    if space >= 3:
        return [Text.assemble(speed, " " * space, counts)]
    return [speed, counts]


def _live_facts(run: FollowedRun) -> Iterator[Text]:
    """Devices, prompt tokens, padding: only while the run goes on, and only what its engine tells."""
    if not run.live:
        return
    if run.devices:
        count, busy = len(run.devices), sum(device["utilisation"] for device in run.devices) / len(run.devices)
        used, total = (sum(device[key] for device in run.devices) / 1e9 for key in ("memory_used", "memory_total"))
        name = "GPU" if count == 1 else f"{count} GPUs"
        yield Text.assemble((f"{name} ", "muted"), f"{busy:.0f}%", (f"{GAP}memory ", "muted"), f"{used:,.0f}/{total:,.0f} GB")
    told = run.throughput
    if "prompt_tokens_per_second" in told:
        yield Text.assemble(f"{told['prompt_tokens_per_second']:,.0f}", (" prompt tokens/s", "muted"))
    if "padding_share" in told:
        yield Text.assemble(("padding ", "muted"), f"{told['padding_share']:.0%}")
    if "batch_size" in told:
        yield Text.assemble(("batch ", "muted"), f"{told['batch_size']:,.0f}")


def _latency(name: str, milliseconds: float | None) -> Text:
    """A latency; over one second it is marked, because the board lists no model that slow."""
    text = Text.assemble((f"{name} ", "muted"), latency(milliseconds))
    return text.append(" – slow", style="warning") if (milliseconds or 0.0) > 1000 and name == "median" else text


def _count(mark: Mark, count: int) -> Text:
    return Text(f"{mark.symbol} {mark.word} {count:,}", style=mark.style if count else "muted")
