"""Take single members out of zip and tar archives: only those asked for, only to where they were asked for.

Nothing in an archive decides where a file goes, and links are never followed.
"""

import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from suite_builder.arrivals import beside, need_space, settle, write
from suite_builder.errors import SuiteError
from suite_builder.sources import SourceFile

# What the readers raise on content that is cut, changed, or encrypted with another password.
DAMAGE = (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, RuntimeError, NotImplementedError)


@dataclass(frozen=True)
class _Entry:
    path: str
    size: int
    is_file: bool
    open: Callable[[], IO[bytes]]


def unpack(
    archive: Path, name: str, members: Iterable[SourceFile], folder: Path, password: str | None = None, strip: int = 0
) -> dict[str, str]:
    """Bring members of an archive to their places below a folder; each is checked by its sha256 where one is pinned.

    Args:
        name: what messages call the archive.
        members: their `public_path` is the inner path.
        strip: so many leading folders of an inner path do not count.

    Returns:
        Name of a member -> hex sha256.

    Raises:
        SuiteError: the archive is damaged, lacks a member, has a link in the place of one or a path that leads out of
            it, or holds a member that is not the pinned file.
    """
    wanted, digests = {member.public_path: member for member in members}, {}
    try:
        with _entries(archive, password) as entries:
            for entry in entries:
                if not is_inside(entry.path):
                    raise SuiteError(f"{name} is not safe to unpack: it holds {entry.path!r}, a path out of its folder")
                if member := wanted.get("/".join(PurePosixPath(entry.path).parts[strip:])):
                    digests[member.name] = _take_out(entry, member, name, folder / member.name)
    except DAMAGE as error:
        left, problem = _listed(wanted, digests), str(error).partition("\n")[0]
        raise SuiteError(f"cannot unpack {left} from {name}, which is damaged or locked: {problem}") from None
    if len(digests) < len(wanted):
        raise SuiteError(f"{name} has no member {_listed(wanted, digests)}")
    return digests


def _take_out(entry: _Entry, member: SourceFile, name: str, path: Path) -> str:
    if not entry.is_file:
        raise SuiteError(f"{name} is not safe to unpack: its member {entry.path} is a link or folder")
    part = beside(path, ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    need_space(part.parent, entry.size, member.name)
    with entry.open() as stream:
        return settle(member, part, write(stream, part), path)


def _listed(wanted: Mapping[str, SourceFile], digests: Mapping[str, str]) -> str:
    """The first of the members that have not been found, and how many more there are."""
    left = [path for path, member in wanted.items() if member.name not in digests]
    return left[0] + (f" and {len(left) - 1} more" if len(left) > 1 else "")


def is_inside(path: str) -> bool:
    """Whether a path of an archive or a listing stays inside its folder."""
    return not path.startswith("/") and ".." not in PurePosixPath(path).parts and "\\" not in path


@contextmanager
def _entries(archive: Path, password: str | None) -> Iterator[Iterator[_Entry]]:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as opened:
            opened.setpassword(password.encode() if password else None)
            yield (_zip_entry(opened, info) for info in opened.infolist())
    else:
        with tarfile.open(archive) as opened:
            yield (_Entry(info.name, info.size, info.isreg(), lambda: opened.extractfile(info)) for info in opened)


def _zip_entry(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Entry:
    is_file = not info.is_dir() and not stat.S_ISLNK(info.external_attr >> 16)
    return _Entry(info.filename, info.file_size, is_file, lambda: opened.open(info))
