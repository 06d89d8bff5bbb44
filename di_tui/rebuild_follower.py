"""Follows the record of a rebuild that any process writes, and offers a snapshot. Knows no screen.

All reading happens in the follower's own thread, which never waits for whoever looks.
"""

import threading
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from di_tui.line_tail import LineTail
from di_tui.rebuild_record import RebuildFiles, decode, is_going_on, last_sign
from di_tui.rebuild_state import Rebuild, RebuildState
from engines.control import COMMANDS
from engines.run_dir import RunError, read_json

SECONDS_BETWEEN_LOOKS = 0.2
ENDED = ("complete", "failed", "interrupted")
GONE = "gone"


class RebuildFollower:
    """Follows one work folder from `start()` to `stop()`. `look()` does one round, for who has no thread to spare."""

    def __init__(self, work: Path):
        self.files = RebuildFiles(work)
        self._tail = LineTail(self.files.events)
        self._state = RebuildState()
        self._lock = threading.Lock()
        self._alive, self._asked, self._problem = False, "run", None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="rebuild-follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread; returns at once."""
        self._stopped.set()

    def _follow(self) -> None:
        while not self._stopped.is_set():
            self.look()
            self._stopped.wait(SECONDS_BETWEEN_LOOKS)

    def look(self) -> None:
        """Read all that is new."""
        try:
            more = True
            while more:
                lines, anew, more = self._tail.next()
                self._take(lines, anew)
            began = self._state.began
            self._alive = bool(began) and is_going_on(began, self.files.events)
            command = (read_json(self.files.control) or {}).get("command")
            self._asked, self._problem = command if command in COMMANDS else "run", None
        except (RunError, OSError, AttributeError) as error:
            self._problem = str(error)

    def _take(self, lines: list[bytes], anew: bool) -> None:
        with self._lock:
            if anew:
                self._state = RebuildState()
            for line in lines:
                with suppress(ValueError):
                    self._state.take(decode(line))

    def snapshot(self) -> Rebuild:
        """The rebuild as far as it is read, from any thread."""
        with self._lock:
            now = time.time() if self._alive else last_sign(self.files.events)
            seen = self._state.snapshot(now)
        alive = self._alive and seen.phase not in ENDED
        phase = seen.phase if alive or not seen.began or seen.phase in ENDED else GONE
        return replace(seen, phase=phase, alive=alive, asked=self._asked, reason=self._problem or seen.reason)
