"""Whether a process still writes a run directory, and which. Reads its lock and heartbeat, changes nothing."""

import socket
import time
from dataclasses import dataclass

import orjson

from engines.run_dir import HEARTBEAT_LIMIT, RunDir, is_alive


@dataclass(frozen=True)
class Writer:
    """The process that a run directory's lock names; `alive` is taken from its heartbeat when it is on another host."""

    pid: int
    host: str
    alive: bool

    def __str__(self) -> str:
        here = self.host == socket.gethostname()
        return f"process {self.pid}" if here else f"process {self.pid} on {self.host}"


def writer_of(run_dir: RunDir, heartbeat: float) -> Writer | None:
    """The process that holds the lock, None when it was given back.

    Args:
        heartbeat: of the run's status, in seconds since the epoch (0 when there is none).
    """
    try:
        holder = orjson.loads(run_dir.lock.read_bytes())
        pid, host = holder["pid"], holder["host"]
        alive = is_alive(holder) if host == socket.gethostname() else time.time() - heartbeat <= HEARTBEAT_LIMIT
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return Writer(pid, host, alive)
