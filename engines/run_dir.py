"""The files of a run directory, JSON files that are replaced atomically, and the lock that keeps it to one writer."""

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import psutil

HEARTBEAT_LIMIT = 60.0


class RunError(Exception):
    """A run cannot start or go on; the message says why and what to do. Finished results are in the file."""


@dataclass(frozen=True)
class RunDir:
    """Paths of one run directory."""

    path: Path

    @property
    def results(self) -> Path:
        return self.path / "results.jsonl"

    @property
    def status(self) -> Path:
        return self.path / "status.json"

    @property
    def environment(self) -> Path:
        return self.path / "environment.json"

    @property
    def control(self) -> Path:
        return self.path / "control.json"

    @property
    def lock(self) -> Path:
        return self.path / "run.lock"

    @property
    def log(self) -> Path:
        return self.path / "run.log"

    def create(self) -> None:
        """Make the directory.

        Raises:
            RunError: it cannot be made or written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunError(f"cannot create {self.path}: {error.strerror}; give --out another folder") from None
        if not os.access(self.path, os.W_OK):
            raise RunError(f"{self.path} is not writable; give --out another folder")

    def set_aside(self) -> list[Path]:
        """Move an earlier run's results and environment out of the way; returns where they are now."""
        stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        present = [path for path in (self.results, self.environment) if path.exists()]
        return [path.rename(path.with_name(f"{path.stem}.{stamp}{path.suffix}")) for path in present]


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file atomically: readers see the old content or the new, never a part.

    Raises:
        RunError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(orjson.dumps(value, default=str, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise RunError(f"cannot write {path}: {error.strerror}") from None


def read_json(path: Path) -> dict[str, Any] | None:
    """Content of a JSON file, None when there is none.

    Raises:
        RunError: the file is not JSON.
    """
    try:
        return orjson.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except orjson.JSONDecodeError as error:
        raise RunError(f"{path} is not valid JSON ({error}); delete it or restore it") from None


class RunLock:
    """Makes this process the only writer of a run directory, for the time of a `with` block.

    The lock file names pid, process start time and host. It is stale on the same host when that process is gone, and on
    another host when the run's heartbeat is over 60 s old and `take_over` is set.

    Raises:
        RunError: another writer holds the directory.
    """

    def __init__(self, run_dir: RunDir, take_over: bool = False):
        self.run_dir = run_dir
        self.take_over = take_over

    def __enter__(self) -> "RunLock":
        with self._open() as file:
            holder = _parse_holder(file.read())
            if holder:
                self._refuse_if_held(holder)
            file.truncate(0)
            file.write(orjson.dumps(this_process()))
        return self

    def __exit__(self, *_exception: object) -> None:
        # Emptied, not deleted: another process may be waiting with this very file open.
        with self._open() as file:
            file.truncate(0)

    @contextmanager
    def _open(self) -> Iterator[BinaryIO]:
        """The lock file, with no other process between reading and writing it."""
        try:
            file = self.run_dir.lock.open("a+b")
        except OSError as error:
            raise RunError(f"cannot write {self.run_dir.lock}: {error.strerror}") from None
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            yield file

    def _refuse_if_held(self, holder: dict[str, Any]) -> None:
        who = f"process {holder['pid']} on {holder['host']}"
        if holder["host"] == socket.gethostname():
            if is_alive(holder):
                raise RunError(f"{self.run_dir.path} is being written by {who}; stop it or give --out another folder")
            return
        age = time.time() - heartbeat(self.run_dir)
        if age <= HEARTBEAT_LIMIT:
            raise RunError(f"{self.run_dir.path} is being written by {who} (last sign of life {age:.0f} s ago)")
        if not self.take_over:
            raise RunError(
                f"{self.run_dir.path} was last written by {who}, silent for {age:.0f} s; "
                "if that process is gone for certain, run again with --take-over"
            )


def this_process() -> dict[str, Any]:
    """What identifies this process: pid, start time (seconds since the epoch) and host."""
    return {"pid": os.getpid(), "started": psutil.Process().create_time(), "host": socket.gethostname()}


def is_alive(holder: dict[str, Any]) -> bool:
    """Whether the process that a lock names still runs on this host (a reused pid has another start time)."""
    try:
        process = psutil.Process(holder["pid"])
        return abs(process.create_time() - holder["started"]) < 1 and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def heartbeat(run_dir: RunDir) -> float:
    """When the run last showed a sign of life, in seconds since the epoch (0 when never)."""
    status = read_json(run_dir.status) or {}
    return status.get("heartbeat", 0.0)


def _parse_holder(content: bytes) -> dict[str, Any] | None:
    try:
        holder = orjson.loads(content)
        return holder if {"pid", "started", "host"} <= holder.keys() else None
    except (orjson.JSONDecodeError, AttributeError):
        return None
