"""What a rebuild shows: how far it is, what arrives and how fast, and what of the sources is there."""

import json
from types import SimpleNamespace

import orjson
import pytest

from di_tui.display import rebuild
from di_tui.display.rebuild import JsonRebuildDisplay, RichRebuildDisplay, Traffic
from di_tui.display.sources import show_sources
from suite_builder.events import Download, Planned, Stage
from suite_builder.inventory import survey
from suite_builder.store import Store


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still unless it is moved."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(rebuild.time, "monotonic", lambda: clock.now)
    return clock


def test_traffic_adds_up_over_files_and_leaves_out_what_was_there_before(clock):
    traffic = Traffic()
    traffic.coming = {4: 1000, 5: 3000}
    traffic.take(Download(4, "a", 600, 1000))  # resumed
    clock.now += 2
    traffic.take(Download(4, "a", 1000, 1000))
    traffic.take(Download(5, "b", 0, None))
    traffic.take(Download(5, "b", 600, None))
    assert (traffic.received(4), traffic.received(5)) == (1000, 600)
    assert traffic.summary() == {"received": 1600, "total": 4000, "rate": 500.0, "eta": 4.8}


def test_a_total_that_was_not_planned_is_taken_from_the_servers(clock):
    traffic = Traffic()
    traffic.take(Download(4, "a", 10, 50))
    assert traffic.total(4) == 50
    assert traffic.summary()["eta"] is None


def test_the_table_tells_progress_failures_and_what_arrives(clock, capsys):
    display = RichRebuildDisplay()
    display.console.width = 120
    for event in (
        *(Stage(key, "sources", "waiting") for key in (4, 5, 9)),
        Planned({4: 2_000_000, 5: 0}),
        Stage(9, "freeze", "done", records=160),
        Stage(5, "sources", "failed", reason="no"),
        Stage(4, "sources", "running"),
        Download(4, "a", 500_000, 2_000_000),
    ):
        display.emit(event)
    display.console.print(display._render())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].rstrip() == "1/3 done  1 failed  0.5 MB of 2.0 MB  0 kB/s  ETA –"
    assert "25% of 2.0 MB" in lines[2] and "× failed" in lines[3] and "✓ 160" in lines[4]


def test_programs_hear_of_downloads_now_and_then(clock, capsys):
    display = JsonRebuildDisplay()
    for _second in range(12):
        display.emit(Download(4, "a", 10, 50))
        clock.now += 1
    lines = [orjson.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["event"] for line in lines] == ["download", "download"]


@pytest.fixture
def mirror(tmp_path):
    """A mirror with the one source file of benchmark 34, unread."""
    (tmp_path / "34").mkdir()
    (tmp_path / "34" / "simple_bench_public.json").write_text("{}")
    return tmp_path


def test_sources_are_listed_with_their_state_and_a_total(di_tui, mirror, tmp_path):
    done = di_tui("suite", "sources", "--mirror", mirror, "--only", "9", "34", "45", "61")
    assert done.returncode == 0
    *sources, total = map(json.loads, done.stdout.splitlines())
    facts = [(line["catalog_id"], line["state"], line["present"], line["files"]) for line in sources]
    assert facts == [(34, "present", 1, 1), (45, "gated", 0, 1), (61, "missing", 0, 1), (61, "missing", 0, 1)]
    assert [line["gated"] for line in sources] == [False, True, False, False]
    assert sources[0]["revision"] == "fbc2e429085bdedad7d1a236d2bc9bc18c95f16e"
    assert (total["event"], total["gated"]) == ("sources", 1)
    assert total["to_download"] == sum(line["to_download"] for line in sources) >= 2_153_439


def test_every_source_of_the_suite_is_listed_for_people(tmp_path, capsys):
    states = survey(Store(tmp_path))
    show_sources(states, as_json=False)
    shown = capsys.readouterr().out
    assert len({state.catalog_id for state in states}) == 43  # all but the generated one
    assert "still to download: " in shown and "gated: accept the terms" in shown
    assert shown.count("missing") + shown.count("× gated") == len(states)
