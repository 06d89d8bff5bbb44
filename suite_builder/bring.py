"""Bring missing source files from where they are published into the work folder.

GitHub files come one by one, or by one archive of the commit when there are very many; Hub files come through
huggingface_hub; patterns are looked up in the listing of the repository.
"""

from pathlib import Path

import httpx
import orjson

from suite_builder.archives import unpack
from suite_builder.download import download, web_client
from suite_builder.errors import SuiteError
from suite_builder.hub import download_from_hub
from suite_builder.listing import published_files
from suite_builder.sources import Origin, SourceFile
from suite_builder.store import Emit, Store

MANY = 500  # files; from so many on, one archive of the whole commit is quicker than a request for each
COMMITS = "https://codeload.github.com/{repository}/tar.gz"


def bring(store: Store, missing: list[SourceFile], emit: Emit) -> dict[str, str]:
    """Download files of one origin; for a member of an archive the archive, for a pattern what it stands for.

    Returns:
        Name -> sha256 of the files that came.

    Raises:
        SuiteError: one cannot be had or is not the pinned file.
    """
    with web_client() as client:
        for pattern in (file for file in missing if file.pattern):
            store.remember(pattern, published_files(pattern, lambda listing: _fetch_json(client, listing, store)))
        wanted = list(dict.fromkeys(file.archive or file for file in store.missing(missing)))
        if len(wanted) >= MANY and wanted[0].origin.kind == "github":
            return _bring_commit(client, store, wanted, emit)
        return {file.name: _bring_one(client, file, store.own / file.name, emit) for file in wanted}


def _bring_one(client: httpx.Client, file: SourceFile, path: Path, emit: Emit) -> str:
    if file.origin.kind == "hub":
        return download_from_hub(file, path, emit)
    return download(client, file, path, emit)


def _bring_commit(client: httpx.Client, store: Store, files: list[SourceFile], emit: Emit) -> dict[str, str]:
    catalog_id, origin = files[0].catalog_id, files[0].origin
    commits = Origin("url", url=COMMITS.format_map(vars(origin)))
    archive = SourceFile(catalog_id, f"{origin.revision}.tar.gz", commits, upstream=origin.revision)
    path = store.own / archive.name
    download(client, archive, path, emit)
    try:
        return unpack(path, archive.name, files, store.own, strip=1)
    finally:
        path.unlink()


def _fetch_json(client: httpx.Client, listing: SourceFile, store: Store) -> dict:
    path = store.own / listing.name
    download(client, listing, path, lambda _event: None)
    try:
        return orjson.loads(path.read_bytes())
    except ValueError as error:
        raise SuiteError(f"{listing.url} is not JSON: {error}") from None
    finally:
        path.unlink()
