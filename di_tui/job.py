"""A command of this program in a process of its own. Knows nothing of what the command does."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from engines.run_dir import RunError


class Job:
    """The process has its own session, so that a closed terminal does not end it; what it says goes to a log file."""

    def __init__(self, log: Path, arguments: Sequence[str]):
        """Start it.

        Args:
            arguments: as after `di-tui` on the command line. Without a terminal the command runs headless.

        Raises:
            RunError: the log cannot be written.
        """
        self.log = log
        try:
            log.parent.mkdir(parents=True, exist_ok=True)
            stream = log.open("ab")
        except OSError as error:
            raise RunError(f"cannot write {log}: {error.strerror}; choose another folder") from None
        with stream:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "di_tui", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )
        self.stopping = False

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Exit code, None while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """Ask it to end with everything finished kept, as Ctrl-C does; it hears this while it still starts, too."""
        self.stopping = True
        self._process.terminate()

    def wait(self) -> None:
        """Return when it has ended."""
        self._process.wait()

    def last_word(self) -> str:
        """The last line that it said."""
        lines = self.log.read_text("utf-8", "replace").splitlines()
        return lines[-1] if lines else "it ended without a word"


def after_the_app(job: Job, watch: str) -> int:
    """Say what becomes of a job whose app was left; returns its exit code, 0 when it goes on.

    Args:
        watch: the command that shows it again.
    """
    if job.stopping:
        print("stopping; what is finished is kept")
        job.wait()
    if job.code is None:
        print(f"process {job.pid} goes on; see it again with: {watch}")
    elif job.code:
        print(job.last_word(), file=sys.stderr)
    return job.code or 0
