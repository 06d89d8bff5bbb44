"""Bring one source file to disk: checked by sha256, resumed where it was cut off, never used half-written.

Knows nothing of recipes. A mirror, when given, is the only place that files come from; nothing in it is ever changed.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx

from suite_builder.errors import SuiteError
from suite_builder.events import Download
from suite_builder.sources import HUB, SourceFile

ATTEMPTS = 5  # in a row without a byte gained
BACKOFF = 1.0  # seconds before the second attempt, doubled with each further one
LONGEST_WAIT = 120.0
TIMEOUT = 30.0
SPARE = 64 << 20  # bytes to leave free on the disk


def place(file: SourceFile, work: Path, mirror: Path | None) -> Path:
    """Where a source file is or will be: in the mirror when there is one, else below `work/sources`."""
    return (mirror or work / "sources") / file.name


def fetch(
    file: SourceFile, work: Path, mirror: Path | None = None, emit: Callable[[Download], None] = lambda event: None
) -> Path:
    """The verified file, downloaded first when it is not there yet.

    Raises:
        SuiteError: it is not in the mirror, cannot be downloaded, or is not the pinned file; a wrong download is set
            aside as `<name>.bad`.
    """
    path = place(file, work, mirror)
    if path.is_file():
        with path.open("rb") as stream:
            _check(file, path, hashlib.file_digest(stream, "sha256").hexdigest(), set_aside=not mirror)
    elif mirror:
        raise SuiteError(f"{file.name} is not in the mirror {mirror}; it comes from {file.url}")
    else:
        part = path.with_name(path.name + ".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _check(file, part, _download(file, part, emit), set_aside=True)
            part.replace(path)
        except OSError as error:
            raise SuiteError(f"cannot write {part}: {error.strerror or error}") from None
    return path


def _check(file: SourceFile, path: Path, sha256: str, set_aside: bool) -> None:
    if sha256 == file.sha256:
        return
    remedy = "replace it by the pinned one"
    if set_aside:
        path = path.replace(path.with_name(path.name.removesuffix(".part") + ".bad"))
        remedy = "it was set aside and is downloaded anew next time"
    raise SuiteError(
        f"{path} is not the pinned file {file.name}: its sha256 is {sha256}, expected {file.sha256}; {remedy}"
    )


class _Retry(Exception):
    """This attempt failed, another may not. wait: seconds that the server asked for."""

    def __init__(self, problem: str, wait: float | None = None):
        super().__init__(problem)
        self.wait = wait


def _download(file: SourceFile, part: Path, emit: Callable[[Download], None]) -> str:
    """Receive the whole file into `part`, over as many attempts as bring it further; returns its sha256."""
    failures, most = 0, 0
    with httpx.Client(follow_redirects=True, timeout=TIMEOUT) as client:
        while True:
            try:
                return _receive(client, file, part, emit)
            except (_Retry, httpx.RequestError) as error:
                size = part.stat().st_size
                failures, most = (1, size) if size > most else (failures + 1, most)
                if failures == ATTEMPTS:
                    raise SuiteError(
                        f"cannot download {file.name} from {file.url}: {str(error) or type(error).__name__}; "
                        "try again later, it goes on where it stopped"
                    ) from None
                wait = getattr(error, "wait", None)
                time.sleep(min(BACKOFF * 2 ** (failures - 1) if wait is None else wait, LONGEST_WAIT))


def _receive(client: httpx.Client, file: SourceFile, part: Path, emit: Callable[[Download], None]) -> str:
    """One attempt, from the end of `part` on where the server can; returns the sha256 of the whole."""
    part.touch()
    with part.open("rb") as stream:
        digest, have = hashlib.file_digest(stream, "sha256"), stream.tell()
    if digest.hexdigest() == file.sha256:
        return file.sha256
    _need_space(file, part, have)
    with client.stream("GET", file.url, headers=_headers(file, have)) as response:
        if response.status_code == 416:
            os.truncate(part, 0)
            raise _Retry("the server has less of it than was received before")
        if response.status_code not in (200, 206):
            raise _refusal(file, response)
        if response.status_code == 200:
            digest, have = hashlib.sha256(), 0
        with part.open("ab" if have else "wb") as stream:
            for chunk in response.iter_bytes():
                stream.write(chunk)
                digest.update(chunk)
                have += len(chunk)
                emit(Download(file.catalog_id, file.path, have, file.size))
    if file.size and have < file.size:
        raise _Retry(f"the connection ended after {have:,} of {file.size:,} bytes")
    return digest.hexdigest()


def _need_space(file: SourceFile, part: Path, have: int) -> None:
    need, free = (file.size or 0) - have + SPARE, shutil.disk_usage(part.parent).free
    if free < need:
        raise SuiteError(
            f"no room for {file.name}: {need / 1e6:,.0f} MB needed in {part.parent}, {free / 1e6:,.0f} MB free; "
            "free some space or choose another work folder"
        )


def _headers(file: SourceFile, have: int) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    token = os.environ.get("HF_TOKEN")
    if token and file.url.startswith(HUB):  # httpx drops it when the Hub redirects to another host
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _refusal(file: SourceFile, response: httpx.Response) -> Exception:
    status = response.status_code
    if status == 429 or status >= 500:
        return _Retry(f"HTTP {status}", _retry_after(response.headers.get("Retry-After", "")))
    if status in (401, 403) and file.url.startswith(HUB):
        page = file.url.partition("/resolve/")[0]
        return SuiteError(f"{file.name} is gated: accept the terms at {page}, then set HF_TOKEN to your access token")
    return SuiteError(f"cannot download {file.name}: {file.url} answers HTTP {status}")


def _retry_after(value: str) -> float | None:
    """Seconds to wait by a Retry-After header, which holds seconds or a date."""
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
