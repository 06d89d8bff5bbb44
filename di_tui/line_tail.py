"""Whole lines that are appended to a file since the last look; tells when it is another file now. Knows no format."""

import os
from pathlib import Path
from typing import NamedTuple

CHUNK = 1 << 20


class Lines(NamedTuple):
    """What one read gave. anew: the file was replaced or cut, and these lines are the first ones of it. more: there is more to
    read at once."""

    lines: list[bytes]
    anew: bool
    more: bool


NOTHING = Lines([], False, False)


class LineTail:
    """Reads one file in chunks. read: share of it that is read, 1 when all is."""

    def __init__(self, path: Path):
        self.path = path
        self.read = 0.0
        self._position = 0
        self._identity: tuple[int, int] | None = None

    def next(self) -> Lines:
        """Whole lines from where the last call ended; a last line without its end waits.

        Raises:
            OSError: the file is there and cannot be read.
        """
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return NOTHING
        with file:
            state = os.fstat(file.fileno())
            identity = (state.st_dev, state.st_ino)
            anew = self._identity not in (None, identity) or state.st_size < self._position
            if anew:
                self._position = 0
            self._identity = identity
            file.seek(self._position)
            chunk = file.read(CHUNK)
            while chunk and b"\n" not in chunk:
                rest = file.read(CHUNK)
                if not rest:
                    break
                chunk += rest
            more = file.tell() < state.st_size
        whole = chunk[: chunk.rfind(b"\n") + 1]
        self._position += len(whole)
        self.read = self._position / state.st_size if more else 1.0
        return Lines(whole.splitlines(), anew, more)
