"""Rows of the table of a comparison: the index and its fellows, areas with their benchmarks, and what is not counted."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from di_tui.display.run import latency
from di_tui.shapes import Mark, balance
from di_tui.widgets.columns import Column
from di_tui.widgets.row_table import Row
from scoring.compare import BETTER, UNDECIDED, WORSE, Comparison, Difference, Shared

BAR = 15
NOT_COUNTED = "Shown, not counted"
SCORES = {"balanced_skill": "Skill index", "balanced_raw": "Raw index", "breadth_skill": "Breadth"}
VERDICTS = {
    BETTER: Mark("▲", BETTER, "good"),
    WORSE: Mark("▼", WORSE, "bad"),
    UNDECIDED: Mark("≈", UNDECIDED, "muted"),
}
COLUMNS = (
    Column("id", "#", 3, "right", drop=3),
    Column("name", "Area / benchmark", 18, grow=30),
    Column("a", "A", 6, "right"),
    Column("b", "B", 6, "right"),
    Column("difference", "B − A", 7, "right"),
    Column("interval", "95 % interval", 13, "right", drop=1),
    Column("symbol", "", 1),
    Column("word", "B is", 11, drop=4),
    Column("bar", "worse  │ better", BAR, drop=2),
    Column("flips", "Lost / won", 13, "right", drop=5),
    Column("requests", "Shared", 7, "right", drop=6),
    Column("coverage", "Answered A/B", 12, "right", drop=7),
    Column("agreement", "Agree", 5, "right", drop=8),
    Column("median", "Median A / B", 19, "right", drop=9),
)


def comparison_rows(comparison: Comparison, by_size: bool = False) -> list[Row]:
    """Keys are catalog ids of benchmarks, ids of areas and names of scores.

    Args:
        by_size: benchmarks without their areas, the largest difference first.
    """
    scale = largest(comparison)
    rows = [_score_row(name, score, comparison.headline) for name, score in comparison.scores.items()]
    left = {shared.catalog_id: shared for shared in comparison.benchmarks}
    if by_size:
        ordered = sorted(comparison.benchmarks, key=lambda shared: -abs(shared.raw.difference))
        return [*rows, *_group("By size of difference", ordered, scale)]
    for area in comparison.areas:
        part = f"  {len(area.benchmarks)} of {area.of}" if len(area.benchmarks) < area.of else ""
        name = Text.assemble(f"▶ {area.label}", (part, "muted"))
        rows.append(Row(area.id, {"name": name, **_cells(area.skill, 3, scale)}, heading=True))
        rows += [_benchmark_row(left.pop(catalog_id), scale) for catalog_id in area.benchmarks]
    return [*rows, *_group(NOT_COUNTED, left.values(), scale)]


def largest(comparison: Comparison) -> float:
    """The largest difference or interval bound of all areas and benchmarks: where bars end."""
    differences = [area.skill for area in comparison.areas] + [shared.raw for shared in comparison.benchmarks]
    return max((abs(number) for own in differences for number in (own.difference, *own.interval)), default=0.0) or 1.0


def _group(label: str, members: Iterable[Shared], scale: float) -> Iterator[Row]:
    rows = [_benchmark_row(shared, scale) for shared in members]
    if rows:
        yield Row(label, {"name": f"▶ {label}"}, heading=True)
        yield from rows


def _score_row(name: str, score: Difference, headline: str) -> Row:
    is_index = name == headline
    return Row(name, {"name": "Index" if is_index else SCORES.get(name, name), **_cells(score, 2, 0.0)}, heading=is_index)


def _benchmark_row(shared: Shared, scale: float) -> Row:
    lost, won = len(shared.right_to_wrong), len(shared.wrong_to_right)
    cells = {
        "id": Text(str(shared.catalog_id), style="muted"),
        "name": f"  {shared.dataset}",
        **_cells(shared.raw, 3, scale),
        "flips": f"{lost:,} / {won:,}" if lost or won else Text("·", style="muted"),
        "requests": f"{shared.requests:,}",
        "coverage": "/".join(f"{share:.0%}" for share in shared.coverage),
        "agreement": f"{shared.agreement:.0%}",
        "median": " / ".join(map(latency, shared.median_ms)),
    }
    return Row(shared.catalog_id, cells)


def _cells(value: Difference, digits: int, scale: float) -> dict[str, Text | str]:
    """scale: what half a bar stands for; 0 for no bar."""
    mark = VERDICTS[value.verdict]
    cells = {
        "a": f"{value.a:.{digits}f}",
        "b": f"{value.b:.{digits}f}",
        "difference": Text(f"{value.difference:+.{digits}f}", style=mark.style),
        "interval": Text(" ".join(f"{bound:+.{digits}f}" for bound in value.interval), style="muted"),
        "symbol": Text(mark.symbol, style=mark.style),
        "word": Text(mark.word, style=mark.style),
    }
    return {**cells, "bar": Text(balance(value.difference, value.interval, scale, BAR), style=mark.style)} if scale else cells
