"""The lines above the table of a comparison: which runs, what both answered, how alike they are and how fast."""

from rich.text import Text

from di_tui.display.run import latency
from di_tui.widgets.comparison_rows import largest
from scoring.compare import Comparison

SLOW_MS = 1000


def header(comparison: Comparison, width: int) -> Text:
    """Two lines."""
    a, b = comparison.names
    names = Text.assemble(("A ", "accent"), (a, "bold"), "   ", ("B ", "accent"), (b, "bold"))
    names.append(f"   edition {comparison.edition}   B − A, bars end at {largest(comparison):.2f}", style="muted")
    overlap = comparison.overlap
    facts = [
        Text.assemble(("same answer ", "muted"), f"{overlap.agreement:.0%}"),
        Text.assemble(("answered ", "muted"), *_pair(*(Text(f"{share:.0%}") for share in overlap.coverage))),
        Text.assemble(("median ", "muted"), *_pair(*map(_latency, overlap.median_ms))),
    ]
    lines = [names, Text("   ").join(facts)]
    for line in lines:
        line.truncate(width, overflow="ellipsis")
    return Text("\n").join(lines)


def overlap_notice(comparison: Comparison, common: bool) -> Text:
    """Over which requests this is, and what the edition's own rules make of both runs."""
    overlap, missing = comparison.overlap, comparison.panel - comparison.counted
    published = " and ".join(f"{index:.2f}" for index in comparison.published)
    whose = " that both suites have" if common else ""
    if overlap.requests == overlap.of and not missing:
        return Text(f"✓ both answered all {overlap.of:,} requests{whose}", style="muted")
    text = f"– both answered {overlap.requests:,} of {overlap.of:,} requests{whose}, as whole groups"
    if missing:
        text += f"; {missing} of {comparison.panel} benchmarks of the index have none"
    return Text.assemble((text, "warning"), (f"; with unanswered as wrong, the index is {published}", "muted"))


def _pair(a: Text, b: Text) -> tuple:
    return ("A ", "accent"), a, ("  B ", "accent"), b


def _latency(milliseconds: float | None) -> Text:
    """A latency; over one second it is marked, because the board lists no model that slow."""
    text = Text(latency(milliseconds))
    return text.append(" – slow", style="warning") if (milliseconds or 0.0) > SLOW_MS else text
