"""The parts of a benchmark's page as texts: what it is worth, tracks, labels, latency, calibration."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.text import Text

from di_tui.display.run import latency
from di_tui.label_table import Bin, LabelTable
from di_tui.score_view import BenchmarkScore
from di_tui.shapes import STATUSES, bar
from di_tui.widgets.score_header import GUIDE, PENDING
from di_tui.widgets.score_rows import GOLD, SLOW_MS, interval, share, slow

GAP = 2
BAR = 20
SHORT_BAR = 10
LABELS_SHOWN, CONFUSIONS_SHOWN, LARGEST_MATRIX = 20, 10, 6
NAME_WIDTH = 28
NET_VALUE = "Net value: 1 for a right answer taken, -t/(1 - t) for a wrong one at threshold t, 0 for one handed off."
SMALL_GAP = 0.05  # a difference of confidence and accuracy that is not worth a colour

Cell = Text | str


def aligned(titles: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Text:
    """Rows below their titles, one a line; columns whose title begins with > stand to the right."""
    lines = [[Text(title.removeprefix(">"), style="muted") for title in titles]] if any(titles) else []
    lines += [[cell.copy() if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    widths = [max(cell.cell_len for cell in column) for column in zip(*lines, strict=True)]
    for line in lines:
        for number, (cell, width, title) in enumerate(zip(line, widths, titles, strict=True), start=1):
            blanks = width - cell.cell_len
            if title.startswith(">"):
                cell.pad_left(blanks)
            elif number < len(line):
                cell.pad_right(blanks)
            if number < len(line):
                cell.pad_right(GAP)
    return Text("\n").join(Text().join(line) for line in lines)


def facts(pairs: Iterable[tuple[str, Cell]]) -> Text:
    """Names and what belongs to them, one pair a line."""
    return aligned(("", ""), [(Text(name, style="muted"), value) for name, value in pairs])


def values(own: BenchmarkScore) -> Text:
    """What the benchmark is worth, and how its requests ended."""
    pairs = [
        ("raw", f"{share(own.raw)}   95 % {interval(own.intervals.get('raw'))}"),
        ("chance", _chance(own)),
        ("skill", f"{share(own.skill)}   95 % {interval(own.intervals.get('skill'))}"),
        ("answered", f"{own.coverage:.1%}"),
        (own.metric or "native value", share(own.score)),
        ("weight", _weight(own)),
        ("median", slow(own.median_ms)),
    ]
    counts = Text("   ").join(
        Text(f"{mark.symbol} {mark.word} {own.counts[status]:,}", style=mark.style if own.counts[status] else "muted")
        for status, mark in {**STATUSES, "pending": PENDING}.items()
        if own.counts[status] or status == "ok"
    )
    return facts([*pairs, ("requests", counts)])


def _chance(own: BenchmarkScore) -> str:
    on_rows = "" if own.chance_on_rows in (None, own.chance) else f"   on these rows {share(own.chance_on_rows)}"
    return f"{share(own.chance)}{on_rows}"


def _weight(own: BenchmarkScore) -> Text:
    if not own.weight:
        return Text("shown, not counted", style="muted")
    return Text.assemble(f"{own.weight:.1%} of the index", (f"   {GOLD} gold: weighs more in its area" if own.gold else "", "warning"))


def tracks(own: BenchmarkScore) -> Text:
    """Values of the tracks."""
    rows = [
        (
            Text.assemble(track.name, (" stands for all" if track.headline else "", "muted")),
            share(track.score),
            _bar(track.score),
            "" if track.requests is None else f"{track.requests:,}",
        )
        for track in own.tracks
    ]
    return aligned(("Track", ">Score", "", ">Requests"), rows)


def labels(found: LabelTable) -> Text:
    """Precision, recall and F1 of the most frequent labels."""
    rows = [
        (
            _short(label.name),
            f"{label.gold:,}",
            f"{label.predicted:,}",
            *map(share, (label.precision, label.recall, label.f1)),
            _bar(label.f1, width=SHORT_BAR),
        )
        for label in found.labels[:LABELS_SHOWN]
    ]
    table = aligned(("Label", ">Gold", ">Predicted", ">Precision", ">Recall", ">F1", ""), rows)
    left = len(found.labels) - LABELS_SHOWN
    if left > 0:
        table.append(f"\nand {left:,} more labels, which are rarer", style="muted")
    if found.by_key:
        table.append("\nEvery row has other options: this shows whether places are preferred.", style="muted")
    return table


def confusions(found: LabelTable) -> Text:
    """Which label was taken for which: all pairs of a few labels, the most frequent of many."""
    return _matrix(found) if len(found.labels) <= LARGEST_MATRIX else _pairs(found)


def _matrix(found: LabelTable) -> Text:
    names = [label.name for label in found.labels]
    counts = {(own.gold, own.predicted): own.count for own in found.confusions}
    rows = [
        [_short(label.name)]
        + [Text(f"{label.hits:,}", style="good") if name == label.name else f"{counts.get((label.name, name), 0):,}" for name in names]
        for label in found.labels
    ]
    return aligned(("Gold ↓ predicted →", *(f">{_short(name, 14)}" for name in names)), rows)


def _pairs(found: LabelTable) -> Text:
    shown = found.confusions[:CONFUSIONS_SHOWN]
    top = max((own.count for own in shown), default=1)
    rows = [(_short(own.gold), _short(own.predicted), f"{own.count:,}", _bar(own.count / top, width=SHORT_BAR)) for own in shown]
    return aligned(("Gold", "Predicted", ">Fields", ""), rows)


def histogram(bins: Sequence[Bin]) -> Text:
    """How many requests took how long."""
    top = max(own.count for own in bins)
    rows = [
        (
            latency(own.low),
            latency(own.high),
            _bar(own.count / top, "warning" if own.high > SLOW_MS else "accent"),
            f"{own.count:,}",
        )
        for own in bins
    ]
    table = aligned((">From", ">to", "", ">Requests"), rows)
    return table.append(f"\n{GUIDE}", style="warning") if bins[-1].high > SLOW_MS else table


def reliability(report: dict[str, Any]) -> Text:
    """Bins of confidence: how sure the answers in it were, and how many were right."""
    summary = facts(
        [
            ("calibration error", f"{share(report['ece'])}   Brier {share(report['brier'])}"),
            ("right", f"{share(report['accuracy'])}   mean sure {share(report['confidence'])}"),
        ]
    )
    rows = [
        (
            f"{row['from']:.1f} – {row['to']:.1f}",
            f"{row['n']:,}",
            share(row["confidence"]),
            share(row["accuracy"]),
            _gap(row["accuracy"] - row["confidence"]),
        )
        for row in report["reliability"]
        if row["n"]
    ]
    return Text("\n\n").join([summary, aligned(("Sure", ">Fields", ">Mean sure", ">Right", ">Difference"), rows)])


def _gap(difference: float) -> Text:
    return Text(f"{difference:+.3f}", style="warning" if difference < -SMALL_GAP else "")


def thresholds(report: dict[str, Any]) -> Text:
    """What is left when only answers are taken that the engine is sure enough of."""
    rows = [
        (f"{row['threshold']:g}", _percent(row["coverage"]), _percent(row["accuracy"]), _net(row["net_value"]))
        for row in report["thresholds"]
    ]
    table = aligned(("At least", ">Taken", ">Right of these", ">Net value"), rows)
    return table.append(f"\n{NET_VALUE}", style="muted")


def _net(value: float | None) -> Text:
    return Text("–") if value is None else Text(f"{value:+.3f}", style="bad" if value < 0 else ("good" if value else ""))


def calibrations(reports: dict[str, dict[str, Any]], names: dict[str, str]) -> Text:
    """A line a benchmark, by calibration error."""
    known = sorted((own for own in reports.items() if own[1]["answered"]), key=lambda own: -own[1]["ece"])
    rows = [
        (
            Text(key, style="muted"),
            _short(names[key], 20),
            f"{report['answered']:,}",
            *(share(report[name]) for name in ("accuracy", "confidence", "ece")),
            _bar(report["ece"], width=SHORT_BAR),
            share(report["brier"]),
        )
        for key, report in known
    ]
    return aligned((">#", "Benchmark", ">Fields", ">Right", ">Mean sure", ">Error", "", ">Brier"), rows)


def _bar(value: float | None, style: str = "accent", width: int = BAR) -> Text:
    return Text("" if value is None else bar(value, width), style=style)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _short(text: str, width: int = NAME_WIDTH) -> str:
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1]}…"
