"""Shows what a suite directory holds."""

from collections import Counter

from rich.console import Console
from rich.table import Table

from di_tui.display.run import write_line
from suite_builder.catalog import benchmarks
from suite_builder.row_index import RowIndex
from suite_builder.suite import Suite


def show_status(suite: Suite, as_json: bool) -> None:
    """Print edition, state and the requests of each benchmark."""
    asked = Counter(label.catalog_id for label in suite.labels(with_excluded=True))
    scored = Counter(label.catalog_id for label in suite.labels())
    facts = {
        "suite": suite.name,
        "edition": suite.edition.id,
        "partial": suite.partial,
        "indexed": RowIndex.of(suite) is not None,
        "requests": asked.total(),
        "scoreable": scored.total(),
    }
    if as_json:
        write_line({"event": "suite", **facts, "benchmarks": {str(key): asked[key] for key in sorted(asked)}})
        return
    state = "partial" if suite.partial else "complete"
    print(f"{suite.name}: edition {suite.edition.id}, {state}, {asked.total():,} requests, {scored.total():,} scoreable")
    if not facts["indexed"]:
        print("no label file and row store yet; the first run writes them")
    table = Table("#", "Benchmark", "Requests", "Scoreable", "Licence", box=None, pad_edge=False)
    for column in (0, 2, 3):
        table.columns[column].justify = "right"
    for catalog_id in sorted(asked):
        benchmark = benchmarks()[catalog_id]
        table.add_row(
            str(catalog_id), benchmark.dataset, f"{asked[catalog_id]:,}", f"{scored[catalog_id]:,}", benchmark.licence
        )
    Console(highlight=False).print(table)
