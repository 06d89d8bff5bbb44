import os
import subprocess
import sys
import time

import orjson
import pytest

from engines import control
from engines.control import Control, ControlFile
from engines.run_dir import RunDir, RunError, RunLock, read_json, this_process, write_json


@pytest.fixture
def run_dir(tmp_path):
    return RunDir(tmp_path)


def hold(run_dir, **changed):
    run_dir.lock.write_bytes(orjson.dumps({**this_process(), **changed}))


def test_a_second_writer_is_refused_and_the_holder_named(run_dir):
    with RunLock(run_dir):
        with pytest.raises(RunError, match=f"is being written by process {os.getpid()} on .*--out another folder"):
            RunLock(run_dir).__enter__()
    with RunLock(run_dir):
        pass


def test_a_lock_of_a_dead_process_is_stale(run_dir):
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    hold(run_dir, pid=process.pid)
    with RunLock(run_dir):
        assert orjson.loads(run_dir.lock.read_bytes())["pid"] == os.getpid()


def test_a_lock_of_a_reused_pid_is_stale(run_dir):
    hold(run_dir, started=this_process()["started"] - 1000)
    with RunLock(run_dir):
        assert orjson.loads(run_dir.lock.read_bytes()) == this_process()


def test_another_host_keeps_its_lock_while_its_heartbeat_is_fresh(run_dir):
    hold(run_dir, host="elsewhere")
    write_json(run_dir.status, {"heartbeat": time.time() - 5})
    for take_over in (False, True):
        with pytest.raises(RunError, match=r"process \d+ on elsewhere \(last sign of life 5 s ago\)"):
            RunLock(run_dir, take_over).__enter__()


def test_another_host_loses_its_lock_only_when_silent_and_asked_for(run_dir):
    hold(run_dir, host="elsewhere")
    write_json(run_dir.status, {"heartbeat": time.time() - 90})
    with pytest.raises(RunError, match="silent for 90 s.*--take-over"):
        RunLock(run_dir).__enter__()
    with RunLock(run_dir, take_over=True):
        pass


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"pid": 1}'])
def test_a_lock_file_without_a_holder_is_free(run_dir, content):
    run_dir.lock.write_bytes(content)
    with RunLock(run_dir):
        assert orjson.loads(run_dir.lock.read_bytes())["pid"] == os.getpid()
    assert run_dir.lock.read_bytes() == b""


def test_json_files_are_replaced_whole(run_dir):
    write_json(run_dir.status, {"a": 1})
    write_json(run_dir.status, {"b": "é"})
    assert read_json(run_dir.status) == {"b": "é"}
    assert [path.name for path in run_dir.path.iterdir()] == ["status.json"]
    assert read_json(run_dir.environment) is None
    run_dir.environment.write_text("{")
    with pytest.raises(RunError, match="environment.json is not valid JSON"):
        read_json(run_dir.environment)


def test_a_directory_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot create .*--out another folder"):
        RunDir(tmp_path / "file" / "run").create()


def test_setting_aside_moves_and_never_deletes(run_dir):
    run_dir.results.write_text("old\n")
    run_dir.environment.write_text("{}")
    moved = run_dir.set_aside()
    assert [path.read_text() for path in moved] == ["old\n", "{}"]
    assert not run_dir.results.exists() and not run_dir.environment.exists()


def test_commands_of_another_process_are_applied_once(run_dir, monkeypatch):
    monkeypatch.setattr(control, "SECONDS_BETWEEN_LOOKS", 0.0)
    steered = Control()
    file = ControlFile(run_dir.control, steered)
    control.send(run_dir.control, "pause")
    file.look()
    assert steered.paused
    steered.resume()
    file.look()
    assert not steered.paused
    control.send(run_dir.control, "stop")
    file.look()
    assert steered.stop_reason == "stopped from outside"
    assert not steered.proceed()


def test_a_command_left_by_an_earlier_session_is_forgotten(run_dir, monkeypatch):
    monkeypatch.setattr(control, "SECONDS_BETWEEN_LOOKS", 0.0)
    control.send(run_dir.control, "stop")
    steered = Control()
    ControlFile(run_dir.control, steered).look()
    assert steered.proceed()


def test_an_unreadable_control_file_changes_nothing(run_dir, monkeypatch):
    monkeypatch.setattr(control, "SECONDS_BETWEEN_LOOKS", 0.0)
    steered = Control()
    file = ControlFile(run_dir.control, steered)
    for content in ("{", '{"command": "dance"}', "{}"):
        run_dir.control.write_text(content)
        file.look()
    assert steered.proceed() and not steered.paused


def test_unknown_commands_are_not_sent(run_dir):
    with pytest.raises(ValueError, match="dance"):
        control.send(run_dir.control, "dance")
