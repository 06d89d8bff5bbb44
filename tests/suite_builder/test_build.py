"""The rebuild job. The generated benchmark needs no source; the others run where the real files are at hand."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from itertools import chain
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import worker_functions
from suites import DI_TUI, ENVIRONMENT
from web import Server, reply

from suite_builder import arrivals, assemble, blocks, build, schedule, store
from suite_builder.build import rebuild
from suite_builder.catalog import benchmarks
from suite_builder.data_files import load_lines
from suite_builder.editions import RowFile, edition
from suite_builder.errors import SuiteError
from suite_builder.events import Planned, Stage, Written
from suite_builder.recipes import home_appliance
from suite_builder.sources import Origin, Source, SourceFile
from suite_builder.store import Store
from suite_builder.suite import Suite, read_lines
from suite_builder.work_lock import LOCK, locked

REAL = [4, 9, 32, 34, 58]


@pytest.fixture
def make(tmp_path):
    """Rebuild into `work` and `suite` below a fresh folder; returns result and events."""

    def call(only=(9,), edition_id="0.2.1", **options):
        events = []
        suite_dir = options.pop("suite_dir", tmp_path / "suite")
        options = {"mirror": tmp_path / "mirror", "emit": events.append, **options}
        return rebuild(tmp_path / "work", suite_dir, edition(edition_id), only, **options), events

    return call


@pytest.fixture(scope="module")
def real(request, tmp_path_factory):
    """The five benchmarks that are at hand, built once."""
    sources = Path(request.config.rootpath).parent / "shared" / "sources"
    if not sources.is_dir():
        pytest.skip("needs ../shared/sources, which is not part of the product")
    folder = tmp_path_factory.mktemp("real")
    result = rebuild(folder / "work", folder / "suite", edition("0.2.1"), REAL, sources)
    return result, folder


def files_below(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_ino, path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def stages(events) -> list[tuple[int, str, str]]:
    return [(event.catalog_id, event.stage, event.state) for event in events if isinstance(event, Stage)]


def test_a_suite_of_one_benchmark_opens_verifies_and_says_that_it_is_partial(make, tmp_path):
    result, events = make()
    assert (result.ok, result.partial, result.failed) == (True, True, {})
    suite = Suite.open(tmp_path / "suite", "0.2.1")
    assert suite.partial
    assert len(list(suite.rows())) == 88
    assert all(check.ok for check in suite.verify())
    assert len(suite.excluded) == len(load_lines("excluded-run-ids.txt")) == 442
    assert suite.manifest["benchmarks"] == [
        {
            "catalog_id": 9,
            "dataset": "Home appliance simulator",
            "rows": 160,
            "sha256": benchmarks()[9].frozen_sha256,
            "verified": True,
            "normalized": {"Home-Appliance": benchmarks()[9].normalized[0].sha256},
        }
    ]
    assert events[-1] == Written(str(tmp_path / "suite"), partial=True, rows=160, unchanged=False)


def test_stages_are_told_in_order_with_counts_and_checksums(make):
    _result, events = make()
    assert stages(events) == [
        (9, "sources", "waiting"),
        (9, "sources", "running"), (9, "sources", "done"),
        (9, "normalize", "running"), (9, "normalize", "done"),
        (9, "freeze", "running"), (9, "freeze", "done"),
    ]  # fmt: skip
    assert events[1] == Planned({9: 0})
    normalized, frozen = events[5], events[7]
    assert (normalized.records, normalized.size, normalized.matches) == (160, 1_518_187, True)
    assert (frozen.records, frozen.size, frozen.sha256) == (160, 1_586_367, benchmarks()[9].frozen_sha256)


def test_a_second_call_rewrites_nothing(make, tmp_path):
    make()
    before = files_below(tmp_path)
    result, events = make()
    assert result.ok
    assert files_below(tmp_path) == before
    assert all(event.unchanged for event in events if isinstance(event, Stage) and event.state == "done")
    assert events[-1].unchanged


@pytest.mark.parametrize("path", ["work/normalized/Home-Appliance.jsonl", "work/frozen/9.jsonl", "work/built/9.json"])
def test_what_was_changed_in_the_work_folder_is_made_again(make, tmp_path, path):
    make()
    (tmp_path / path).write_text("damaged")
    result, events = make()
    assert result.ok
    assert (9, "freeze", "running") in stages(events)
    assert (tmp_path / "work/frozen/9.jsonl").stat().st_size == 1_586_367


@pytest.mark.parametrize("name", ["selected-rows.jsonl.gz", "excluded-questions.json", "manifest.json"])
def test_a_suite_file_that_is_missing_is_written_again_from_the_same_lines(make, tmp_path, name):
    make()
    path = tmp_path / "suite" / name
    whole = path.read_bytes()
    path.unlink()
    _result, events = make()
    assert (9, "freeze", "running") not in stages(events)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("name", ["selected-rows.jsonl.gz", "manifest.json"])
def test_a_suite_file_that_was_cut_is_written_again(make, tmp_path, name):
    make()
    path = tmp_path / "suite" / name
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    make()
    assert path.read_bytes() == whole


def test_changed_code_makes_a_block_again(make, monkeypatch):
    make()
    monkeypatch.setattr(blocks, "SHARED_CODE", (*blocks.SHARED_CODE, "suite.py"))
    assert (9, "freeze", "running") in stages(make()[1])


@pytest.mark.parametrize(
    ("edition_id", "release"), [("0.1", "release-v1"), ("0.2", "release-v2"), ("0.2.1", "release-v2")]
)
def test_the_manifest_names_the_release_of_the_files(make, tmp_path, edition_id, release):
    make(edition_id=edition_id)
    assert json.loads((tmp_path / "suite" / "manifest.json").read_bytes())["edition"] == release


def test_the_same_rows_for_another_release_are_written_anew(make, tmp_path):
    make(edition_id="0.1")
    make(edition_id="0.2")
    assert Suite.open(tmp_path / "suite").edition.id == "0.2.1"


def test_a_partial_suite_is_refused_unless_allowed_and_what_is_missing_is_named(make, tmp_path):
    with pytest.raises(SuiteError, match=r"edition 0.2.1 would lack 43 .*24 MMLU, .*--allow-partial") as refusal:
        make(only=None)
    assert "Home appliance" not in str(refusal.value)
    assert not (tmp_path / "suite").exists()


def test_a_partial_suite_may_be_allowed(make, tmp_path):
    result, _events = make(only=None, allow_partial=True)
    assert [block.benchmark.catalog_id for block in result.blocks] == [9]
    assert len(result.failed) == 43
    assert not result.ok
    assert Suite.open(tmp_path / "suite").partial


def test_benchmarks_without_all_their_sources_fail_with_a_line_each_and_write_nothing(make, tmp_path):
    result, events = make(only=[33, 61])
    assert not result.ok and result.failed.keys() == {33, 61}
    assert all("incomplete: " in reason and "is not in the mirror" in reason for reason in result.failed.values())
    told = {event.catalog_id: event.reason for event in events if getattr(event, "state", None) == "failed"}
    assert told == result.failed
    assert not (tmp_path / "suite").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failing_benchmark_does_not_stop_the_others(make, tmp_path, jobs):
    result, events = make(only=[4, 9], jobs=jobs)
    assert not result.ok
    assert result.failed.keys() == {4}
    assert "incomplete: 4/test.csv is not in the mirror" in result.failed[4]
    assert (4, "sources", "failed") in stages(events)
    assert (9, "freeze", "done") in stages(events)
    assert len(list(Suite.open(tmp_path / "suite", "0.2.1").rows())) == 88


def test_a_wrong_source_fails_its_benchmark_and_writes_nothing(make, tmp_path):
    source = tmp_path / "mirror" / "34" / "simple_bench_public.json"
    source.parent.mkdir(parents=True)
    source.write_text('{"eval_data": []}')
    result, _events = make(only=[34])
    assert "not the pinned file 34/simple_bench_public.json" in result.failed[34]
    assert [path.name for path in (tmp_path / "work").rglob("*")] == [LOCK]


def test_rows_that_are_not_the_published_ones_fail_with_both_checksums(make, tmp_path, monkeypatch):
    monkeypatch.setattr(home_appliance, "SEED", 1)
    result, events = make()
    assert f"published is {benchmarks()[9].normalized[0].sha256}" in result.failed[9]
    assert events[-1].state == "failed"
    assert events[-1].matches is False
    assert not (tmp_path / "work" / "built").exists()


def test_an_error_inside_a_recipe_becomes_the_reason(make, monkeypatch):
    monkeypatch.setattr(home_appliance, "rows", lambda _files: iter([("Home-Appliance", {"id": object()})]))
    assert make()[0].failed[9].startswith("TypeError: ")


def test_a_missing_package_becomes_a_line_that_says_how_to_get_it(make, monkeypatch):
    def rows(_files):
        import no_such_package  # noqa: F401

        yield

    monkeypatch.setattr(home_appliance, "rows", rows)
    assert make()[0].failed[9] == (
        "needs the package 'no_such_package', which is not installed: pip install 'di-tui[rebuild]'"
    )


@pytest.mark.parametrize(("only", "edition_id"), [([9, 99], "0.2.1"), ([58], "0.1")])
def test_a_benchmark_that_the_edition_does_not_have_is_refused(make, only, edition_id):
    with pytest.raises(SuiteError, match=f"edition {edition_id} has no benchmark {only[-1]}$"):
        make(only=only, edition_id=edition_id)


def test_a_work_folder_is_used_by_one_rebuild_at_a_time(make, tmp_path):
    with locked(tmp_path / "work"), pytest.raises(SuiteError, match="another rebuild is using .*work; wait for it or"):
        make()
    assert make()[0].ok


def test_a_work_folder_that_cannot_be_written_is_one_clear_error(make, tmp_path):
    (tmp_path / "work").write_text("in the way")
    with pytest.raises(SuiteError, match="cannot write .*work/rebuild.lock: .*; choose another work folder"):
        make()


def test_without_downloads_what_is_missing_fails(make):
    result, _events = make(only=[4], mirror=None, skip_download=True)
    assert "4/test.csv is not in" in result.failed[4]
    assert "nothing is to be downloaded" in result.failed[4]


def test_a_disk_without_room_for_the_sources_is_told_before_anything_is_fetched(make, tmp_path, monkeypatch):
    monkeypatch.setattr(arrivals.shutil, "disk_usage", lambda _path: SimpleNamespace(free=1000))
    with pytest.raises(SuiteError, match="no room for the sources that are still to be downloaded: 67 MB needed"):
        make(only=[4], mirror=None)
    assert [path.name for path in (tmp_path / "work").rglob("*")] == [LOCK]


def test_what_is_still_to_come_is_told_in_bytes(make):
    _result, events = make(only=[4, 9], mirror=None, skip_download=True)
    assert events[2] == Planned({4: 0, 9: 0})
    assert schedule.to_download(Store(Path("none")), 4) == 239_961 + 2_036


def test_a_block_depends_on_all_code_that_its_recipe_imports():
    behind = blocks._code_behind("recipes/arc_easy.py")
    assert behind >= {"recipes/arc_easy.py", "recipes/arc.py", "recipes/common.py", "sources.py"}
    assert "recipes/musr.py" not in behind


def test_a_source_without_a_pinned_checksum_that_changes_later_is_noticed(tmp_path, monkeypatch):
    origin, home = Origin("url", url="http://nowhere.example"), benchmarks()[9]
    monkeypatch.setattr(store, "sources", lambda: {9: (Source(origin, (SourceFile(9, "a.csv", origin),)),)})
    source = tmp_path / "mirror" / "9" / "a.csv"
    source.parent.mkdir(parents=True)
    source.write_text("first")
    here = Store(tmp_path / "work", tmp_path / "mirror")
    inputs = blocks.obtain_inputs(home, here, None)
    assert inputs.unpinned.keys() == {"http://nowhere.example/a.csv"}
    blocks.make_block(home, inputs, here.work, lambda event: None)
    assert blocks.obtain_inputs(home, here, None) == inputs
    source.write_text("other")
    with pytest.raises(SuiteError, match="9/a.csv is not what Home .* was made from before: .*; restore it, or"):
        blocks.obtain_inputs(home, here, None)


# Side by side


@pytest.fixture
def two_of_home(make):
    """Rebuild benchmark 9 beside one that fails, so that it runs in a process of its own."""
    return lambda **options: make(only=[4, 9], jobs=2, **options)


def test_a_worker_that_dies_is_a_failed_benchmark_with_a_reason(two_of_home, monkeypatch):
    monkeypatch.setattr(schedule, "make_block", worker_functions.killed_block)
    result, events = two_of_home()
    assert result.failed[9].startswith("its process was ended by SIGKILL")
    assert Stage(9, "normalize", "failed", reason=result.failed[9]) in events


REBUILD = """
import sys, worker_functions
from pathlib import Path
from suite_builder import schedule
from suite_builder.build import rebuild
from suite_builder.editions import edition
schedule.make_block = worker_functions.hanging_block
folder, jobs = Path(sys.argv[1]), int(sys.argv[2])
rebuild(folder / "work", folder / "suite", edition("0.2.1"), [4, 9], folder / "mirror", jobs=jobs)
"""


def interrupt(command: list, hanging, **environment: str) -> subprocess.CompletedProcess:
    """Press Ctrl-C once a command hangs; nothing that it started may be left then."""
    process = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        # A test run in the background ignores Ctrl-C, and its processes would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        text=True,
        env={**ENVIRONMENT, **environment},
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while not hanging():
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.05)
    started = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)
    _output, errors = process.communicate(timeout=30)
    _gone, alive = psutil.wait_procs(started, timeout=10)
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []
    return subprocess.CompletedProcess(command, process.returncode, stderr=errors)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_ends_all_recipes_at_once_and_the_next_call_goes_on(make, tmp_path, jobs):
    pid = tmp_path / "work" / "pid"
    done = interrupt([sys.executable, "-c", REBUILD, tmp_path, str(jobs)], lambda: pid.exists() and pid.read_text())
    assert done.returncode == -signal.SIGINT
    assert done.stderr.count("Traceback") == 1
    assert make()[0].ok


def test_ctrl_c_ends_a_download_at_once(tmp_path):
    hanging = []

    def stall(handler):
        hanging.append(handler.path)
        time.sleep(5)

    with Server(stall) as server:
        folders = ["--work", tmp_path / "work", "--suite-dir", tmp_path / "suite"]
        command = [*DI_TUI, "suite", "rebuild", "--only", "24", "45", *folders]
        done = interrupt(command, lambda: hanging, HF_ENDPOINT=server.url)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    assert "stopped; what is finished is kept, and the same command goes on from there" in done.stderr
    assert not list((tmp_path / "work").rglob("*.parquet"))


def test_gated_sources_do_not_stop_the_others(make, monkeypatch):
    def answer(handler):
        if "cais/hle" in handler.path:
            reply(handler, 401, X_Error_Code="GatedRepo")
        else:
            reply(handler, 404, X_Error_Code="EntryNotFound")

    with Server(answer) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        result, events = make(only=[9, 24, 45], mirror=None, jobs=2)
    assert [block.benchmark.catalog_id for block in result.blocks] == [9]
    assert list(result.failed) == [24, 45]
    assert "24/all/test-00000-of-00001.parquet from https://huggingface.co/datasets/cais/mmlu" in result.failed[24]
    assert "1. accept the terms at https://huggingface.co/datasets/cais/hle 2. run `hf auth login`" in result.failed[45]
    assert {(key, "sources", "failed") for key in (24, 45)} <= set(stages(events))


@pytest.fixture
def home_is_all(monkeypatch):
    """A catalog and an edition of one benchmark, so that a whole suite can be built."""
    whole = replace(
        edition("0.1"), id="home", release="home", files={"selected-rows": RowFile(160, benchmarks()[9].frozen_sha256)}
    )
    monkeypatch.setattr(build, "benchmarks", lambda: {9: benchmarks()[9]})
    monkeypatch.setattr(assemble, "editions", lambda: {"home": whole})
    return whole


def test_a_whole_suite_is_checked_against_the_published_files(home_is_all, tmp_path):
    result = rebuild(tmp_path / "work", tmp_path / "suite", home_is_all)
    assert (result.ok, result.partial) == (True, False)
    assert json.loads((tmp_path / "suite" / "manifest.json").read_bytes())["partial"] is False


def test_a_whole_suite_that_is_not_the_published_one_is_not_written(home_is_all, tmp_path):
    other = replace(home_is_all, files={"selected-rows": RowFile(160, "0" * 64)})
    with pytest.raises(SuiteError, match="the rebuilt selected-rows .* no suite was written"):
        rebuild(tmp_path / "work", tmp_path / "suite", other)
    assert not (tmp_path / "suite").exists()


def test_a_partial_suite_does_not_replace_a_whole_one(home_is_all, make, tmp_path, monkeypatch):
    rebuild(tmp_path / "work", tmp_path / "suite", home_is_all)
    monkeypatch.setattr(build, "benchmarks", benchmarks)
    with pytest.raises(SuiteError, match="holds a complete suite"):
        make()


# With the real sources


def test_all_five_benchmarks_are_built_with_their_known_frozen_lines(real):
    result, folder = real
    assert (result.ok, result.partial) == (True, True)
    assert [(block.benchmark.catalog_id, block.frozen.sha256) for block in result.blocks] == [
        (catalog_id, benchmarks()[catalog_id].frozen_sha256) for catalog_id in REAL
    ]
    assert all(check.ok for check in Suite.open(folder / "suite").verify())


def test_every_published_request_value_comes_out(real, shared):
    result, _folder = real
    lines = chain.from_iterable(read_lines(block.frozen.path) for block in result.blocks)
    found = {row["run_id"]: row for row in (json.loads(line)["_evaluation"] for line in lines)}
    with (shared / "recipes" / "published-payload-hashes.tsv").open(encoding="utf-8", newline="") as stream:
        records = csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)
        published = [record for record in records if int(record["catalog_id"]) in REAL]
    assert Counter(int(record["catalog_id"]) for record in published) == {58: 46, 4: 3, 9: 4, 32: 4, 34: 3}
    for record in published:
        assert {key: str(found[record["run_id"]].get(key, "")) for key in record} == record


def test_a_second_call_with_real_sources_rewrites_nothing_and_needs_no_source(real):
    _result, folder = real
    before = files_below(folder)
    again = rebuild(folder / "work", folder / "suite", edition("0.2.1"), REAL, folder / "no-mirror")
    assert again.ok
    assert files_below(folder) == before


def test_row_files_that_a_smaller_suite_does_not_have_are_removed(real, tmp_path):
    _result, folder = real
    for only, files in (([58], {"added-rows.jsonl.gz"}), ([9], {"selected-rows.jsonl.gz"})):
        rebuild(folder / "work", tmp_path / "suite", edition("0.2"), only, folder / "no-mirror")
        assert {path.name for path in (tmp_path / "suite").glob("*.gz")} == files
