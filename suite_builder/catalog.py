"""The benchmarks of the suite as data: published names, counts and checksums, in catalog order."""

from dataclasses import dataclass
from functools import cache

from suite_builder.data_files import load_json


@dataclass(frozen=True)
class NormalizedFile:
    """One normalized file of a benchmark: its track (file stem) and published sha256."""

    track: str
    sha256: str


@dataclass(frozen=True)
class Benchmark:
    """Published facts of one benchmark.

    `cases`, `requests` and `fields` count the frozen rows. `frozen_sha256` is the sha256 of the benchmark's own
    lines in the frozen file where it is known (derived from verified normalized files, not published).
    `case_cap`, `request_cap` and `strata` (paths into a row) say what edition 0.1 selects; without a cap it keeps all.
    `batch` groups added benchmarks. `recipe` names the module in `suite_builder.recipes`.
    """

    catalog_id: int
    dataset: str
    origin: str
    licence: str
    cases: int
    requests: int
    fields: int
    recipe: str
    normalized: tuple[NormalizedFile, ...] = ()
    added: bool = False
    frozen_sha256: str | None = None
    case_cap: int | None = None
    request_cap: int | None = None
    strata: tuple[str, ...] = ()
    batch: int | None = None


@cache
def benchmarks() -> dict[int, Benchmark]:
    """Catalog id -> benchmark, in the order of the frozen files (base benchmarks first, then the added ones)."""
    entries = {}
    for record in load_json("benchmarks.json"):
        files = tuple(NormalizedFile(**file) for file in record.get("normalized", ()))
        strata = tuple(record.get("strata", ()))
        entries[record["catalog_id"]] = Benchmark(**{**record, "normalized": files, "strata": strata})
    return entries
