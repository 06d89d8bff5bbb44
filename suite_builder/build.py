"""The rebuild job: the blocks of an edition's benchmarks, then the suite directory made of them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite_builder.assemble import write_row_file, write_suite_facts
from suite_builder.blocks import Block, Emit
from suite_builder.catalog import Benchmark, benchmarks
from suite_builder.editions import Edition
from suite_builder.editions import edition as edition_named
from suite_builder.errors import SuiteError
from suite_builder.events import Written
from suite_builder.json_files import read_json
from suite_builder.row_files import ADDED, Lines, row_files
from suite_builder.schedule import build_blocks
from suite_builder.store import Store
from suite_builder.suite import EXCLUSIONS, MANIFEST, has_row_file, row_file
from suite_builder.work_lock import locked


@dataclass(frozen=True)
class RebuildResult:
    """What a rebuild came to. failed: catalog id -> why it could not be built."""

    blocks: tuple[Block, ...]
    failed: dict[int, str]
    partial: bool

    @property
    def ok(self) -> bool:
        return not self.failed


def rebuild(
    work: Path,
    suite_dir: Path,
    edition: Edition,
    only: Sequence[int] | None = None,
    mirror: Path | None = None,
    allow_partial: bool = False,
    emit: Emit = lambda event: None,
    jobs: int | None = None,
    skip_download: bool = False,
) -> RebuildResult:
    """Build what is missing or changed, then write the suite directory. A failing benchmark does not stop the others.

    With several benchmarks, processes are started anew: a script that calls this guards its main part with
    `if __name__ == "__main__":`, as for multiprocessing.

    Args:
        only: the catalog ids to build; the suite then holds these alone and is partial.
        mirror: folder to read the sources from instead of the network.
        allow_partial: write a suite that lacks benchmarks of the edition.
        jobs: so many recipes at a time, each in a process of its own, by default as many as there are cores; with 1,
            recipes run in this very process.
        skip_download: use only the sources that are there.

    Raises:
        SuiteError: the suite would be partial and may not be, would replace a complete one, or cannot be written;
            another rebuild uses the work folder; the disk has no room for the sources.
        KeyboardInterrupt: Ctrl-C; what is finished is kept, and the next call goes on from there.
    """
    in_edition = [entry for entry in benchmarks().values() if not entry.added or ADDED in edition.files]
    wanted = _chosen(in_edition, edition, only)
    whole = only is None and not allow_partial
    store = Store(work, mirror, not skip_download)
    with locked(work):
        blocks, failed = build_blocks(wanted, store, jobs, emit)
        built = {block.benchmark for block in blocks}
        lacking = [entry for entry in in_edition if entry not in built]
        if whole and lacking:
            raise _lacking(edition, lacking, failed)
        if blocks:
            _write_suite(suite_dir, edition, blocks, bool(lacking), store, emit)
    return RebuildResult(tuple(blocks), failed, bool(lacking))


def _chosen(in_edition: list[Benchmark], edition: Edition, only: Sequence[int] | None) -> list[Benchmark]:
    if only is None:
        return in_edition
    if unknown := set(only) - {entry.catalog_id for entry in in_edition}:
        raise SuiteError(f"edition {edition.id} has no benchmark {', '.join(map(str, sorted(unknown)))}")
    return [entry for entry in in_edition if entry.catalog_id in only]


def _lacking(edition: Edition, lacking: list[Benchmark], failed: dict[int, str]) -> SuiteError:
    names = ", ".join(f"{entry.catalog_id} {entry.dataset}" for entry in lacking)
    return SuiteError(
        f"the suite of edition {edition.id} would lack {len(lacking)} benchmarks that could not be built: {names}. "
        f"The first because: {failed[lacking[0].catalog_id]}. "
        "Write a partial one with --allow-partial, or choose benchmarks with --only"
    )


def _write_suite(
    directory: Path, edition: Edition, blocks: list[Block], partial: bool, store: Store, emit: Emit
) -> None:
    manifest = read_json(directory / MANIFEST)
    if partial and manifest and not manifest.get("partial"):
        raise SuiteError(f"{directory} holds a complete suite; write the partial one elsewhere with --suite-dir")
    described = [_describe(block) for block in blocks]
    unchanged = _is_current(directory, manifest, edition, partial, described)
    if not unchanged:
        files = _write_rows(directory, edition, row_files(edition, blocks, store, emit), partial)
        write_suite_facts(directory, edition, files, partial, described)
        manifest = read_json(directory / MANIFEST)
    rows = sum(facts["rows"] for facts in manifest["files"].values())
    emit(Written(str(directory), partial, rows, unchanged))


def _describe(block: Block) -> dict[str, Any]:
    """A benchmark's record in the manifest."""
    return {
        "catalog_id": block.benchmark.catalog_id,
        "dataset": block.benchmark.dataset,
        "rows": block.frozen.rows,
        "sha256": block.frozen.sha256,
        "verified": block.verified,
        "normalized": {track: file.sha256 for track, file in block.normalized.items()},
    }


def _is_current(directory: Path, manifest: dict, edition: Edition, partial: bool, described: list[dict]) -> bool:
    """Whether the directory was made from these very blocks and still has its files."""
    return (
        (manifest.get("benchmarks"), manifest.get("partial")) == (described, partial)
        and edition_named(manifest["edition"]).files == edition.files
        and (directory / EXCLUSIONS).is_file()
        and all(_size(directory / name) == facts["size"] for name, facts in manifest["files"].items())
    )


def _size(path: Path) -> int | None:
    return path.stat().st_size if path.is_file() else None


def _write_rows(
    directory: Path, edition: Edition, contents: dict[str, Lines], partial: bool
) -> dict[str, dict[str, Any]]:
    """Write the row files, remove those that the suite no longer has; returns the manifest's facts."""
    if not partial:
        _check_whole(edition, contents)
    files = {}
    for stem, lines in contents.items():
        files[stem] = write_row_file(directory, stem, lines())
        files[stem]["size"] = _size(row_file(directory, stem))
    for stem in edition.files.keys() - contents.keys():
        if has_row_file(directory, stem):
            row_file(directory, stem).unlink()
    return files


def _check_whole(edition: Edition, contents: dict[str, Lines]) -> None:
    for stem, published in edition.files.items():
        digest = hashlib.sha256()
        for line in contents[stem]():
            digest.update(line)
        if digest.hexdigest() != published.sha256:
            raise SuiteError(
                f"the rebuilt {stem} have sha256 {digest.hexdigest()}, edition {edition.id} has {published.sha256}; "
                "no suite was written"
            )
