"""Downloads over real sockets on loopback: resume, retry, refusal, and nothing half-written in use."""

import hashlib
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from web import Server, failing, reply, serving

from suite_builder import arrivals, download
from suite_builder.errors import SuiteError
from suite_builder.sources import Origin, SourceFile

CONTENT = bytes(range(256)) * 400
whole = serving(CONTENT)


def without_ranges(handler) -> None:
    reply(handler, 200, CONTENT)


def cut_off(handler) -> None:
    """Half of what is promised, then the end of the connection."""
    reply(handler, 200, CONTENT[: len(CONTENT) // 2], length=len(CONTENT))


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(whole) as server:
        yield server


@pytest.fixture
def waits(monkeypatch) -> list[float]:
    """The seconds that would have been waited between attempts."""
    waited: list[float] = []
    monkeypatch.setattr(download.time, "sleep", waited.append)
    return waited


@pytest.fixture
def file(server) -> SourceFile:
    return made(server.url, sha256=hashlib.sha256(CONTENT).hexdigest(), size=len(CONTENT))


@pytest.fixture
def target(tmp_path) -> Path:
    return tmp_path / "sources" / "7" / "data" / "file.bin"


def made(url: str, **facts) -> SourceFile:
    return SourceFile(7, "data/file.bin", Origin("url", url=url), **facts)


def fetch(file: SourceFile, target: Path, emit=lambda event: None) -> str:
    with download.web_client() as client:
        return download.download(client, file, target, emit)


def names(target: Path) -> set[str]:
    return {path.name for path in target.parent.iterdir()}


def test_a_file_arrives_whole_and_tells_its_progress(server, file, target):
    events = []
    assert fetch(file, target, events.append) == file.sha256
    assert target.read_bytes() == CONTENT
    assert names(target) == {"file.bin"}
    assert (events[-1].catalog_id, events[-1].path, events[-1].received, events[-1].total) == (
        7, "data/file.bin", len(CONTENT), len(CONTENT),
    )


def test_a_file_that_has_come_meanwhile_is_not_downloaded_again(server, file, target):
    fetch(file, target)
    fetch(file, target)
    assert len(server.requests) == 1


def test_a_part_of_an_earlier_run_is_resumed(server, file, target):
    target.parent.mkdir(parents=True)
    (target.parent / "file.bin.part").write_bytes(CONTENT[:1000])
    fetch(file, target)
    assert server.requests[0]["Range"] == "bytes=1000-"
    assert target.read_bytes() == CONTENT
    assert names(target) == {"file.bin"}


def test_a_complete_part_needs_no_request(server, file, target):
    target.parent.mkdir(parents=True)
    (target.parent / "file.bin.part").write_bytes(CONTENT)
    fetch(file, target)
    assert server.requests == []
    assert target.read_bytes() == CONTENT


def test_a_cut_connection_is_resumed_where_it_was_cut(server, file, target, waits):
    server.answers = [cut_off, whole]
    fetch(file, target)
    assert server.requests[1]["Range"] == f"bytes={len(CONTENT) // 2}-"
    assert target.read_bytes() == CONTENT
    assert waits == [1.0]


def test_a_server_that_ignores_ranges_is_read_from_the_start(server, file, target, waits):
    server.answers = [cut_off, without_ranges]
    fetch(file, target)
    assert "Range" in server.requests[1]
    assert target.read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_started_over(server, file, target, waits):
    target.parent.mkdir(parents=True)
    (target.parent / "file.bin.part").write_bytes(CONTENT + b"more")
    fetch(file, target)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_passing_refusal_is_tried_again(server, file, target, waits, status):
    server.answers = [failing(status), failing(status), whole]
    fetch(file, target)
    assert target.read_bytes() == CONTENT
    assert waits == [1.0, 2.0]


def test_retry_after_sets_the_wait(server, file, target, waits):
    values = ("7", "Wed, 21 Oct 2015 07:28:00 GMT", "9999")
    server.answers = [*(failing(429, Retry_After=value) for value in values), whole]
    fetch(file, target)
    assert waits == [7.0, 0.0, download.LONGEST_WAIT]


def test_a_server_that_stays_down_ends_with_one_clear_error(server, file, target, waits):
    server.answers = [failing(503)]
    with pytest.raises(SuiteError, match=r"cannot download 7/data/file.bin from http.*: HTTP 503; try again later"):
        fetch(file, target)
    assert len(server.requests) == download.ATTEMPTS
    assert not target.exists()


def test_attempts_that_bring_the_file_further_do_not_count_as_failures(server, file, target, waits):
    def a_little(handler):
        start = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        reply(handler, 206 if start else 200, CONTENT[start : start + 10_000], length=len(CONTENT) - start)

    server.answers = [a_little] * 9 + [whole]
    fetch(file, target)
    assert target.read_bytes() == CONTENT
    assert waits == [1.0] * 9


def test_a_dead_server_ends_with_one_clear_error(target, waits):
    with Server(whole) as gone:
        pass
    with pytest.raises(SuiteError, match="cannot download 7/data/file.bin from http.*: .*refused.*; try again later"):
        fetch(made(gone.url, sha256="0" * 64), target)
    assert len(waits) == download.ATTEMPTS - 1


def test_a_server_that_stalls_is_given_up_and_asked_again(server, file, target, waits, monkeypatch):
    finished = threading.Event()

    def stall(handler):
        reply(handler, 200, CONTENT[:5000], length=len(CONTENT))
        finished.wait(10)

    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    server.answers = [stall, whole]
    fetch(file, target)
    finished.set()
    assert server.requests[1]["Range"] == "bytes=5000-"
    assert target.read_bytes() == CONTENT


def test_a_missing_file_is_an_error_at_once(server, file, target, waits):
    server.answers = [failing(404)]
    with pytest.raises(SuiteError, match=r"7/data/file.bin: http://127.*/data/file.bin answers HTTP 404"):
        fetch(file, target)
    assert len(server.requests) == 1


def test_a_changed_file_is_set_aside_and_never_used(server, file, target):
    server.answers = [lambda handler: reply(handler, 200, CONTENT[::-1]), whole]
    with pytest.raises(SuiteError, match=f"file.bin.bad is not the pinned file 7/data/file.bin: .*{file.sha256}"):
        fetch(file, target)
    assert names(target) == {"file.bin.bad"}
    fetch(file, target)
    assert target.read_bytes() == CONTENT


def test_a_file_without_a_pinned_checksum_is_taken_as_it_comes_and_never_pieced_together(server, target):
    target.parent.mkdir(parents=True)
    (target.parent / "file.bin.part").write_bytes(b"of another revision")
    assert fetch(made(server.url), target) == hashlib.sha256(CONTENT).hexdigest()
    assert "Range" not in server.requests[0]
    assert target.read_bytes() == CONTENT


def test_the_size_that_the_server_tells_is_told(server, target):
    events = []
    fetch(made(server.url), target, events.append)
    assert events[-1].total == len(CONTENT)


def test_a_file_that_does_not_fit_is_not_begun(server, file, target, monkeypatch):
    monkeypatch.setattr(arrivals.shutil, "disk_usage", lambda _path: SimpleNamespace(free=1000))
    with pytest.raises(SuiteError, match="no room for 7/data/file.bin: 67 MB needed"):
        fetch(file, target)
    assert (target.parent / "file.bin.part").stat().st_size == 0


def test_a_folder_that_cannot_be_written_is_one_clear_error(server, file, target, tmp_path):
    (tmp_path / "sources").write_text("in the way")
    with pytest.raises(SuiteError, match="cannot write .*file.bin.part"):
        fetch(file, target)


def test_paths_are_quoted_in_addresses(server, target):
    file = SourceFile(7, "CT json/043 .mid", Origin("url", url=server.url))
    fetch(file, target)
    assert server.paths == ["GET /CT%20json/043%20.mid"]


def test_two_processes_that_want_the_same_file_bring_it_once(server, file, target):
    slow = threading.Event()

    def late(handler):
        slow.wait(10)
        whole(handler)

    server.answers = [late]
    threads = [threading.Thread(target=fetch, args=(file, target)) for _ in range(2)]
    for thread in threads:
        thread.start()
    slow.set()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 1
    assert names(target) == {"file.bin"}


def test_a_token_for_github_goes_to_its_listing_service_alone(server, file, target, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    fetch(file, target)
    target.unlink()
    monkeypatch.setattr(download, "GITHUB_API", server.url)
    fetch(file, target)
    assert [request.get("Authorization") for request in server.requests] == [None, "Bearer secret"]


def test_a_used_up_listing_service_says_what_to_do_and_never_shows_the_token(server, file, target, monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    monkeypatch.setattr(download, "GITHUB_API", server.url)
    server.answers = [failing(403)]
    with pytest.raises(SuiteError, match="answers HTTP 403; GitHub lists only so much .*: set GITHUB_TOKEN") as refusal:
        fetch(file, target)
    assert "secret" not in str(refusal.value)
