"""The installed program in a real terminal (tmux), by keys only: build the embedded suite, run, browse to a request, compare,
quit."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from suite_builder.suite import Suite

SECONDS_TO_WAIT = 60.0
PROGRAM = shutil.which("di-tui", path=str(Path(sys.executable).parent))
pytestmark = [
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
    pytest.mark.skipif(PROGRAM is None, reason="needs di-tui installed beside the Python that runs the tests"),
]


class Terminal:
    """A shell in a tmux session of its own, 120 by 40."""

    def __init__(self, folder: Path):
        self._socket = str(folder / "tmux.sock")
        # Snapshot tests leave a terminal size in the environment.
        kept = {name: value for name, value in os.environ.items() if name not in ("TMUX", "COLUMNS", "LINES")}
        environment = {**kept, "XDG_CONFIG_HOME": str(folder / "config"), "LC_ALL": "C.UTF-8", "PS1": "$ "}
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "40", "-c", str(folder), "sh", env=environment)

    def _tmux(self, *arguments: str, **more) -> str:
        return subprocess.run(
            ["tmux", "-u", "-S", self._socket, *arguments], capture_output=True, text=True, check=True, **more
        ).stdout

    def press(self, *keys: str) -> None:
        """Press keys, by their tmux names."""
        self._tmux("send-keys", *keys)

    def text(self) -> str:
        """What is on the screen, every run of blanks as one."""
        return " ".join(self._tmux("capture-pane", "-p").split())

    def trail(self) -> str:
        """The breadcrumbs."""
        return self._tmux("capture-pane", "-p").partition("\n")[0].strip()

    def until(self, *texts: str) -> str:
        """Wait until all texts are on the screen; returns the whole."""
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while not all(text in (shown := self.text()) for text in texts):
            assert time.monotonic() < deadline, f"{texts} did not come; the screen shows:\n{self._tmux('capture-pane', '-p')}"
            time.sleep(0.1)
        return shown

    def end(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def terminal(tmp_path):
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.end()


def test_from_nothing_to_a_comparison_by_keys(terminal, tmp_path):
    terminal.press(f"{PROGRAM}; echo ended with $?", "Enter")
    terminal.until("No runs in runs yet", "none here; u builds one")

    terminal.press("u")
    terminal.until("all benchmarks; or catalog ids", "GB to download")
    terminal.press("Tab", "9")
    terminal.until("--only 9", "nothing to download")
    terminal.press("C-s")
    shown = terminal.until("✓ complete", "1/1 done")
    assert "9 Home appliance simulator ✓ ✓ 160 ✓ 13862aa6…" in shown
    terminal.press("q")
    terminal.until("○ partial")
    assert all(check.ok for check in Suite.open(tmp_path / "suite-0.2-part").verify())

    run(terminal, "lexical")
    terminal.press("b")
    terminal.until("Decision Index 0.2.1", "Home appliance simulator")
    terminal.press("End", "l")
    terminal.until("1,590 of 1,590 questions")
    terminal.press("Enter")
    terminal.until("state and instructions", "device_context", "● gold")
    back_home(terminal)

    run(terminal, "random", "Up", "Enter")
    back_home(terminal)
    terminal.press("Home", "Space")
    terminal.until("* random")
    terminal.press("End", "Space")
    terminal.until("* random", "* lexical")
    terminal.press("c")
    terminal.until(" and ", "B − A", "Raw index", "9 Home appliance")
    back_home(terminal)
    terminal.press("q")
    terminal.until("ended with 0")


def run(terminal: Terminal, name: str, *choose: str) -> None:
    """Begin a run from home and watch it to its end.

    Args:
        choose: keys that choose the engine in the list of them.
    """
    terminal.press("n")
    terminal.until("$ di-tui pipeline --engine lexical")
    if choose:
        terminal.press("Enter")
        terminal.until("my own: module:Class")
        terminal.press(*choose)
    terminal.until(f"--engine {name} --suite-dir suite-0.2-part --out runs/{name}")
    terminal.press("C-s")
    terminal.until("✓ complete", "88/88", "b shows its scores")


def back_home(terminal: Terminal) -> None:
    """Leave one screen after the other until the list of runs is there."""
    while (trail := terminal.trail()) != "di-tui ▶ runs":
        terminal.press("q")
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while terminal.trail() == trail:
            assert time.monotonic() < deadline, f"{trail} is not left"
            time.sleep(0.1)
