"""Bring one file from a web server to disk: resumed where it was cut off, checked by sha256, never used half-written.

Knows nothing of recipes, mirrors or the Hub. A file that arrives lies beside its place as `<name>.part` until it is
whole and right.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path

import httpx

from suite_builder.arrivals import beside, need_space, settle, sha256_of
from suite_builder.errors import SuiteError
from suite_builder.events import Download
from suite_builder.sources import SourceFile

ATTEMPTS = 5  # in a row without a byte gained
BACKOFF = 1.0  # seconds before the second attempt, doubled with each further one
LONGEST_WAIT = 120.0
TIMEOUT = 30.0
BETWEEN_EVENTS = 0.1  # seconds
GITHUB_API = "https://api.github.com/"

Emit = Callable[[Download], None]


def web_client() -> httpx.Client:
    """Connections for many downloads."""
    return httpx.Client(follow_redirects=True, timeout=TIMEOUT)


def download(client: httpx.Client, file: SourceFile, path: Path, emit: Emit) -> str:
    """Bring a file to `path`, over as many attempts as bring it further; returns its sha256.

    Raises:
        SuiteError: it cannot be downloaded or written, or is not the pinned file and was set aside as `<name>.bad`.
    """
    part = beside(path, ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("ab") as alone:
            fcntl.flock(alone, fcntl.LOCK_EX)
            if path.is_file():  # another process has brought it meanwhile
                part.unlink(missing_ok=True)
                return sha256_of(path)
            if file.sha256 is None:
                alone.truncate(0)  # nothing would tell that an old part and a new rest do not belong together
            return settle(file, part, _download(client, file, part, emit), path)
    except OSError as error:
        raise SuiteError(f"cannot write {part}: {error.strerror or error}") from None


class _Retry(Exception):
    """This attempt failed, another may not. wait: seconds that the server asked for."""

    def __init__(self, problem: str, wait: float | None = None):
        super().__init__(problem)
        self.wait = wait


def _download(client: httpx.Client, file: SourceFile, part: Path, emit: Emit) -> str:
    """Receive the whole file into `part`, over as many attempts as bring it further; returns its sha256."""
    failures, most = 0, 0
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


def _receive(client: httpx.Client, file: SourceFile, part: Path, emit: Emit) -> str:
    """One attempt, from the end of `part` on where the server can; returns the sha256 of the whole."""
    with part.open("rb") as stream:
        digest, have = hashlib.file_digest(stream, "sha256"), stream.tell()
    if digest.hexdigest() == file.sha256:
        return file.sha256
    with client.stream("GET", file.url, headers=_headers(file, have)) as response:
        if response.status_code == 416:
            os.truncate(part, 0)
            raise _Retry("the server has less of it than was received before")
        if response.status_code not in (200, 206):
            raise _refusal(file, response)
        if response.status_code == 200:
            digest, have = hashlib.sha256(), 0
        length = response.headers.get("Content-Length")
        total = file.size or (have + int(length) if length else None)
        need_space(part.parent, (total or have) - have, file.name)
        told = 0.0
        with part.open("ab" if have else "wb") as stream:
            for chunk in response.iter_bytes():
                stream.write(chunk)
                digest.update(chunk)
                have += len(chunk)
                if time.monotonic() - told >= BETWEEN_EVENTS:
                    emit(Download(file.catalog_id, file.path, have, total))
                    told = time.monotonic()
    emit(Download(file.catalog_id, file.path, have, total))
    if file.size and have < file.size:
        raise _Retry(f"the connection ended after {have:,} of {file.size:,} bytes")
    return digest.hexdigest()


def _headers(file: SourceFile, have: int) -> dict[str, str]:
    headers = {"Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    token = os.environ.get("GITHUB_TOKEN")
    if token and file.url.startswith(GITHUB_API):
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _refusal(file: SourceFile, response: httpx.Response) -> Exception:
    status = response.status_code
    if status == 429 or status >= 500:
        return _Retry(f"HTTP {status}", _retry_after(response.headers.get("Retry-After", "")))
    remedy = ""
    if status == 403 and file.url.startswith(GITHUB_API):
        remedy = "; GitHub lists only so much an hour for those who do not sign in: set GITHUB_TOKEN or try again later"
    return SuiteError(f"cannot download {file.name}: {file.url} answers HTTP {status}{remedy}")


def _retry_after(value: str) -> float | None:
    """Seconds to wait by a Retry-After header, which holds seconds or a date."""
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
