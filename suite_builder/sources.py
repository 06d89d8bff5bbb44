"""The pinned sources of the suite as data: which files, where they are published, what they must hash to.

Knows nothing of how files are fetched or read. Every file is named one by one, so that all of them can be checked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from suite_builder.data_files import list_files, load_json

HUB = "https://huggingface.co/"
PUBLIC = {
    "github": "https://raw.githubusercontent.com/{repository}/{revision}/{upstream}",
    "hub": HUB + "datasets/{repository}/resolve/{revision}/{upstream}",
    "url": "{url}/{upstream}",
}


@dataclass(frozen=True)
class SourceFile:
    """One file of a source.

    path: its place below `<catalog_id>/`, in a mirror as in the work folder; for a member of an archive its path inside.
    sha256: None where none is published; then the pinned revision alone says what it is. row_path: the path that rows
    give for it, whatever the layout on disk. size: bytes, None where it is not known. pattern: `path` is a glob that
    stands for every file of the pinned revision that it matches. archive: the archive that it is a member of.
    """

    catalog_id: int
    path: str
    url: str
    sha256: str | None = None
    size: int | None = None
    row_path: str | None = None
    gated: bool = False
    pattern: bool = False
    archive: "SourceFile | None" = None

    @property
    def name(self) -> str:
        """`<catalog_id>/<path>`."""
        return f"{self.catalog_id}/{self.path}"


@dataclass(frozen=True)
class Source:
    """Files of one repository at one revision, or of one web folder.

    equal: a release with the same content, whose files may stand in for these; rows name the pinned ones all the same.
    """

    kind: str
    files: tuple[SourceFile, ...]
    repository: str | None = None
    revision: str | None = None
    equal: "Source | None" = None

    @property
    def releases(self) -> tuple["Source", ...]:
        """This source and its equal release, if any."""
        return (self, self.equal) if self.equal else (self,)


@cache
def sources() -> dict[int, tuple[Source, ...]]:
    """Catalog id -> its sources. A generated benchmark has none."""
    by_id = {int(Path(name).stem): load_json(name) for name in list_files("sources")}
    return {catalog_id: tuple(_source(catalog_id, record) for record in records) for catalog_id, records in by_id.items()}


def _source(catalog_id: int, record: Mapping) -> Source:
    return Source(
        kind=record["kind"],
        files=tuple(_source_file(catalog_id, record, file) for file in record["files"]),
        repository=record.get("repository"),
        revision=record.get("revision"),
        equal=_source(catalog_id, record["equal"]) if "equal" in record else None,
    )


def _source_file(catalog_id: int, record: Mapping, file: Mapping) -> SourceFile:
    path = file.get("path") or file["pattern"]
    return SourceFile(
        catalog_id=catalog_id,
        path=path,
        url=PUBLIC[record["kind"]].format_map({**record, "upstream": file.get("upstream", path)}),
        sha256=file.get("sha256"),
        size=file.get("size"),
        row_path=f"{record['row_folder']}/{path}" if "row_folder" in record else None,
        gated=record.get("gated", False),
        pattern="pattern" in file,
        archive=_source_file(catalog_id, record, file["archive"]) if "archive" in file else None,
    )


@cache
def pinned(catalog_id: int, path: str) -> SourceFile:
    """The pinned file at `path` of a benchmark; its `row_path` and `sha256` are what rows say about it."""
    return next(file for source in sources()[catalog_id] for file in source.files if file.path == path)
