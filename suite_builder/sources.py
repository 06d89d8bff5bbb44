"""The pinned sources of the suite as data: which files, where they are published, what they must hash to.

Knows nothing of how files are listed, fetched or read.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from urllib.parse import quote

from suite_builder.data_files import list_files, load_json

PAGES = {
    "github": "https://github.com/{repository}",
    "hub": "https://huggingface.co/datasets/{repository}",
    "url": "{url}",
}
ADDRESSES = {
    "github": "https://raw.githubusercontent.com/{repository}/{revision}/{path}",
    "hub": PAGES["hub"] + "/resolve/{revision}/{path}",
    "url": "{url}/{path}",
}


@dataclass(frozen=True)
class Origin:
    """Where files are published: a repository at one revision, or a web folder.

    kind: `github`, `hub` (a data set repository) or `url`. url: the web folder. row_folder: what rows put in front of
    a path, whatever the layout on disk. gated: the terms have to be accepted before the files can be had.
    """

    kind: str
    repository: str | None = None
    revision: str | None = None
    url: str | None = None
    row_folder: str | None = None
    gated: bool = False

    @property
    def name(self) -> str:
        """The repository, or the address of the web folder."""
        return self.repository or self.url

    @property
    def page(self) -> str:
        """The page that a person opens."""
        return PAGES[self.kind].format_map(vars(self))

    def address(self, path: str) -> str:
        """Public address of one file; a path may end in a query."""
        return ADDRESSES[self.kind].format_map({**vars(self), "path": quote(path, "/?=")})


@dataclass(frozen=True)
class SourceFile:
    """One file of a source.

    path: its place below `<catalog_id>/`, in a mirror as in the work folder; for a member of an archive its path in it.
    upstream: its public path where that differs. sha256: None where none is published; then the pinned revision alone
    says what it is. size: bytes, None where it is not known; about: roughly so many, then. pattern: `path` is a glob
    that stands for every file of the pinned revision that it matches. archive: the archive that it is a member of.
    password: of the members of this archive.
    """

    catalog_id: int
    path: str
    origin: Origin
    upstream: str | None = None
    sha256: str | None = None
    size: int | None = None
    about: int | None = None
    pattern: bool = False
    archive: "SourceFile | None" = None
    password: str | None = None

    @property
    def name(self) -> str:
        """`<catalog_id>/<path>`."""
        return f"{self.catalog_id}/{self.path}"

    @property
    def public_path(self) -> str:
        """Its path in the repository or web folder."""
        return self.upstream or self.path

    @property
    def url(self) -> str:
        """Public address of the file, or of the archive that holds it."""
        return self.archive.url if self.archive else self.origin.address(self.public_path)

    @property
    def row_path(self) -> str | None:
        """The path that rows give for it, None where they give none."""
        return f"{self.origin.row_folder}/{self.path}" if self.origin.row_folder else None


@dataclass(frozen=True)
class Source:
    """Files of one origin.

    equal: a release with the same content, whose files may stand in for these; rows name the pinned ones all the same.
    """

    origin: Origin
    files: tuple[SourceFile, ...]
    equal: "Source | None" = None

    @property
    def revision(self) -> str | None:
        """Full hash of the pinned revision."""
        return self.origin.revision

    @property
    def releases(self) -> tuple["Source", ...]:
        """This source and its equal release, if any."""
        return (self, self.equal) if self.equal else (self,)


@cache
def sources() -> dict[int, tuple[Source, ...]]:
    """Catalog id -> its sources. A generated benchmark has none."""
    by_id = {int(Path(name).stem): load_json(name) for name in list_files("sources")}
    return {key: tuple(_source(key, record) for record in records) for key, records in by_id.items()}


def _source(catalog_id: int, record: Mapping) -> Source:
    """A source by its record; one that belongs to another benchmark gives that one's `catalog_id`."""
    catalog_id = record.get("catalog_id", catalog_id)
    origin = Origin(**{field.name: record[field.name] for field in fields(Origin) if field.name in record})
    equal = _source(catalog_id, record["equal"]) if "equal" in record else None
    return Source(origin, tuple(_source_file(catalog_id, origin, file) for file in record["files"]), equal)


def _source_file(catalog_id: int, origin: Origin, record: Mapping) -> SourceFile:
    facts = dict(record)
    if "pattern" in facts:
        facts |= {"path": facts["pattern"], "pattern": True}
    if "archive" in facts:
        facts["archive"] = _source_file(catalog_id, origin, facts["archive"])
    return SourceFile(catalog_id=catalog_id, origin=origin, **facts)


@cache
def pinned(catalog_id: int, path: str) -> SourceFile:
    """The pinned file at `path` of a benchmark; its `row_path` and `sha256` are what rows say about it."""
    return next(file for source in sources()[catalog_id] for file in source.files if file.path == path)
