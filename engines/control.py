"""How a run is steered: from its own process, or from any other through `control.json` in the run directory."""

import threading
import time
from pathlib import Path

from engines.run_dir import RunError, read_json, write_json

COMMANDS = ("run", "pause", "stop")
SECONDS_BETWEEN_LOOKS = 0.2


class Control:
    """What the run is asked to do. Workers ask `proceed()` between batches; anyone may call the other methods."""

    def __init__(self) -> None:
        self._running = threading.Event()
        self._running.set()
        self._stop_reason: str | None = None

    def pause(self) -> None:
        self._running.clear()

    def resume(self) -> None:
        self._running.set()

    def stop(self, reason: str) -> None:
        """Finish the batches in flight, then end. The first reason stays."""
        self._stop_reason = self._stop_reason or reason
        self._running.set()

    @property
    def paused(self) -> bool:
        return not self._running.is_set()

    @property
    def stop_reason(self) -> str | None:
        return self._stop_reason

    def proceed(self) -> bool:
        """Wait while paused; whether another batch may start."""
        if self.paused:
            self._running.wait()
        return self._stop_reason is None


class ControlFile:
    """Applies the commands that other processes write into a run directory's `control.json`."""

    def __init__(self, path: Path, control: Control):
        self.path = path
        self.control = control
        self._looked = 0.0
        self._applied = "run"
        write_json(path, {"command": "run"})

    def look(self) -> None:
        """Read the file, at most five times a second, and apply a command that is new."""
        if time.monotonic() - self._looked < SECONDS_BETWEEN_LOOKS:
            return
        self._looked = time.monotonic()
        try:
            command = (read_json(self.path) or {}).get("command")
        except RunError:
            return
        if command == self._applied or command not in COMMANDS:
            return
        self._applied = command
        if command == "pause":
            self.control.pause()
        elif command == "run":
            self.control.resume()
        else:
            self.control.stop("stopped from outside")


def send(path: Path, command: str) -> None:
    """Ask the run whose control file this is to `run` (go on), `pause` or `stop`."""
    if command not in COMMANDS:
        raise ValueError(f"unknown command {command!r}")
    write_json(path, {"command": command, "time": time.time()})
