"""What a rebuild leaves in its work folder for those who follow it: `rebuild.jsonl`, one event a line. Knows no screen.

The file is begun anew by each rebuild, under a new inode, and its time is the rebuild's sign of life. Beside it lie
`rebuild-control.json`, which steers the rebuild, and `rebuild.log`, what a rebuild without a terminal said.
"""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import orjson

from engines.run_dir import HEARTBEAT_LIMIT, is_alive, this_process
from suite_builder import events
from suite_builder.errors import SuiteError

RECORD = "rebuild.jsonl"
SECONDS_BETWEEN_DOWNLOADS = 0.5  # of one file


@dataclass(frozen=True)
class RebuildFiles:
    """Paths in one work folder."""

    work: Path

    @property
    def events(self) -> Path:
        return self.work / RECORD

    @property
    def control(self) -> Path:
        return self.work / "rebuild-control.json"

    @property
    def log(self) -> Path:
        return self.work / "rebuild.log"


@dataclass(frozen=True, slots=True)
class Began:
    """A rebuild begins. pid, started, host: its process (see run_dir.this_process). arguments: of its command line."""

    edition: str
    suite_dir: str
    mirror: str | None
    arguments: tuple[str, ...]
    pid: int
    started: float
    host: str


@dataclass(frozen=True, slots=True)
class Paused:
    """Nothing goes on until it is resumed. halted: process id and start time of the processes that are held."""

    halted: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Resumed:
    """It goes on."""


@dataclass(frozen=True, slots=True)
class Indexing:
    """The suite is written; its label file and row store are being made."""


@dataclass(frozen=True, slots=True)
class Ended:
    """The rebuild is over: `complete`, `failed` or `interrupted`, and why."""

    state: str
    reason: str | None = None


Event = events.Event | Began | Paused | Resumed | Indexing | Ended
KINDS = {
    kind.__name__.lower(): kind
    for kind in (Began, Paused, Resumed, Indexing, Ended, events.Planned, events.Stage, events.Download, events.Written)
}


class Recorded(NamedTuple):
    """An event and when it happened, in seconds since the epoch."""

    time: float
    event: Event


def decode(line: bytes) -> Recorded:
    """One line of a record.

    Raises:
        ValueError: it is none.
    """
    try:
        record = orjson.loads(line)
        at, kind = float(record.pop("time")), KINDS[record.pop("event")]
        if kind is events.Planned:
            record["download"] = {int(key): size for key, size in record["download"].items()}
        return Recorded(at, kind(**record))
    except (AttributeError, KeyError, TypeError) as error:
        raise ValueError(f"no event of a rebuild: {error!r}") from None


def read_record(files: RebuildFiles) -> Iterator[Recorded]:
    """All events so far; lines that are torn or strange are passed over."""
    try:
        lines = files.events.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        with suppress(ValueError):
            yield decode(line)


def is_going_on(began: Began, record: Path) -> bool:
    """Whether the process that writes a record is there; on another host that is told by the time of its file."""
    if began.host == socket.gethostname():
        return is_alive({"pid": began.pid, "started": began.started})
    return time.time() - last_sign(record) <= HEARTBEAT_LIMIT


def last_sign(record: Path) -> float:
    """When a rebuild last showed that it is alive, in seconds since the epoch (0 when it has no record)."""
    try:
        return record.stat().st_mtime
    except OSError:
        return 0.0


class Record:
    """Writes the events of one rebuild, from any thread. A full disk ends the record, not the rebuild."""

    def __init__(self, files: RebuildFiles, edition: str, suite_dir: Path, mirror: Path | None, arguments: tuple[str, ...]):
        """Begin.

        Raises:
            SuiteError: the work folder cannot be written.
        """
        self._path = files.events
        self._lock = threading.Lock()
        self._told: dict[tuple[int, str], float] = {}
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        try:
            self._file = temporary.open("wb", buffering=0)
            temporary.replace(self._path)
        except OSError as error:
            raise SuiteError(f"cannot write {self._path}: {error.strerror}; choose another work folder") from None
        self.take(Began(edition, str(suite_dir), mirror and str(mirror), arguments, **this_process()))

    def take(self, event: Event) -> None:
        """Write one event; of the downloads of a file only one in a while, and the last."""
        with self._lock:
            now = time.time()
            if isinstance(event, events.Download) and not self._is_worth_telling(event, now):
                return
            record = {"time": now, "event": type(event).__name__.lower(), **asdict(event)}
            with suppress(OSError):
                self._file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS))

    def _is_worth_telling(self, event: events.Download, now: float) -> bool:
        key = event.catalog_id, event.path
        if event.received != event.total and now - self._told.get(key, 0.0) < SECONDS_BETWEEN_DOWNLOADS:
            return False
        self._told[key] = now
        return True

    def show_life(self) -> None:
        """Let the file's time say that the rebuild is alive."""
        with suppress(OSError):
            os.utime(self._path)

    def close(self) -> None:
        self._file.close()
