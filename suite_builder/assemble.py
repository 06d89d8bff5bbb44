"""Write the files of a suite directory: row files, exclusions and manifest, each replaced atomically."""

import gzip
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from suite_builder.data_files import load_lines
from suite_builder.editions import Edition, editions
from suite_builder.errors import SuiteError
from suite_builder.suite import EXCLUSIONS, MANIFEST


def write_row_file(directory: Path, stem: str, lines: Iterable[bytes]) -> dict[str, Any]:
    """Write `<stem>.jsonl.gz` (level 9, no name, no time: the same rows give the same bytes).

    Returns:
        `uncompressed_sha256` and `rows`, as the manifest records them.

    Raises:
        SuiteError: the directory cannot be written.
    """
    digest, rows = hashlib.sha256(), 0
    path = directory / f"{stem}.jsonl.gz"
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
            for line in lines:
                digest.update(line)
                packed.write(line)
                rows += 1
        temporary.replace(path)
    except OSError as error:
        raise SuiteError(f"cannot write {path}: {error.strerror or error}; free some space or choose another folder") from None
    finally:
        temporary.unlink(missing_ok=True)
    return {"uncompressed_sha256": digest.hexdigest(), "rows": rows}


def write_suite_facts(
    directory: Path,
    edition: Edition,
    files: dict[str, dict[str, Any]],
    partial: bool,
    benchmarks: list[dict[str, Any]] | None = None,
) -> None:
    """Write `excluded-questions.json` (all 442 run ids) and `manifest.json`.

    Args:
        files: stem -> what `write_row_file` returned.
        benchmarks: a record per benchmark, where the writer knows them.
    """
    pairs = (line.split("\t") for line in load_lines("excluded-run-ids.txt"))
    exclusions = {"rows": {run_id: {"reason": reason} for run_id, reason in pairs}}
    oldest = next(candidate for candidate in editions().values() if candidate.files == edition.files)
    manifest = {
        "edition": oldest.release,
        "partial": partial,
        "files": {f"{stem}.jsonl.gz": facts for stem, facts in files.items()},
    }
    if benchmarks is not None:
        manifest["benchmarks"] = benchmarks
    for name, value in ((EXCLUSIONS, exclusions), (MANIFEST, manifest)):
        write_bytes(directory / name, orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def write_bytes(path: Path, content: bytes) -> None:
    """Replace a small file atomically."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise SuiteError(f"cannot write {path}: {error.strerror}") from None
