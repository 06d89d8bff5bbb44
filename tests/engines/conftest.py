"""A server of somebody else: jevcompat's mock."""

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest


@pytest.fixture
def mock():
    """Starts jevcompat's mock in a process of its own; gives the process and the URL where it listens."""
    pytest.importorskip("jevcompat", reason="jevcompat (test extra) is not installed")
    program = "import sys; from jevcompat.cli import main; sys.exit(main())"
    processes = []

    def start(*arguments, port=0):
        command = [sys.executable, "-c", program, "mock", "--port", str(port), *arguments]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        processes.append(process)
        announced = process.stderr.readline()
        return SimpleNamespace(process=process, url=re.search(r"http://[\d.]+:\d+", announced)[0])

    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stderr.close()
