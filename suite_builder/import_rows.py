"""Stage row files that were built elsewhere as a suite directory, after checking that they are the published ones."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from suite_builder.assemble import write_row_file, write_suite_facts
from suite_builder.editions import Edition
from suite_builder.errors import SuiteError
from suite_builder.row_index import RowIndex
from suite_builder.suite import Suite, read_lines


def import_rows(
    edition: Edition,
    sources: dict[str, Path],
    directory: Path,
    verify: bool = True,
    emit: Callable[[str], None] = lambda text: None,
) -> Suite:
    """Copy row files into `directory` with exclusions, manifest, label file and row store.

    Args:
        sources: stem (`selected-rows`, `added-rows`) -> file, gzip or plain.
        verify: refuse files whose uncompressed sha256 is not the edition's; without it they are staged as partial.

    Raises:
        SuiteError: a file is missing or not the published one; nothing in `directory` has changed then.
    """
    unknown = sources.keys() - edition.files.keys()
    if unknown:
        raise SuiteError(f"edition {edition.id} has no {', '.join(sorted(unknown))}")
    found = {}
    for stem, path in sources.items():
        emit(f"checking {path}")
        found[stem] = content_sha256(path)
        if verify and found[stem] != edition.files[stem].sha256:
            raise SuiteError(
                f"{path} is not the published {stem} of edition {edition.id}: sha256 {found[stem]}, "
                f"expected {edition.files[stem].sha256}. Rebuild it, or import it as it is with --no-verify"
            )
    missing = edition.files.keys() - sources.keys()
    if verify and missing:
        raise SuiteError(f"edition {edition.id} also needs {', '.join(sorted(missing))}; see `di-tui suite import --help`")
    files = {}
    for stem, path in sources.items():
        emit(f"staging {stem}")
        files[stem] = write_row_file(directory, stem, read_lines(path))
    complete = found == {stem: file.sha256 for stem, file in edition.files.items()}
    write_suite_facts(directory, edition, files, partial=not complete)
    suite = Suite.open(directory, edition.id)
    emit("writing label file and row store")
    RowIndex.require(suite).close()
    return suite


def content_sha256(path: Path) -> str:
    """Hex sha256 of the uncompressed content of a plain or gzip file."""
    digest = hashlib.sha256()
    for line in read_lines(path):
        digest.update(line)
    return digest.hexdigest()
