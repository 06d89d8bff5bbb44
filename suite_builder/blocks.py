"""One benchmark from its sources to its block: the frozen lines that the suite holds of it.

Below the work folder: `sources/<catalog id>/<path>`, `normalized/<track>.jsonl`, `frozen/<catalog id>.jsonl` and, once
a block is complete, `built/<catalog id>.json` with a fingerprint of all that it was made from. While that holds, it is
not made again.
"""

import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.resources import files as package_files
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson

from suite_builder.assemble import write_bytes
from suite_builder.catalog import Benchmark
from suite_builder.download import fetch, place
from suite_builder.errors import SuiteError
from suite_builder.events import Event, Stage
from suite_builder.freeze import added_lines, base_lines
from suite_builder.sources import Source, sources
from suite_builder.tokens import RANK_FILE, cl100k_counter

# Code that every block depends on, besides its own recipe.
SHARED_CODE = ("blocks.py", "freeze.py", "rows.py", "tokens.py", "recipes/common.py")

Emit = Callable[[Event], None]


@dataclass(frozen=True)
class LineFile:
    """A file of lines as it was written; size in bytes."""

    path: Path
    rows: int
    sha256: str
    size: int
    modified_ns: int

    @classmethod
    def from_json(cls, facts: dict[str, Any]) -> "LineFile":
        return cls(**{**facts, "path": Path(facts["path"])})

    def intact(self) -> bool:
        """Whether the file is still there as it was written, by size and time."""
        return self.path.is_file() and (self.size, self.modified_ns) == _stamp(self.path)


@dataclass(frozen=True)
class Block:
    """The frozen lines of one benchmark. normalized: its normalized files by track, in published order."""

    benchmark: Benchmark
    frozen: LineFile
    normalized: dict[str, LineFile]

    @property
    def verified(self) -> bool:
        """Whether there was a known sha256 to check the rows against."""
        return bool(self.normalized or self.benchmark.frozen_sha256)


def build_block(benchmark: Benchmark, work: Path, mirror: Path | None, emit: Emit) -> Block:
    """Make the block of a benchmark, or take that of an earlier call when nothing it depends on has changed.

    Raises:
        SuiteError: there is no recipe, a source cannot be had, or the rows are not the published ones.
        Exception: whatever the recipe meets in its sources.
    """
    with _stage(emit, benchmark, "sources") as facts:
        if not benchmark.has_recipe:
            raise SuiteError(f"{benchmark.dataset} cannot be rebuilt: this version has no recipe for it yet")
        recipe = import_module(f"suite_builder.recipes.{benchmark.recipe}")
        fingerprint = _fingerprint(benchmark, recipe)
        record = work / "built" / f"{benchmark.catalog_id}.json"
        block = _recorded(record, benchmark, fingerprint)
        facts["unchanged"] = block is not None
        if block is None:
            files = _obtain(benchmark, work, mirror, emit)
            facts["size"] = sum(path.stat().st_size for path in files.values())
            counter = cl100k_counter(fetch(RANK_FILE, work, mirror, emit)) if benchmark.batch else None
    if block is None:
        normalized = {} if benchmark.added else _normalize(benchmark, recipe, files, work, emit)
        if benchmark.added:
            lines = added_lines(benchmark, recipe.rows(files), counter)
        else:
            lines = base_lines(benchmark, {track: file.path for track, file in normalized.items()})
        block = Block(benchmark, _freeze(benchmark, lines, work, emit), normalized)
        _write_record(record, block, fingerprint)
    else:
        _tell_unchanged(block, emit)
    return block


def _fingerprint(benchmark: Benchmark, recipe: ModuleType) -> str:
    """Digest of all that a block depends on: published facts, pinned sources, code and data."""
    data = (f"data/{name}" for name in getattr(recipe, "DATA", ()))
    digest = hashlib.sha256(repr((benchmark, sources().get(benchmark.catalog_id), RANK_FILE)).encode())
    for name in (*SHARED_CODE, f"recipes/{benchmark.recipe}.py", *data):
        digest.update(package_files("suite_builder").joinpath(name).read_bytes())
    return digest.hexdigest()


def _recorded(record: Path, benchmark: Benchmark, fingerprint: str) -> Block | None:
    """The block of an earlier call, unless it was made from something else or its files are not as they were."""
    facts = read_json(record)
    if facts.get("fingerprint") != fingerprint:
        return None
    frozen = LineFile.from_json(facts["frozen"])
    normalized = {track: LineFile.from_json(file) for track, file in facts["normalized"].items()}
    intact = all(file.intact() for file in (frozen, *normalized.values()))
    return Block(benchmark, frozen, normalized) if intact else None


def _write_record(record: Path, block: Block, fingerprint: str) -> None:
    facts = {"fingerprint": fingerprint, "frozen": block.frozen, "normalized": block.normalized}
    record.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(record, orjson.dumps(facts, default=str))


def read_json(path: Path) -> dict[str, Any]:
    """Content of a JSON file, empty when it is missing or damaged."""
    try:
        return orjson.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return {}


