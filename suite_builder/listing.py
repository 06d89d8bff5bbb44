"""Which files a pattern stands for: below a folder, or in a repository at its pinned revision.

In a pattern, `*` and `?` stay inside one path component and `**` spans any number of them.
"""

import os
import re
from collections.abc import Callable, Iterable
from itertools import takewhile
from pathlib import Path

from suite_builder.archives import is_inside
from suite_builder.errors import SuiteError
from suite_builder.sources import Origin, SourceFile

# Parts of a pattern and the regular expressions that they stand for.
WILDCARDS = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
TREES = "https://api.github.com/repos/{repository}/git/trees"
LINK = "120000"  # git's mode of a symbolic link

# A file of a repository: path, size in bytes, sha256 where the repository tells it.
Entry = tuple[str, int, str | None]


def matcher(pattern: str) -> Callable[[str], re.Match | None]:
    """A function that tells whether a path matches a pattern as a whole."""
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    return re.compile("".join(WILDCARDS.get(part, re.escape(part)) for part in parts)).fullmatch


def fixed_folder(pattern: str) -> str:
    """The folder that holds everything that a pattern can match, empty for the whole."""
    return "/".join(takewhile(lambda part: not set(part) & set("*?"), pattern.split("/")[:-1]))


def files_below(folder: Path, pattern: str) -> list[str]:
    """Paths, relative to a folder, of the files below it that match a pattern."""
    walk = os.walk(folder / fixed_folder(pattern))
    paths = (Path(parent, name).relative_to(folder).as_posix() for parent, _folders, names in walk for name in names)
    return sorted(filter(matcher(pattern), paths))


def published_files(pattern: SourceFile, fetch_json: Callable[[SourceFile], dict]) -> list[Entry]:
    """The files of its repository, at the pinned revision, that a pattern stands for.

    Args:
        fetch_json: downloads a file and parses it.

    Raises:
        SuiteError: the repository cannot be listed, has no such file, or has one with a path that leads out of it.
    """
    folder = fixed_folder(pattern.path)
    if pattern.origin.kind == "hub":
        from suite_builder.hub import list_hub

        entries = list_hub(pattern, folder)
    else:
        entries = _list_github(pattern, folder, fetch_json)
    matches = matcher(pattern.path)
    found = sorted(entry for entry in entries if matches(entry[0]))
    if not found:
        raise SuiteError(f"{pattern.origin.page} has no file {pattern.path} at revision {pattern.origin.revision}")
    if unsafe := [path for path, _size, _sha256 in found if not is_inside(path)]:
        raise SuiteError(f"{pattern.origin.page} lists {unsafe[0]!r}, a path out of its folder")
    return found


def _list_github(pattern: SourceFile, folder: str, fetch_json: Callable[[SourceFile], dict]) -> Iterable[Entry]:
    """All files below a folder: one request per step down to it, then one for all that is there."""
    trees = Origin("url", url=TREES.format_map(vars(pattern.origin)))

    def entries(tree: str) -> list[dict]:
        answer = fetch_json(SourceFile(pattern.catalog_id, ".listing.json", trees, tree))
        if answer.get("truncated"):
            raise SuiteError(f"{pattern.origin.page} has too many files to be listed below {folder!r}")
        return answer["tree"]

    tree = pattern.origin.revision
    for step in filter(None, folder.split("/")):
        tree = next((entry["sha"] for entry in entries(tree) if (entry["path"], entry["type"]) == (step, "tree")), None)
        if tree is None:
            return
    for entry in entries(f"{tree}?recursive=1"):
        if entry["type"] == "blob" and entry["mode"] != LINK:
            yield f"{folder}/{entry['path']}".lstrip("/"), entry["size"], None
