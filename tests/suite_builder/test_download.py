"""Downloads over real sockets on loopback: resume, retry, refusal, and nothing half-written in use."""

import hashlib
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from suite_builder import download
from suite_builder.download import fetch
from suite_builder.errors import SuiteError
from suite_builder.sources import SourceFile

CONTENT = bytes(range(256)) * 400


class Server:
    """Answers each request by the next of `answers`, the last one over and over; keeps the headers that were sent."""

    def __init__(self):
        self.answers: list[Callable] = [whole]
        self.requests: list[dict[str, str]] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests.append(dict(self.headers))
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                answer(self)
                self.close_connection = True

            def log_message(self, *_arguments):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def reply(handler, status: int, body: bytes = b"", length: int | None = None, **headers: str) -> None:
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def whole(handler) -> None:
    """The content, or the rest of it when a range is asked for."""
    start = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
    if start >= len(CONTENT):
        reply(handler, 416)
    else:
        reply(handler, 206 if start else 200, CONTENT[start:])


def without_ranges(handler) -> None:
    reply(handler, 200, CONTENT)


def cut_off(handler) -> None:
    """Half of what is promised, then the end of the connection."""
    reply(handler, 200, CONTENT[: len(CONTENT) // 2], length=len(CONTENT))


def failing(status: int, **headers: str) -> Callable:
    return lambda handler: reply(handler, status, **headers)


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


@pytest.fixture
def waits(monkeypatch) -> list[float]:
    """The seconds that would have been waited between attempts."""
    waited: list[float] = []
    monkeypatch.setattr(download.time, "sleep", waited.append)
    return waited


@pytest.fixture
def file(server) -> SourceFile:
    return SourceFile(7, "data/file.bin", f"{server.url}/file.bin", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


@pytest.fixture
def target(tmp_path):
    return tmp_path / "sources" / "7" / "data" / "file.bin"


def names(target) -> set[str]:
    return {path.name for path in target.parent.iterdir()}


def test_a_file_arrives_whole_and_tells_its_progress(server, file, tmp_path, target):
    events = []
    assert fetch(file, tmp_path, emit=events.append) == target
    assert target.read_bytes() == CONTENT
    assert names(target) == {"file.bin"}
    assert (events[-1].catalog_id, events[-1].path, events[-1].received, events[-1].total) == (
        7, "data/file.bin", len(CONTENT), len(CONTENT),
    )


def test_a_verified_file_is_not_downloaded_again(server, file, tmp_path):
    fetch(file, tmp_path)
    fetch(file, tmp_path)
    assert len(server.requests) == 1


def test_a_part_of_an_earlier_run_is_resumed(server, file, tmp_path, target):
    target.parent.mkdir(parents=True)
    (target.parent / "file.bin.part").write_bytes(CONTENT[:1000])
    fetch(file, tmp_path)
    assert server.requests[0]["Range"] == "bytes=1000-"
    assert target.read_bytes() == CONTENT
    assert names(target) == {"file.bin"}


def test_a_complete_part_needs_no_request(server, file, tmp_path, target):
    target.parent.mkdir(parents=True)
    (target.parent / "file.bin.part").write_bytes(CONTENT)
    fetch(file, tmp_path)
    assert server.requests == []
    assert target.read_bytes() == CONTENT


def test_a_cut_connection_is_resumed_where_it_was_cut(server, file, tmp_path, target, waits):
    server.answers = [cut_off, whole]
    fetch(file, tmp_path)
    assert server.requests[1]["Range"] == f"bytes={len(CONTENT) // 2}-"
    assert target.read_bytes() == CONTENT
    assert waits == [1.0]


def test_a_server_that_ignores_ranges_is_read_from_the_start(server, file, tmp_path, target, waits):
    server.answers = [cut_off, without_ranges]
    fetch(file, tmp_path)
    assert "Range" in server.requests[1]
    assert target.read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_started_over(server, file, tmp_path, target, waits):
    target.parent.mkdir(parents=True)
    (target.parent / "file.bin.part").write_bytes(CONTENT + b"more")
    fetch(file, tmp_path)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_passing_refusal_is_tried_again(server, file, tmp_path, target, waits, status):
    server.answers = [failing(status), failing(status), whole]
    fetch(file, tmp_path)
    assert target.read_bytes() == CONTENT
    assert waits == [1.0, 2.0]


def test_retry_after_sets_the_wait(server, file, tmp_path, waits):
    values = ("7", "Wed, 21 Oct 2015 07:28:00 GMT", "9999")
    server.answers = [*(failing(429, Retry_After=value) for value in values), whole]
    fetch(file, tmp_path)
    assert waits == [7.0, 0.0, download.LONGEST_WAIT]


def test_a_server_that_stays_down_ends_with_one_clear_error(server, file, tmp_path, target, waits):
    server.answers = [failing(503)]
    with pytest.raises(SuiteError, match=r"cannot download 7/data/file.bin from http.*: HTTP 503; try again later"):
        fetch(file, tmp_path)
    assert len(server.requests) == download.ATTEMPTS
    assert not target.exists()


def test_attempts_that_bring_the_file_further_do_not_count_as_failures(server, file, tmp_path, target, waits):
    def a_little(handler):
        start = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        reply(handler, 206 if start else 200, CONTENT[start : start + 10_000], length=len(CONTENT) - start)

    server.answers = [a_little] * 9 + [whole]
    fetch(file, tmp_path)
    assert target.read_bytes() == CONTENT
    assert waits == [1.0] * 9


def test_a_dead_server_ends_with_one_clear_error(tmp_path, waits):
    gone = Server()
    gone.close()
    with pytest.raises(SuiteError, match="cannot download 7/x from http.*: .*refused.*; try again later"):
        fetch(SourceFile(7, "x", f"{gone.url}/x", "0" * 64), tmp_path)
    assert len(waits) == download.ATTEMPTS - 1


def test_a_server_that_stalls_is_given_up_and_asked_again(server, file, tmp_path, target, waits, monkeypatch):
    finished = threading.Event()

    def stall(handler):
        reply(handler, 200, CONTENT[:5000], length=len(CONTENT))
        finished.wait(10)

    monkeypatch.setattr(download, "TIMEOUT", 0.2)
    server.answers = [stall, whole]
    fetch(file, tmp_path)
    finished.set()
    assert server.requests[1]["Range"] == "bytes=5000-"
    assert target.read_bytes() == CONTENT


def test_a_missing_file_is_an_error_at_once(server, file, tmp_path, waits):
    server.answers = [failing(404)]
    with pytest.raises(SuiteError, match=r"7/data/file.bin: http://127.*/file.bin answers HTTP 404"):
        fetch(file, tmp_path)
    assert len(server.requests) == 1


def test_a_changed_file_is_set_aside_and_never_used(server, file, tmp_path, target):
    server.answers = [lambda handler: reply(handler, 200, CONTENT[::-1]), whole]
    with pytest.raises(SuiteError, match=f"file.bin.bad is not the pinned file 7/data/file.bin: .*{file.sha256}"):
        fetch(file, tmp_path)
    assert names(target) == {"file.bin.bad"}
    fetch(file, tmp_path)
    assert target.read_bytes() == CONTENT


def test_a_present_file_that_was_changed_is_set_aside(server, file, tmp_path, target):
    fetch(file, tmp_path)
    target.write_bytes(b"edited")
    with pytest.raises(SuiteError, match="not the pinned file"):
        fetch(file, tmp_path)
    assert names(target) == {"file.bin.bad"}


def test_a_file_that_does_not_fit_is_not_begun(server, file, tmp_path, target, monkeypatch):
    monkeypatch.setattr(download.shutil, "disk_usage", lambda _path: SimpleNamespace(free=1000))
    with pytest.raises(SuiteError, match="no room for 7/data/file.bin: 67 MB needed"):
        fetch(file, tmp_path)
    assert server.requests == []


def test_a_folder_that_cannot_be_written_is_one_clear_error(server, file, tmp_path):
    (tmp_path / "sources").write_text("in the way")
    with pytest.raises(SuiteError, match="cannot write .*file.bin.part"):
        fetch(file, tmp_path)


def test_a_mirror_is_read_in_place_and_is_the_only_place(server, file, tmp_path):
    mirror = tmp_path / "mirror"
    with pytest.raises(SuiteError, match=r"7/data/file.bin is not in the mirror .*; it comes from http"):
        fetch(file, tmp_path, mirror)
    path = mirror / "7" / "data" / "file.bin"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert fetch(file, tmp_path, mirror) == path
    path.write_bytes(b"wrong")
    with pytest.raises(SuiteError, match="not the pinned file .* replace it"):
        fetch(file, tmp_path, mirror)
    assert path.read_bytes() == b"wrong"
    assert server.requests == []
    assert not (tmp_path / "sources").exists()


def test_the_token_goes_to_the_hub_alone(server, file, tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(file, tmp_path)
    assert "Authorization" not in server.requests[0]


def test_the_token_does_not_follow_a_redirect_away_from_the_hub(server, file, tmp_path, target, monkeypatch):
    hub = Server()
    hub.answers = [failing(302, Location=f"{server.url}/elsewhere")]
    monkeypatch.setattr(download, "HUB", hub.url)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(SourceFile(7, file.path, f"{hub.url}/x", file.sha256), tmp_path)
    hub.close()
    assert hub.requests[0]["Authorization"] == "Bearer hf_secret"
    assert "Authorization" not in server.requests[0]
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("status", [401, 403])
def test_a_gated_file_says_what_to_do_and_never_shows_the_token(server, tmp_path, monkeypatch, status):
    server.answers = [failing(status)]
    monkeypatch.setattr(download, "HUB", server.url)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    gated = SourceFile(45, "test.parquet", f"{server.url}/datasets/a/b/resolve/0123/test.parquet", "0" * 64)
    with pytest.raises(SuiteError, match=r"gated: accept .* at http://\S+/datasets/a/b, then set HF_TOKEN") as refusal:
        fetch(gated, tmp_path)
    assert "hf_secret" not in str(refusal.value)
