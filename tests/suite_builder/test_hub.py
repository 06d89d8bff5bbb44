"""Files of a Hub data set, from a small Hub on loopback: through huggingface_hub, checked, with clear refusals."""

import hashlib
from pathlib import Path

import pytest
from web import Server, failing, hub, reply

from suite_builder.errors import SuiteError
from suite_builder.hub import download_from_hub
from suite_builder.sources import Origin, SourceFile

REVISION = "0123" * 10
CONTENT = bytes(range(256)) * 1000
FILES = {"data/test.parquet": CONTENT}


@pytest.fixture
def serve(monkeypatch):
    """Start a Hub that answers so; nobody is signed in and nothing is really waited for."""
    servers = []

    def start(*answers) -> Server:
        servers.append(Server(*answers).__enter__())
        monkeypatch.setenv("HF_ENDPOINT", servers[-1].url)
        return servers[-1]

    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    yield start
    for server in servers:
        server.__exit__()


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "sources" / "7" / "test.parquet"


def made(sha256: str | None = None, gated: bool = False) -> SourceFile:
    origin = Origin("hub", "owner/name", REVISION, gated=gated)
    return SourceFile(7, "test.parquet", origin, "data/test.parquet", sha256)


def fetch(file: SourceFile, path: Path, emit=lambda event: None) -> str:
    return download_from_hub(file, path, emit)


def names(path: Path) -> set[str]:
    return {entry.name for entry in path.parent.iterdir()}


def test_a_file_comes_to_its_place_and_leaves_nothing_beside_it(serve, path):
    server, events, sha256 = serve(hub("owner/name", REVISION, FILES)), [], hashlib.sha256(CONTENT).hexdigest()
    assert fetch(made(sha256), path, events.append) == sha256
    assert path.read_bytes() == CONTENT
    assert names(path) == {"test.parquet"}
    assert (events[-1].received, events[-1].total) == (len(CONTENT), len(CONTENT))
    assert f"GET /datasets/owner/name/resolve/{REVISION}/data/test.parquet" in server.paths


def test_a_token_from_the_environment_is_shown_to_the_hub(serve, path, monkeypatch):
    server = serve(hub("owner/name", REVISION, FILES))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    fetch(made(), path)
    asked = zip(server.requests, server.paths, strict=True)
    assert {request.get("authorization") for request, path in asked if "resolve" in path} == {"Bearer hf_secret"}


def test_a_file_that_is_not_the_pinned_one_is_set_aside(serve, path):
    serve(hub("owner/name", REVISION, FILES))
    with pytest.raises(SuiteError, match="test.parquet.bad is not the pinned file 7/test.parquet: .*brought anew"):
        fetch(made("0" * 64), path)
    assert names(path) == {"test.parquet.bad"}


@pytest.mark.parametrize("status", [401, 403])
def test_a_gated_file_names_the_two_steps_and_never_shows_the_token(serve, path, monkeypatch, status):
    serve(failing(status, X_Error_Code="GatedRepo"))
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with pytest.raises(SuiteError) as refusal:
        fetch(made(gated=True), path)
    assert str(refusal.value) == (
        "7/test.parquet is gated: 1. accept the terms at https://huggingface.co/datasets/owner/name "
        "2. run `hf auth login`, or set HF_TOKEN to your access token; then run this again"
    )


def test_a_token_that_the_hub_refuses_is_told_as_such(serve, path):
    serve(failing(401))
    with pytest.raises(SuiteError, match="cannot download 7/test.parquet from .*: HTTP 401; check your access token"):
        fetch(made(), path)


def test_a_file_that_the_revision_does_not_have_is_named(serve, path):
    serve(hub("owner/name", REVISION, {}))
    with pytest.raises(SuiteError, match="cannot download 7/test.parquet from .*/data/test.parquet: HTTP 404$"):
        fetch(made(), path)


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_hub_that_stays_down_ends_with_one_clear_error(serve, path, status):
    serve(failing(status))
    with pytest.raises(SuiteError, match=f"cannot download 7/test.parquet from .*: HTTP {status}; try again later"):
        fetch(made(), path)
    assert not path.exists()


def test_a_hub_that_is_not_there_ends_with_one_clear_error(path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _seconds: None)
    with Server(failing(500)) as gone:
        monkeypatch.setenv("HF_ENDPOINT", gone.url)
    with pytest.raises(SuiteError, match="cannot download 7/test.parquet from .*: .*refused; try again later"):
        fetch(made(), path)


def test_a_connection_that_is_cut_again_and_again_leaves_nothing_in_use(serve, path):
    def cut(handler):
        reply(handler, 200, CONTENT[: len(CONTENT) // 2], len(CONTENT), X_Repo_Commit=REVISION, ETag='"0123"')

    serve(cut)
    with pytest.raises(SuiteError, match="cannot download 7/test.parquet from .*; try again later"):
        fetch(made(), path)
    assert not path.exists()