def _obtain(benchmark: Benchmark, work: Path, mirror: Path | None, emit: Emit) -> dict[str, Path]:
    """Verified source files of a benchmark, by their path."""
    found: dict[str, Path] = {}
    for source in sources().get(benchmark.catalog_id, ()):
        found |= _obtain_source(source, work, mirror, emit)
    return found


def _obtain_source(source: Source, work: Path, mirror: Path | None, emit: Emit) -> dict[str, Path]:
    """The files of a source, or of its equal release when they cannot be had; what is already there comes first."""

    def is_absent(release: Source) -> bool:
        return not all(place(file, work, mirror).is_file() for file in release.files)

    problems = []
    for release in sorted(source.releases, key=is_absent):
        try:
            return {file.path: fetch(file, work, mirror, emit) for file in release.files}
        except SuiteError as problem:
            problems.append(problem)
    raise problems[0]


def _normalize(
    benchmark: Benchmark, recipe: ModuleType, files: Mapping[str, Path], work: Path, emit: Emit
) -> dict[str, LineFile]:
    """Write the normalized files of a base benchmark, by track, and check that they are the published ones."""
    written: dict[str, LineFile] = {}
    with _stage(emit, benchmark, "normalize") as facts:
        for track, pairs in groupby(recipe.rows(files), itemgetter(0)):
            lines = (recipe.STYLE(row) for _track, row in pairs)
            written[track] = _write_lines(work / "normalized" / f"{track}.jsonl", lines)
        found = {track: file.sha256 for track, file in written.items()}
        published = {file.track: file.sha256 for file in benchmark.normalized}
        facts |= _summary(written.values(), found == published)
        for track in published | found:
            if found.get(track) != published.get(track):
                raise SuiteError(
                    f"{benchmark.dataset}: the normalized {track} has sha256 {found.get(track)}, "
                    f"published is {published.get(track)}"
                )
    return written


def _freeze(benchmark: Benchmark, lines: Iterable[str], work: Path, emit: Emit) -> LineFile:
    """Write the frozen lines of a benchmark and check their number and, where it is known, their sha256."""
    with _stage(emit, benchmark, "freeze") as facts:
        frozen = _write_lines(work / "frozen" / f"{benchmark.catalog_id}.jsonl", lines)
        known = benchmark.frozen_sha256
        facts |= _summary([frozen], frozen.sha256 == known if known else None)
        if frozen.rows != benchmark.requests:
            raise SuiteError(f"{benchmark.dataset}: {frozen.rows:,} rows came out, not {benchmark.requests:,}")
        if known and frozen.sha256 != known:
            raise SuiteError(f"{benchmark.dataset}: the frozen rows have sha256 {frozen.sha256}, expected {known}")
    return frozen


def _tell_unchanged(block: Block, emit: Emit) -> None:
    event = Stage(block.benchmark.catalog_id, "freeze", "done", unchanged=True)
    if block.normalized:
        emit(replace(event, stage="normalize", **_summary(block.normalized.values(), True)))
    emit(replace(event, **_summary([block.frozen], True if block.benchmark.frozen_sha256 else None)))


def _summary(files: Collection[LineFile], matches: bool | None) -> dict[str, Any]:
    """What an event tells of the files that a stage wrote; the sha256 only when it is one file."""
    return {
        "records": sum(file.rows for file in files),
        "size": sum(file.size for file in files),
        "sha256": next(iter(files)).sha256 if len(files) == 1 else None,
        "matches": matches,
    }


def _write_lines(path: Path, lines: Iterable[str]) -> LineFile:
    """Write lines with their ends; the file appears only when it is whole."""
    digest, rows = hashlib.sha256(), 0
    temporary = path.with_name(f".{path.name}.part")
    path.parent.mkdir(parents=True, exist_ok=True)
    with temporary.open("wb") as stream:
        for line in lines:
            data = f"{line}\n".encode()
            stream.write(data)
            digest.update(data)
            rows += 1
    temporary.replace(path)
    return LineFile(path, rows, digest.hexdigest(), *_stamp(path))


def _stamp(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_size, state.st_mtime_ns


@contextmanager
def _stage(emit: Emit, benchmark: Benchmark, name: str) -> Iterator[dict[str, Any]]:
    """Tell how a stage goes; what is put into the yielded facts goes along with its end."""
    event, started = Stage(benchmark.catalog_id, name, "running"), time.perf_counter()
    facts: dict[str, Any] = {}
    emit(event)
    try:
        yield facts
    except Exception as error:
        emit(replace(event, state="failed", reason=reason(error), **facts))
        raise
    emit(replace(event, state="done", seconds=time.perf_counter() - started, **facts))


def reason(error: Exception) -> str:
    """One line that says why a benchmark could not be built."""
    if isinstance(error, SuiteError):
        return str(error)
    if isinstance(error, ModuleNotFoundError):
        return f"needs the package {error.name!r}, which is not installed: pip install 'di-tui[rebuild]'"
    return f"{type(error).__name__}: {error}"
