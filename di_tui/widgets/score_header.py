"""The lines above the score table: the index and how sure it is, what was answered, how fast."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from di_tui.display.run import latency
from di_tui.score_view import NOT_COUNTED, AreaScore, index_interval
from di_tui.scored_run import ScoredRun
from di_tui.shapes import STATUSES, Mark
from di_tui.widgets.score_rows import SLOW_MS

GAP = "   "
PENDING = Mark("·", "no result", "warning")
GUIDE = "! over 1,000 ms: the board would not list it; our times are only a guide"


def header(run: ScoredRun, areas: Sequence[AreaScore], width: int) -> Text:
    """Index, counts and latency, each on as few lines as the width allows."""
    return Text("\n").join(flow(parts, width) for parts in (_index(run, areas), _counts(areas), _latency(run)))


def flow(parts: Iterable[Text], width: int) -> Text:
    """Texts one after the other, on as few lines of `width` cells as hold them."""
    lines: list[Text] = []
    for part in parts:
        if lines and lines[-1].cell_len + len(GAP) + part.cell_len <= width:
            lines[-1].append(GAP).append_text(part)
        else:
            lines.append(part.copy())
    return Text("\n").join(lines)


def _index(run: ScoredRun, areas: Sequence[AreaScore]) -> Iterator[Text]:
    scores = run.scores
    index = Text.assemble((f"Decision Index {run.edition.id}  ", "muted"), (f"{scores['decision_index']:.2f}", "bold"))
    if bounds := index_interval(scores, run.edition):
        index.append(f"  95 % {bounds[0]:.2f} – {bounds[1]:.2f}")
    yield index
    yield _fact("raw", f"{scores['scores']['balanced_raw']:.2f}")
    yield _fact("breadth", f"{scores['scores']['breadth_skill']:.2f}")
    present = sum(len(area.benchmarks) for area in areas if area.label != NOT_COUNTED)
    if present < len(run.edition.panel):
        yield Text(f"○ {present} of {len(run.edition.panel)} benchmarks: not the index of the edition", style="warning")
    elif run.scores.get("partial_suite"):
        yield Text("○ partial suite: not the index of the edition", style="warning")


def _counts(areas: Sequence[AreaScore]) -> Iterator[Text]:
    counts = Counter()
    for area in areas:
        for benchmark in area.benchmarks:
            counts.update(benchmark.counts)
    for status, mark in {**STATUSES, "pending": PENDING}.items():
        count = counts[status]
        if count or status != "pending":
            yield Text(f"{mark.symbol} {mark.word} {count:,}", style=mark.style if count else "muted")


def _latency(run: ScoredRun) -> Iterator[Text]:
    yield _fact("engine", run.scores["engine"])
    times = run.scores["latency_ms"] | {"p80": run.p80_ms}
    for name in ("median", "mean", "p80", "p95"):
        yield _fact(name, latency(times[name]))
    if run.scores.get("latency_mode") == "batched":
        yield Text("of batches, not of single requests", style="muted")
    if any((times[name] or 0.0) > SLOW_MS for name in ("median", "mean", "p80")):
        yield Text(GUIDE, style="warning")


def _fact(name: str, value: str) -> Text:
    return Text.assemble((f"{name} ", "muted"), value)
