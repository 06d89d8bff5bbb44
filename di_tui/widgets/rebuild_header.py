"""The lines above a rebuild's table: what is built, how far it is, what arrives and how fast, how long it still takes."""

from rich.text import Text

from di_tui.display.rebuild import megabytes
from di_tui.display.run import duration
from di_tui.rebuild_state import Rebuild
from di_tui.shapes import Mark, phase_mark
from di_tui.widgets.run_header import COMING, GAP, with_bar

INDEXING = Mark("…", "indexing", "accent")


def header(rebuild: Rebuild, width: int) -> Text:
    """One line with names, bar and count, one with failures, bytes, rate and time; another one where room is short."""
    mark = _mark(rebuild)
    names = Text.assemble((str(mark), mark.style))
    if rebuild.began:
        names.append(" · ", style="muted").append("rebuild", style="bold")
        names.append(" · ", style="muted").append(f"suite {rebuild.began.edition} into {rebuild.began.suite_dir}")
    numbers = Text(f"{rebuild.done}/{len(rebuild.benchmarks)} done")
    lines = with_bar(names, rebuild.share, mark.style if rebuild.alive else "muted", numbers, width)
    return Text("\n").join([*lines, Text(GAP).join(_facts(rebuild))])


def _mark(rebuild: Rebuild) -> Mark:
    if rebuild.phase == "indexing":
        return INDEXING
    if rebuild.alive and rebuild.asked == "stop":
        return phase_mark("stopping")
    coming = rebuild.alive and COMING.get((rebuild.phase, rebuild.asked))
    return phase_mark(coming or rebuild.phase)


def _facts(rebuild: Rebuild) -> list[Text]:
    failed = len(rebuild.failed)
    facts = [Text(f"× {failed} failed", style="bad" if failed else "muted")]
    if rebuild.total:
        facts.append(Text(f"{megabytes(rebuild.received)} of {megabytes(rebuild.total)}"))
    if rebuild.alive and rebuild.rate:
        facts.append(Text(f"{megabytes(rebuild.rate)}/s"))
    if rebuild.alive:
        facts.append(Text(f"ETA {duration(rebuild.eta)}"))
    if rebuild.elapsed:
        facts.append(Text(f"{'for' if rebuild.alive else 'took'} {duration(rebuild.elapsed)}", style="muted"))
    return facts
