"""What each benchmark asks and how it is scored, in a sentence each, and where it comes from."""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import orjson

from scoring.editions import Edition
from suite_builder.catalog import benchmarks
from suite_builder.sources import sources


def about(catalog_id: int, rules: Edition) -> str:
    """What is asked and how it is scored, in two sentences; empty for what is no benchmark of the suite."""
    texts, key = _texts(), str(catalog_id)
    if key not in texts["asks"]:
        return ""
    metric = rules.benchmark(catalog_id).metric
    scored = texts["scored"].get(key) or texts["scored_by_metric"][metric]
    return f"{texts['asks'][key]} {scored}"


def origins(catalog_id: int) -> Iterator[str]:
    """Web pages of the sources of a benchmark, each with its pinned revision; none for a generated one."""
    for source in sources().get(catalog_id, ()):
        revision = f" at {source.revision[:10]}" if source.revision else ""
        yield f"{source.origin.page}{revision}{', gated' if source.origin.gated else ''}"


def licence(catalog_id: int) -> str:
    """The licence as its source states it, a dash for what is no benchmark of the suite."""
    known = benchmarks().get(catalog_id)
    return known.licence if known else "–"


@cache
def _texts() -> dict[str, dict[str, str]]:
    return orjson.loads(files("di_tui").joinpath("data", "benchmarks.json").read_bytes())
