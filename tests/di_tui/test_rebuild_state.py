"""What is recorded of a rebuild, and what the record comes to."""

from pathlib import Path

import pytest

from di_tui.line_tail import LineTail
from di_tui.rebuild_follower import RebuildFollower
from di_tui.rebuild_record import Began, Ended, Indexing, Paused, RebuildFiles, Record, Recorded, Resumed, decode, read_record
from di_tui.rebuild_state import RebuildState
from engines.run_dir import this_process
from suite_builder.catalog import benchmarks
from suite_builder.events import Download, Planned, Stage, Written

HERE = this_process()
BEGAN = Began("0.2.1", "suite", None, ("suite", "rebuild"), **HERE)
EVENTS = [
    Planned({4: 1000, 9: 0}),
    Stage(4, "sources", "waiting"),
    Stage(4, "sources", "running"),
    Download(4, "a", 100, 1000),
    Stage(4, "sources", "failed", reason="no such file"),
    Stage(9, "freeze", "done", size=7, records=160, seconds=0.5, sha256="ab", matches=True, unchanged=True),
    Paused(((1, 2.0),)),
    Resumed(),
    Indexing(),
    Written("suite", True, 160, False),
    Ended("failed", "1 failed"),
]


@pytest.fixture
def record(tmp_path):
    record = Record(RebuildFiles(tmp_path), "0.2.1", Path("suite"), None, ("suite", "rebuild"))
    yield record
    record.close()


def test_events_come_back_as_they_were(record, tmp_path):
    for event in EVENTS:
        record.take(event)
    began, *told = [recorded.event for recorded in read_record(RebuildFiles(tmp_path))]
    assert (began.pid, began.arguments) == (HERE["pid"], ["suite", "rebuild"])
    assert told[:6] + told[7:] == EVENTS[:6] + EVENTS[7:]
    assert told[6].halted == [[1, 2.0]]


def test_a_file_that_arrives_is_told_now_and_then_and_at_its_end(record, tmp_path):
    for received in (*range(0, 1000, 10), 1000):
        record.take(Download(4, "a", received, 1000))
    told = [recorded.event.received for recorded in read_record(RebuildFiles(tmp_path)) if isinstance(recorded.event, Download)]
    assert told[0] == 0 and told[-1] == 1000 and len(told) < 5


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'{"time": 1}', b'{"time": 1, "event": "other"}', b'{"time": 1, "event": "stage"}']
)
def test_strange_lines_are_no_events(line):
    with pytest.raises(ValueError):
        decode(line)


def state_of(*entries):
    state = RebuildState()
    state.take(Recorded(100.0, BEGAN))
    for at, event in entries:
        state.take(Recorded(at, event))
    return state


def test_bytes_rates_and_time_left_are_those_of_the_last_seconds():
    state = state_of(
        (100.0, Stage(4, "sources", "waiting")),
        (100.0, Planned({4: 10_000})),
        (100.0, Stage(4, "sources", "running")),
        (101.0, Download(4, "a", 2_000, 10_000)),  # of an earlier rebuild
        (102.0, Download(4, "a", 3_000, 10_000)),
        (104.0, Download(4, "a", 4_000, 10_000)),
    )
    now = state.snapshot(105.0)
    assert (now.received, now.total, now.rate, now.eta) == (4_000, 10_000, 400.0, 15.0)
    assert now.share == pytest.approx(0.4 / 3)
    assert state.snapshot(130.0).rate == 0


def test_pauses_are_no_working_time():
    made, left = (benchmarks()[key].requests for key in (9, 34))
    state = state_of(
        (100.0, Stage(9, "sources", "waiting")),
        (100.0, Stage(34, "sources", "waiting")),
        (101.0, Stage(9, "freeze", "done", records=160)),
        (102.0, Paused(())),
        (110.0, Resumed()),
    )
    assert state.snapshot(112.0).eta == pytest.approx(4.0 * left / made)
    assert state.snapshot(112.0).phase == "running"


def test_what_an_earlier_rebuild_made_is_kept_and_says_nothing_about_speed():
    state = state_of(
        (100.0, Stage(34, "sources", "waiting")),
        (100.0, Stage(9, "sources", "waiting")),
        (101.0, Stage(9, "freeze", "done", records=160, unchanged=True)),
    )
    now = state.snapshot(102.0)
    assert now.benchmark(9).kept and now.benchmark(9).done and now.eta is None
    assert [one.catalog_id for one in now.benchmarks] == [34, 9]


def test_a_record_without_an_end_whose_process_is_gone_is_told(record, tmp_path):
    follower = RebuildFollower(tmp_path)
    follower.look()
    assert (follower.snapshot().phase, follower.snapshot().alive) == ("running", True)
    path = RebuildFiles(tmp_path).events
    path.write_bytes(path.read_bytes().replace(b'"started":', b'"started":1'))
    follower = RebuildFollower(tmp_path)
    follower.look()
    assert (follower.snapshot().phase, follower.snapshot().alive) == ("gone", False)


def test_a_new_rebuild_replaces_what_was_shown_of_the_one_before(record, tmp_path):
    record.take(Stage(9, "sources", "failed", reason="no"))
    follower = RebuildFollower(tmp_path)
    follower.look()
    assert len(follower.snapshot().failed) == 1
    Record(RebuildFiles(tmp_path), "0.3", Path("suite-0.3"), None, ()).close()
    follower.look()
    assert follower.snapshot().failed == () and follower.snapshot().began.edition == "0.3"


def test_a_broken_control_file_is_told(record, tmp_path):
    RebuildFiles(tmp_path).control.write_text("{")
    follower = RebuildFollower(tmp_path)
    follower.look()
    assert "is not valid JSON" in follower.snapshot().reason


def test_a_tail_gives_whole_lines_and_waits_for_the_rest(tmp_path):
    path = tmp_path / "lines"
    tail = LineTail(path)
    assert tail.next() == ([], False, False)
    path.write_bytes(b"one\ntw")
    assert tail.next() == ([b"one"], False, False)
    with path.open("ab") as file:
        file.write(b"o\nthree\n")
    assert tail.next() == ([b"two", b"three"], False, False)
    path.write_bytes(b"new\n")
    assert tail.next() == ([b"new"], True, False)
