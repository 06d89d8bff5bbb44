"""Editions as the suite sees them: files, published checksums and counts, and the rows that an edition reads."""

from dataclasses import dataclass
from functools import cache

from suite_builder.cuts import Cut
from suite_builder.data_files import load_json
from suite_builder.errors import SuiteError


@dataclass(frozen=True)
class RowFile:
    """A published row file. `sha256` is that of the uncompressed content."""

    rows: int
    sha256: str
    gz_sha256: str | None = None


@dataclass(frozen=True)
class Edition:
    """One edition.

    files: stem such as `selected-rows` -> its published file, in reading order. cut_in_file: benchmarks whose rows are cut
    to a subset (subsets.py) in the file. cuts: benchmarks whose rows are cut when they are read.
    """

    id: str
    release: str
    suite_dir: str
    files: dict[str, RowFile]
    requests: int
    scoreable: int
    excluded: int
    added_requests: int
    benchmarks: int
    cut_in_file: tuple[int, ...]
    cuts: dict[int, Cut]

    def reads(self, row) -> bool:
        """Whether the edition reads this row (a `Request` or `Label`), before exclusions."""
        cut = self.cuts.get(row.catalog_id)
        return cut is None or cut.keeps(row)


@cache
def editions() -> dict[str, Edition]:
    """Edition id -> edition, oldest first."""
    return {record["id"]: _edition(record) for record in load_json("editions.json")["editions"]}


def _edition(record: dict) -> Edition:
    files = {stem: RowFile(**file) for stem, file in record["files"].items()}
    cuts = {cut["catalog_id"]: Cut(cut["keep"], cut.get("by")) for cut in record["cuts"]}
    return Edition(**{**record, "files": files, "cut_in_file": tuple(record["cut_in_file"]), "cuts": cuts})


def edition(name: str | None = None) -> Edition:
    """The edition called `name`: an id (`0.2.1`), `v0.2.1` or a release name (`release-v2.1`); the default when None.

    Raises:
        SuiteError: no edition has that name.
    """
    if name is None:
        name = load_json("editions.json")["default"]
    for candidate in editions().values():
        if name in (candidate.id, f"v{candidate.id}", candidate.release):
            return candidate
    raise SuiteError(f"unknown edition {name!r}; choose one of {', '.join(editions())}")
