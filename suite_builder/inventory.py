"""What of the pinned sources is there and what is still to come, without asking the network or reading the files."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from suite_builder.catalog import benchmarks
from suite_builder.sources import Source, SourceFile, sources
from suite_builder.store import Store


@dataclass(frozen=True)
class SourceState:
    """One pinned source and what is there of it.

    repository: or the address of the web folder. instead: the equal release that is there in its place. files: how many
    it has, None where that is known only after a listing; present: how many of them are there, as such or in their
    archive. size, to_download: bytes as published, archives as a whole, as far as known; unknown: files of unknown size
    that are still to come.
    """

    catalog_id: int
    dataset: str
    licence: str
    kind: str
    repository: str
    revision: str | None
    gated: bool
    state: Literal["present", "missing", "gated"]
    instead: str | None
    files: int | None
    present: int
    size: int
    to_download: int
    unknown: int


def survey(store: Store, catalog_ids: Collection[int] | None = None) -> list[SourceState]:
    """The state of every source of these benchmarks, by default of all, in the order of the suite."""
    wanted = [key for key in benchmarks() if catalog_ids is None or key in catalog_ids]
    return [_state(store, key, source) for key in wanted for source in sources().get(key, ()) if source.files]


def to_download(store: Store, catalog_id: int) -> int:
    """Bytes of a benchmark's sources that are still to come, as far as sizes are known."""
    return 0 if store.offline else sum(state.to_download for state in survey(store, [catalog_id]))


def _state(store: Store, catalog_id: int, source: Source) -> SourceState:
    chosen, benchmark, origin = store.choose(source), benchmarks()[catalog_id], source.origin
    files, missing = store.expand(chosen.files), store.missing(chosen.files)
    coming = _downloads(missing)
    return SourceState(
        catalog_id=catalog_id,
        dataset=benchmark.dataset,
        licence=benchmark.licence,
        kind=origin.kind,
        repository=origin.name,
        revision=origin.revision,
        gated=origin.gated,
        state=("gated" if origin.gated else "missing") if missing else "present",
        instead=chosen.origin.name if chosen is not source else None,
        files=None if any(file.pattern for file in files) else len(files),
        present=len(files) - len(missing),
        size=sum(map(_size, _downloads(files))),
        to_download=sum(map(_size, coming)),
        unknown=sum(not _size(file) for file in coming),
    )


def _downloads(files: Iterable[SourceFile]) -> list[SourceFile]:
    """What has to be downloaded to have these files."""
    return list(dict.fromkeys(file.archive or file for file in files))


def _size(file: SourceFile) -> int:
    """Bytes of a file, roughly where no more is known, 0 where nothing is."""
    return file.size or file.about or 0
