"""What every file goes through that arrives in the work folder: room for it, its checksum, the way to its place."""

import hashlib
import shutil
from pathlib import Path
from typing import IO

from suite_builder.errors import SuiteError
from suite_builder.sources import SourceFile

CHUNK = 1 << 20
SPARE = 64 << 20  # bytes to leave free on the disk


def sha256_of(path: Path) -> str:
    """Hex sha256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write(stream: IO[bytes], path: Path) -> str:
    """Copy a stream to a file; returns its sha256."""
    digest = hashlib.sha256()
    with path.open("wb") as file:
        while chunk := stream.read(CHUNK):
            file.write(chunk)
            digest.update(chunk)
    return digest.hexdigest()


def beside(path: Path, ending: str) -> Path:
    """The path with an ending added to its name."""
    return path.with_name(path.name + ending)


def settle(file: SourceFile, part: Path, sha256: str, path: Path) -> str:
    """Move a file that has arrived as `part` to its place, aside when it is not the pinned one; returns its sha256."""
    check(file, part, sha256, beside(path, ".bad"))
    part.replace(path)
    return sha256


def check(file: SourceFile, path: Path, sha256: str, aside: Path | None = None) -> None:
    """Insist on the pinned sha256, where there is one.

    Raises:
        SuiteError: the file at `path` is another one; it is moved to `aside`, if given.
    """
    if file.sha256 in (None, sha256):
        return
    if aside:
        path = path.replace(aside)
    remedy = "it was set aside and is brought anew next time" if aside else "replace it by the pinned one"
    raise SuiteError(
        f"{path} is not the pinned file {file.name}: its sha256 is {sha256}, expected {file.sha256}; {remedy}"
    )


def need_space(folder: Path, size: int, what: str) -> None:
    """Insist on room for `size` bytes and some to spare.

    Raises:
        SuiteError: the disk of `folder` has not so much left.
    """
    free = shutil.disk_usage(folder).free
    if free < size + SPARE:
        raise SuiteError(
            f"no room for {what}: {(size + SPARE) / 1e6:,.0f} MB needed in {folder}, {free / 1e6:,.0f} MB free; "
            "free some space or choose another work folder"
        )
