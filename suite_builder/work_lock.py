"""Keeps a work folder to one rebuild at a time. The lock goes with the process that holds it, however that ends."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from suite_builder.errors import SuiteError

LOCK = "rebuild.lock"


@contextmanager
def locked(work: Path) -> Iterator[None]:
    """Hold a work folder for the time of a `with` block.

    Raises:
        SuiteError: another rebuild holds it, or it cannot be written.
    """
    try:
        work.mkdir(parents=True, exist_ok=True)
        file = (work / LOCK).open("ab")
    except OSError as error:
        raise SuiteError(f"cannot write {work / LOCK}: {error.strerror}; choose another work folder") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SuiteError(f"another rebuild is using {work}; wait for it or choose another work folder") from None
        yield
