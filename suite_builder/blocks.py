"""One benchmark from its source files to its block: the frozen lines that the suite holds of it.

Below the work folder: `sources/<catalog id>/<path>`, `normalized/<track>.jsonl`, `frozen/<catalog id>.jsonl` and, once
a block is complete, `built/<catalog id>.json` with a fingerprint of all that it was made from. While that holds, it is
not made again.
"""

import ast
import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from importlib.resources import files as package_files
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import Any

from suite_builder.catalog import Benchmark
from suite_builder.errors import SuiteError
from suite_builder.events import Event, Stage
from suite_builder.freeze import added_lines, base_lines
from suite_builder.json_files import read_json, write_json
from suite_builder.sources import sources
from suite_builder.store import Store
from suite_builder.tokens import RANK_FILE, cl100k_counter

PACKAGE = package_files("suite_builder")
# Code that every block depends on, besides its own recipe and what that imports.
SHARED_CODE = ("blocks.py", "freeze.py", "rows.py", "tokens.py")

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


@dataclass(frozen=True)
class Inputs:
    """What a block is made from, on disk and checked.

    files: by path, as recipes name them. size: of all of them, bytes. unpinned: public address -> sha256 of the files
    for which none is published. rank_file: of the tokenizer, where tokens have to be counted.
    """

    files: dict[str, Path]
    size: int
    unpinned: dict[str, str]
    rank_file: Path | None


def kept_block(benchmark: Benchmark, work: Path) -> Block | None:
    """The block of an earlier call, unless something that it depends on has changed or its files are not as they were."""
    facts = read_json(_record(benchmark, work))
    if facts.get("fingerprint") != _fingerprint(benchmark):
        return None
    frozen = LineFile.from_json(facts["frozen"])
    normalized = {track: LineFile.from_json(file) for track, file in facts["normalized"].items()}
    intact = all(file.intact() for file in (frozen, *normalized.values()))
    return Block(benchmark, frozen, normalized) if intact else None


def are_here(benchmark: Benchmark, store: Store) -> bool:
    """Whether all that a block is made from is on disk."""
    return not store.missing([*store.files_of(benchmark.catalog_id), *([RANK_FILE] if benchmark.batch else [])])


def obtain_inputs(benchmark: Benchmark, store: Store, emit: Emit) -> Inputs:
    """Bring all that a block is made from.

    Raises:
        SuiteError: a source cannot be had, is not the pinned one, or has changed since a block was made from it.
    """
    found = store.obtain_all(benchmark.catalog_id, emit)
    unpinned = {file.url: got.sha256 for file, got in found.items() if file.sha256 is None}
    record = _record(benchmark, store.work)
    known = read_json(record).get("unpinned", {})
    for file, got in found.items():
        if known.get(file.url, got.sha256) != got.sha256:
            raise SuiteError(
                f"{got.path} is not what {benchmark.dataset} was made from before: its sha256 is {got.sha256}, was "
                f"{known[file.url]}; restore it, or delete {record} to accept it"
            )
    rank_file = store.obtain([RANK_FILE], emit)[RANK_FILE].path if benchmark.batch else None
    files = {file.path: got.path for file, got in found.items()}
    return Inputs(files, sum(path.stat().st_size for path in files.values()), unpinned, rank_file)


def make_block(benchmark: Benchmark, inputs: Inputs, work: Path, emit: Emit) -> Block:
    """Write the normalized and frozen lines of a benchmark, check them, and keep the block for later calls.

    Raises:
        SuiteError: the rows are not the published ones.
        Exception: whatever the recipe meets in its sources.
    """
    recipe = _recipe(benchmark)
    if benchmark.added:
        normalized = {}
        counter = cl100k_counter(inputs.rank_file) if inputs.rank_file else None
        lines = added_lines(benchmark, recipe.rows(inputs.files), counter)
    else:
        normalized = _normalize(benchmark, recipe, inputs.files, work, emit)
        lines = base_lines(benchmark, {track: file.path for track, file in normalized.items()})
    block = Block(benchmark, _freeze(benchmark, lines, work, emit), normalized)
    facts = {
        "fingerprint": _fingerprint(benchmark),
        "unpinned": inputs.unpinned,
        "frozen": block.frozen,
        "normalized": normalized,
    }
    write_json(_record(benchmark, work), facts)
    return block


def _record(benchmark: Benchmark, work: Path) -> Path:
    return work / "built" / f"{benchmark.catalog_id}.json"


def _recipe(benchmark: Benchmark) -> ModuleType:
    return import_module(f"suite_builder.recipes.{benchmark.recipe}")


def _fingerprint(benchmark: Benchmark) -> str:
    """Digest of all that a block depends on: published facts, pinned sources, code and data."""
    data = {f"data/{name}" for name in getattr(_recipe(benchmark), "DATA", ())}
    digest = hashlib.sha256(repr((benchmark, sources().get(benchmark.catalog_id), RANK_FILE)).encode())
    for path in sorted({*SHARED_CODE, *_code_behind(f"recipes/{benchmark.recipe}.py"), *data}):
        digest.update(PACKAGE.joinpath(path).read_bytes())
    return digest.hexdigest()


def _code_behind(path: str) -> set[str]:
    """A module of this package and those that it imports, they or theirs, as paths below the package."""
    found, waiting = set(), [path]
    while waiting:
        if (path := waiting.pop()) not in found:
            found.add(path)
            waiting += _imports(path)
    return found


@cache
def _imports(path: str) -> list[str]:
    nodes = ast.walk(ast.parse(PACKAGE.joinpath(path).read_bytes()))
    imported = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    names = {node.module for node in imported}
    names |= {f"{node.module}.{alias.name}" for node in imported for alias in node.names}
    inside = (name.removeprefix("suite_builder.") for name in names if name.startswith("suite_builder."))
    paths = (name.replace(".", "/") + ".py" for name in inside)
    return [path for path in paths if PACKAGE.joinpath(path).is_file()]


def _normalize(
    benchmark: Benchmark, recipe: ModuleType, files: Mapping[str, Path], work: Path, emit: Emit
) -> dict[str, LineFile]:
    """Write the normalized files of a base benchmark, by track, and check that they are the published ones."""
    written: dict[str, LineFile] = {}
    with stage(emit, benchmark, "normalize") as facts:
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
    with stage(emit, benchmark, "freeze") as facts:
        frozen = _write_lines(work / "frozen" / f"{benchmark.catalog_id}.jsonl", lines)
        known = benchmark.frozen_sha256
        facts |= _summary([frozen], frozen.sha256 == known if known else None)
        if frozen.rows != benchmark.requests:
            raise SuiteError(f"{benchmark.dataset}: {frozen.rows:,} rows came out, not {benchmark.requests:,}")
        if known and frozen.sha256 != known:
            raise SuiteError(f"{benchmark.dataset}: the frozen rows have sha256 {frozen.sha256}, expected {known}")
    return frozen


def tell_unchanged(block: Block, emit: Emit) -> None:
    """Tell of a kept block what would be told of one that was made."""
    event = Stage(block.benchmark.catalog_id, "freeze", "done", unchanged=True)
    emit(replace(event, stage="sources"))
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
def stage(emit: Emit, benchmark: Benchmark, name: str) -> Iterator[dict[str, Any]]:
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
