"""Where the source files of a rebuild are: in a mirror or in the work folder, every pinned one checked by its sha256.

A mirror, when given, is the only place that files come from; nothing in it is ever changed. What is missing otherwise
is brought by `suite_builder.bring`, which is loaded only then.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from suite_builder.archives import unpack
from suite_builder.arrivals import beside, check, sha256_of
from suite_builder.errors import SuiteError
from suite_builder.events import Download
from suite_builder.json_files import read_json, write_json
from suite_builder.listing import Entry, files_below
from suite_builder.sources import Source, SourceFile, sources

Emit = Callable[[Download], None]


@dataclass(frozen=True)
class Obtained:
    """A source file that is there and is the pinned one."""

    path: Path
    sha256: str


@dataclass(frozen=True)
class Store:
    """The source files of one work folder. may_download: what is missing is brought, unless there is a mirror."""

    work: Path
    mirror: Path | None = None
    may_download: bool = True

    @property
    def own(self) -> Path:
        """Where files are downloaded and unpacked to."""
        return self.work / "sources"

    @property
    def folder(self) -> Path:
        """Where files are looked for first."""
        return self.mirror or self.own

    @property
    def offline(self) -> bool:
        """Whether nothing is downloaded."""
        return self.mirror is not None or not self.may_download

    def locate(self, file: SourceFile) -> Path | None:
        """Where a file is, if it is there as such."""
        places = (self.folder / file.name, self.own / file.name)
        return next((path for path in places if path.is_file()), None)

    def has(self, file: SourceFile) -> bool:
        """Whether a file is there, or the archive to take it from."""
        return any(self.locate(one) for one in (file, file.archive) if one)

    def expand(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        """Files with those that patterns stand for in their place; a pattern remains where that is not known."""
        return [match for file in files for match in (self._matches(file) or [file])]

    def _matches(self, file: SourceFile) -> list[SourceFile]:
        if not file.pattern:
            return []
        entries = read_json(self._listings(file)).get(file.url, [])
        if self.offline and not entries:
            entries = [(path, None, None) for path in files_below(self.folder / str(file.catalog_id), file.path)]
        return [replace(file, path=path, size=size, sha256=sha256, pattern=False) for path, size, sha256 in entries]

    def remember(self, pattern: SourceFile, entries: list[Entry]) -> None:
        """Keep what a pattern stands for; at a pinned revision that never changes."""
        known = read_json(self._listings(pattern))
        write_json(self._listings(pattern), {**known, pattern.url: entries})

    def _listings(self, file: SourceFile) -> Path:
        return self.own / str(file.catalog_id) / ".patterns.json"

    def choose(self, source: Source) -> Source:
        """A source, or its equal release when only that is there."""
        there = (release for release in source.releases if not self.missing(release.files))
        return next(there, source)

    def missing(self, files: Iterable[SourceFile]) -> list[SourceFile]:
        """Those of the files that are not there, patterns among them that nothing is known of."""
        return [file for file in self.expand(files) if not self.has(file)]

    def files_of(self, catalog_id: int) -> list[SourceFile]:
        """The files that a benchmark is made from, in the releases that are there."""
        return [file for source in sources().get(catalog_id, ()) for file in self.choose(source).files]

    def obtain_all(self, catalog_id: int, emit: Emit) -> dict[SourceFile, Obtained]:
        """All source files of a benchmark.

        Raises:
            SuiteError: one cannot be had, or is not the pinned file.
        """
        if self.offline:
            self._insist_on(self.files_of(catalog_id))
        found: dict[SourceFile, Obtained] = {}
        for source in sources().get(catalog_id, ()):
            found |= self._obtain_either(source, emit)
        return found

    def _obtain_either(self, source: Source, emit: Emit) -> dict[SourceFile, Obtained]:
        """The files of a source, or of its equal release when they cannot be had; what is already there comes first."""
        first, problems = self.choose(source), []
        for release in sorted(source.releases, key=lambda release: release is not first):
            try:
                return self.obtain(release.files, emit)
            except SuiteError as problem:
                problems.append(problem)
        raise problems[0]

    def obtain(self, files: Iterable[SourceFile], emit: Emit) -> dict[SourceFile, Obtained]:
        """Files of one origin, brought, unpacked and checked as needed; what a pattern stands for comes in its place.

        Raises:
            SuiteError: one cannot be had, or is not the pinned file.
        """
        digests: dict[str, str] = {}
        if self.offline:
            self._insist_on(files)
        elif missing := self.missing(files):
            from suite_builder.bring import bring

            digests |= bring(self, missing, emit)
        files = self.expand(files)
        digests |= self._unpack([file for file in files if not self.locate(file)], digests)
        return {file: self._verified(file, digests) for file in files}

    def _insist_on(self, files: Iterable[SourceFile]) -> None:
        if missing := self.missing(files):
            where = f"the mirror {self.mirror}" if self.mirror else f"{self.folder}, and nothing is to be downloaded"
            first, more = missing[0], f" (the first of {len(missing)} missing files)" if len(missing) > 1 else ""
            origin = first.origin.page if first.pattern else first.url
            raise SuiteError(f"incomplete: {first.name} is not in {where}{more}; it comes from {origin}")

    def _unpack(self, members: list[SourceFile], digests: Mapping[str, str]) -> dict[str, str]:
        """Take members out of their archives, which must be there and right; returns name -> sha256."""
        found: dict[str, str] = {}
        for archive in dict.fromkeys(member.archive for member in members):
            inside = [member for member in members if member.archive == archive]
            path = self._verified(archive, digests).path
            found |= unpack(path, archive.name, inside, self.own, archive.password)
        return found

    def _verified(self, file: SourceFile, digests: Mapping[str, str]) -> Obtained:
        """A file that is there. digests: name -> sha256 of files that have just been hashed."""
        path = self.locate(file)
        sha256 = digests.get(file.name) or sha256_of(path)
        check(file, path, sha256, beside(path, ".bad") if path.is_relative_to(self.own) else None)
        return Obtained(path, sha256)
