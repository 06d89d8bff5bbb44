"""Sources of recipes for tests: the real ones, checked against all that is published, and hand-made files."""

import csv
import hashlib
import json
from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson

from suite_builder.catalog import benchmarks
from suite_builder.freeze import base_lines
from suite_builder.sources import sources


def assert_published(recipe: ModuleType, shared: Path, folder: Path) -> None:
    """Build a base benchmark from its real source into `folder`; checksums and single requests must be as published."""
    benchmark = benchmarks()[recipe.CATALOG_ID]
    normalized = {}
    for track, pairs in groupby(recipe.rows(real_files(shared, benchmark.catalog_id)), itemgetter(0)):
        lines = (recipe.STYLE(row) for _track, row in pairs)
        normalized[track] = write_lines(folder / f"{track}.jsonl", lines)
    assert {track: sha256(path) for track, path in normalized.items()} == {
        file.track: file.sha256 for file in benchmark.normalized
    }
    frozen = write_lines(folder / "frozen.jsonl", base_lines(benchmark, normalized))
    assert sha256(frozen) == benchmark.frozen_sha256
    rows = [orjson.loads(line) for line in frozen.open("rb")]
    assert len(rows) == benchmark.requests
    assert len({row["_evaluation"]["group_id"] for row in rows}) == benchmark.cases
    assert sum(len(row["questions"]) for row in rows) == benchmark.fields
    published = published_requests(shared, benchmark.catalog_id)
    built = {row["_evaluation"]["run_id"]: row["_evaluation"] for row in rows}
    assert published and published == [built[request["run_id"]] for request in published]


def real_files(shared: Path, catalog_id: int) -> dict[str, Path]:
    """The source files of a benchmark in whichever release is at hand, by path."""
    folder = shared / "sources" / str(catalog_id)
    releases = [release for source in sources().get(catalog_id, ()) for release in source.releases]
    paths = [file.path for release in releases for file in release.files]
    return {path: folder / path for path in paths if (folder / path).is_file()}


def published_requests(shared: Path, catalog_id: int) -> list[dict[str, Any]]:
    """The published `_evaluation` of single requests of a base benchmark."""
    with (shared / "recipes" / "published-payload-hashes.tsv").open(encoding="utf-8", newline="") as stream:
        records = list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    return [
        {**record, "catalog_id": catalog_id, "proxy_tokens": int(record["proxy_tokens"])}
        for record in records
        if record["catalog_id"] == str(catalog_id)
    ]


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_lines(path: Path, lines: Iterable[str]) -> Path:
    """Write lines with their ends."""
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{line}\n" for line in lines)
    return path


def write_json(path: Path, value: Any) -> Path:
    return write_lines(path, [json.dumps(value)])


def write_json_lines(path: Path, records: Iterable[Any]) -> Path:
    return write_lines(path, map(json.dumps, records))


def write_parquet(path: Path, records: list[dict], **types: str) -> Path:
    """Write records as Parquet, in row groups of two; types: column -> Arrow type where it is not what Arrow infers."""
    import pyarrow
    from pyarrow import parquet

    table = pyarrow.Table.from_pylist(records)
    for column, name in types.items():
        place = table.schema.get_field_index(column)
        table = table.set_column(place, column, table[column].cast(name))
    parquet.write_table(table, path, row_group_size=2)
    return path
