"""The published examples of added benchmarks: made-up source records and the exact lines that they give."""

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
from suites import ROOT

from suite_builder.catalog import benchmarks
from suite_builder.freeze import added_lines


def example(catalog_id: int) -> dict[str, Any]:
    """`input`, one record or several, and `lines` with their ends."""
    published = orjson.loads((ROOT / "tests" / "fixtures" / f"added-rows-vectors-{catalog_id}.json").read_bytes())
    return {"lines": [published.get("line")], **published}


def assert_example(recipe: ModuleType, files: Mapping[str, Path]) -> None:
    """The records of the example, in `files`, must give its lines; token counts are those of the example."""
    lines = example(recipe.CATALOG_ID)["lines"]
    counts = [orjson.loads(line)["_evaluation"]["proxy_tokens"] for line in lines]
    built = added_lines(benchmarks()[recipe.CATALOG_ID], recipe.rows(files), lambda _text: counts[0])
    assert [f"{line}\n" for line in built] == lines
