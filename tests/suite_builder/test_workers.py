"""Functions in processes of their own: results and events come back, deaths are told, nothing stays behind."""

import os
import signal
import subprocess
import sys
import threading
import time

import psutil
import pytest
import worker_functions
from suites import ENVIRONMENT

from suite_builder.errors import SuiteError
from suite_builder.workers import Died, Stopped, in_process


def run(function, *arguments, emit=lambda event: None, stop=None):
    return in_process(function, *arguments, emit=emit, stop=stop or threading.Event())


def wait_until(is_so) -> None:
    deadline = time.monotonic() + 30
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_result_comes_from_another_process_after_its_events_in_order():
    events = []
    assert run(worker_functions.count, 3, emit=events.append) != os.getpid()
    assert events == [0, 1, 2]


def test_an_error_comes_back_as_its_one_line():
    with pytest.raises(SuiteError, match="^no such source$"):
        run(worker_functions.refuse)
    with pytest.raises(SuiteError, match="^KeyError: 'prompt'$"):
        run(worker_functions.fall_over)


def test_a_process_that_is_killed_is_told_with_the_signal():
    events = []
    with pytest.raises(Died, match="its process was ended by SIGKILL; run it again, with --jobs 1 if memory is short"):
        run(worker_functions.be_killed, emit=events.append)
    assert events == ["about to"]


def test_a_process_that_ends_itself_is_told_with_its_code():
    with pytest.raises(Died, match="its process ended with exit code 3"):
        run(worker_functions.give_up)


def test_a_process_that_is_told_to_stop_is_gone_at_once(tmp_path):
    stop = threading.Event()
    with pytest.raises(Stopped):
        run(worker_functions.hang, tmp_path / "pid", emit=lambda event: stop.set(), stop=stop)
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_an_error_in_taking_an_event_ends_the_process(tmp_path):
    def refuse(_event):
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        run(worker_functions.hang, tmp_path / "pid", emit=refuse)
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text()))


def test_a_process_ends_with_the_one_that_started_it(tmp_path):
    code = (
        "import sys, threading, worker_functions\n"
        "from pathlib import Path\n"
        "from suite_builder.workers import in_process\n"
        "in_process(worker_functions.hang, Path(sys.argv[1]), emit=print, stop=threading.Event())"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, tmp_path / "pid"], env=ENVIRONMENT, stdout=subprocess.PIPE)
    wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    worker = psutil.Process(int((tmp_path / "pid").read_text()))
    parent.send_signal(signal.SIGKILL)
    parent.communicate()
    wait_until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE)
