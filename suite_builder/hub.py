"""Files of a Hub data set through huggingface_hub, so that Xet, HF_TOKEN, HF_ENDPOINT and the rest work as users know.

The package is loaded on first use. Its errors, whose types differ between its versions, become one line each.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from suite_builder.arrivals import beside, need_space, settle, sha256_of
from suite_builder.errors import SuiteError
from suite_builder.events import Download
from suite_builder.sources import SourceFile

# What to do about an answer of the Hub, other than trying again.
REMEDIES = {401: "; check your access token", 403: "; check what your access token allows", 404: ""}


def download_from_hub(file: SourceFile, path: Path, emit: Callable[[Download], None]) -> str:
    """Bring a file to `path`, by way of the folder `<name>.hub` beside it; returns its sha256.

    Raises:
        SuiteError: it is gated, cannot be downloaded, or is not the pinned file and was set aside as `<name>.bad`.
    """
    from huggingface_hub import hf_hub_download

    staging = beside(path, ".hub")
    path.parent.mkdir(parents=True, exist_ok=True)
    need_space(path.parent, file.size or 0, file.name)
    with _errors_in_a_line(file):
        arrived = hf_hub_download(
            file.origin.repository,
            file.public_path,
            repo_type="dataset",
            revision=file.origin.revision,
            local_dir=staging,
            endpoint=_endpoint(),
            tqdm_class=_progress(file, emit),
        )
    try:
        return settle(file, Path(arrived), sha256_of(Path(arrived)), path)
    finally:
        shutil.rmtree(staging)


def list_hub(file: SourceFile, folder: str) -> Iterator[tuple[str, int, str | None]]:
    """Path, size and (of large files) sha256 of all files below a folder of the data set that `file` is in.

    Raises:
        SuiteError: the data set is gated or cannot be read.
    """
    from huggingface_hub import HfApi

    origin = file.origin
    with _errors_in_a_line(file):
        tree = HfApi(_endpoint()).list_repo_tree(
            origin.repository, folder or None, recursive=True, revision=origin.revision, repo_type="dataset"
        )
        for entry in tree:
            if hasattr(entry, "size"):
                yield entry.path, entry.size, entry.lfs.sha256 if entry.lfs else None


def _endpoint() -> str | None:
    """HF_ENDPOINT as it is now; huggingface_hub looks only once, when it is loaded."""
    return os.environ.get("HF_ENDPOINT", "").rstrip("/") or None


def _progress(file: SourceFile, emit: Callable[[Download], None]) -> type:
    """What huggingface_hub takes for a progress bar: draws nothing, tells of the bytes."""
    from huggingface_hub.utils import tqdm

    class Progress(tqdm):
        def __init__(self, *arguments, **options):
            # With Xet a second bar counts what goes over the network, which is less than the file.
            self.counts = not str(options.get("name")).endswith(".transfer")
            super().__init__(*arguments, **{**options, "disable": True})

        def update(self, n=1):
            self.n += n
            if self.counts:
                emit(Download(file.catalog_id, file.path, self.n, self.total or file.size))

    return Progress


@contextmanager
def _errors_in_a_line(file: SourceFile) -> Iterator[None]:
    from huggingface_hub.errors import GatedRepoError
    from huggingface_hub.utils import logging

    logging.set_verbosity_error()
    try:
        yield
    except Exception as error:
        cause = error.__cause__ or error
        status = getattr(getattr(cause, "response", None), "status_code", None)
        if isinstance(error, GatedRepoError) or (file.origin.gated and status in (401, 403)):
            raise SuiteError(
                f"{file.name} is gated: 1. accept the terms at {file.origin.page} 2. run `hf auth login`, or set "
                "HF_TOKEN to your access token; then run this again"
            ) from None
        problem = f"HTTP {status}" if status else f"{type(cause).__name__}: {cause}".partition("\n")[0]
        remedy = REMEDIES.get(status, "; try again later")
        raise SuiteError(f"cannot download {file.name} from {file.url}: {problem}{remedy}") from None
