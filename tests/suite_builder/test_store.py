"""Where source files are and how they get there: mirrors, archives, patterns, equal releases, commits."""

import hashlib
import io
import tarfile
import zipfile
from pathlib import Path

import pytest
from web import Server, hub, tree

from suite_builder import bring, listing, store
from suite_builder.errors import SuiteError
from suite_builder.inventory import survey
from suite_builder.sources import ADDRESSES, Origin, Source, SourceFile
from suite_builder.store import Store

REVISION = "0123" * 10
TEXT, OTHER = b"one,two\n", b"three,four\n"
GITHUB = Origin("github", "owner/name", REVISION)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def zipped(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


ZIP = zipped(**{"in/test.csv": TEXT, "in/dev.csv": OTHER, "in/train.csv": b"unwanted"})


def web(url: str = "http://nowhere.example") -> Origin:
    return Origin("url", url=url)


def member(path: str, origin: Origin, content: bytes | None = None) -> SourceFile:
    archive = SourceFile(7, "res/all.zip", origin, sha256=sha256(ZIP))
    return SourceFile(7, path, origin, sha256=content and sha256(content), archive=archive)


def put(folder: Path, **files: bytes) -> Path:
    for name, content in files.items():
        path = folder / "7" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def obtain(of: Store, *files: SourceFile) -> dict[str, bytes]:
    """Content by path of what a store obtains."""
    return {file.path: got.path.read_bytes() for file, got in of.obtain(files, lambda event: None).items()}


@pytest.fixture
def work(tmp_path) -> Path:
    return tmp_path / "work"


@pytest.fixture
def mirror(tmp_path) -> Path:
    return tmp_path / "mirror"


@pytest.fixture
def only_sources(monkeypatch):
    """Let benchmark 7 have these sources, and no other any."""
    return lambda *of: monkeypatch.setattr(store, "sources", lambda: {7: of})


# A mirror


def test_a_mirror_is_read_in_place_and_is_the_only_place(work, mirror):
    file = SourceFile(7, "test.csv", web(), sha256=sha256(TEXT))
    with pytest.raises(SuiteError, match="incomplete: 7/test.csv is not in the mirror .*/mirror; it comes from http"):
        obtain(Store(work, mirror), file)
    put(mirror, **{"test.csv": TEXT})
    assert obtain(Store(work, mirror), file) == {"test.csv": TEXT}
    put(mirror, **{"test.csv": b"wrong"})
    with pytest.raises(SuiteError, match="mirror/7/test.csv is not the pinned file 7/test.csv: .*; replace it"):
        obtain(Store(work, mirror), file)
    assert below(mirror) == {"7/test.csv"}
    assert not work.exists()


def test_a_mirror_may_hold_the_member_of_an_archive(work, mirror):
    put(mirror, **{"in/test.csv": TEXT})
    assert obtain(Store(work, mirror), member("in/test.csv", web(), TEXT)) == {"in/test.csv": TEXT}
    assert not work.exists()


def test_a_mirror_may_hold_the_archive_which_is_unpacked_into_the_work_folder(work, mirror):
    put(mirror, **{"res/all.zip": ZIP})
    wanted = member("in/test.csv", web(), TEXT), member("in/dev.csv", web())
    assert obtain(Store(work, mirror), *wanted) == {"in/test.csv": TEXT, "in/dev.csv": OTHER}
    assert (below(mirror), below(work)) == ({"7/res/all.zip"}, {"sources/7/in/test.csv", "sources/7/in/dev.csv"})


def test_an_archive_that_is_not_the_pinned_one_is_not_opened(work, mirror):
    put(mirror, **{"res/all.zip": zipped(**{"in/test.csv": TEXT})})
    with pytest.raises(SuiteError, match="is not the pinned file 7/res/all.zip"):
        obtain(Store(work, mirror), member("in/test.csv", web()))
    assert not work.exists()


def test_a_pattern_stands_for_what_a_mirror_holds(work, mirror):
    pattern = SourceFile(7, "data/*.csv", GITHUB, pattern=True)
    with pytest.raises(SuiteError, match=r"7/data/\*.csv is not in .*; it comes from https://github.com/owner/name$"):
        obtain(Store(work, mirror), pattern)
    put(mirror, **{"data/b.csv": OTHER, "data/a.csv": TEXT, "data/deep/c.csv": b"no", "data/a.txt": b"no"})
    assert obtain(Store(work, mirror), pattern) == {"data/a.csv": TEXT, "data/b.csv": OTHER}


def test_what_a_mirror_lacks_is_counted_over_all_sources_before_anything_is_written(work, mirror, only_sources):
    put(mirror, **{"res/all.zip": ZIP})
    missing = tuple(SourceFile(7, name, web()) for name in ("a", "b", "c"))
    only_sources(Source(web(), (member("in/test.csv", web()),)), Source(web(), missing))
    with pytest.raises(SuiteError, match=r"incomplete: 7/a is not in the mirror \S+ \(the first of 3 missing files\)"):
        Store(work, mirror).obtain_all(7, None)
    assert not work.exists()


def test_without_downloads_only_the_work_folder_counts(work):
    file = SourceFile(7, "test.csv", web())
    with pytest.raises(SuiteError, match="7/test.csv is not in .*/work/sources, and nothing is to be downloaded"):
        obtain(Store(work, may_download=False), file)
    put(work / "sources", **{"test.csv": TEXT})
    assert obtain(Store(work, may_download=False), file) == {"test.csv": TEXT}


# Equal releases


@pytest.fixture
def either() -> Source:
    equal = Source(web(), (SourceFile(7, "equal.csv", web(), sha256=sha256(TEXT)),))
    return Source(web(), (SourceFile(7, "pinned.csv", web(), sha256=sha256(TEXT)),), equal)


@pytest.mark.parametrize(
    ("there", "used"),
    [
        ({"pinned.csv": TEXT}, "pinned.csv"),
        ({"equal.csv": TEXT}, "equal.csv"),
        ({"pinned.csv": TEXT, "equal.csv": TEXT}, "pinned.csv"),
        ({"pinned.csv": b"wrong", "equal.csv": TEXT}, "equal.csv"),
    ],
)
def test_the_pinned_release_comes_first_and_an_equal_one_stands_in(work, mirror, only_sources, either, there, used):
    only_sources(either)
    put(mirror, **there)
    assert [file.path for file in Store(work, mirror).obtain_all(7, None)] == [used]


def test_when_neither_release_can_be_had_the_pinned_one_is_named(work, mirror, only_sources, either):
    only_sources(either)
    with pytest.raises(SuiteError, match="7/pinned.csv is not in the mirror"):
        Store(work, mirror).obtain_all(7, None)


def test_an_equal_release_is_downloaded_when_the_pinned_one_is_gone(work, only_sources):
    with Server(tree({"equal.csv": TEXT})) as server:
        equal = Source(web(server.url), (SourceFile(7, "equal.csv", web(server.url)),))
        only_sources(Source(web(server.url), (SourceFile(7, "pinned.csv", web(server.url)),), equal))
        found = Store(work).obtain_all(7, lambda event: None)
    assert [file.path for file in found] == ["equal.csv"]


# The network


def test_what_is_there_is_checked_and_only_the_rest_is_downloaded(work):
    put(work / "sources", **{"a": TEXT})
    with Server(tree({"b": OTHER})) as server:
        wanted = {"a": TEXT, "b": OTHER}
        files = [SourceFile(7, name, web(server.url), sha256=sha256(text)) for name, text in wanted.items()]
        assert obtain(Store(work), *files) == {"a": TEXT, "b": OTHER}
        assert server.paths == ["GET /b"]
        put(work / "sources", **{"a": b"edited"})
        with pytest.raises(SuiteError, match="7/a.bad is not the pinned file 7/a"):
            obtain(Store(work), *files)
        assert below(work) == {"sources/7/a.bad", "sources/7/b"}


def test_members_are_unpacked_from_one_download_of_their_archive(work):
    with Server(tree({"res/all.zip": ZIP})) as server:
        wanted = member("in/test.csv", web(server.url), TEXT), member("in/dev.csv", web(server.url))
        assert obtain(Store(work), *wanted) == {"in/test.csv": TEXT, "in/dev.csv": OTHER}
        assert obtain(Store(work), *wanted) == {"in/test.csv": TEXT, "in/dev.csv": OTHER}
    assert server.paths == ["GET /res/all.zip"]
    assert below(work) == {"sources/7/res/all.zip", "sources/7/in/test.csv", "sources/7/in/dev.csv"}


def test_an_unsafe_archive_writes_nothing_and_names_source_and_member(work, monkeypatch):
    evil = zipped(**{"../../../evil.csv": b"evil", "in/test.csv": TEXT})
    with Server(tree({"res/all.zip": evil})) as server:
        archive = SourceFile(7, "res/all.zip", web(server.url), sha256=sha256(evil))
        with pytest.raises(SuiteError, match=r"7/res/all.zip is not safe to unpack: it holds '../../../evil.csv'"):
            obtain(Store(work), SourceFile(7, "in/test.csv", web(server.url), archive=archive))
    assert below(work.parent) == {"work/sources/7/res/all.zip"}


@pytest.fixture
def github(monkeypatch):
    """A stand-in for GitHub's three services, at the address of a server."""

    def use(url: str) -> None:
        monkeypatch.setitem(ADDRESSES, "github", url + "/raw/{path}")
        monkeypatch.setattr(bring, "COMMITS", url + "/commit")
        monkeypatch.setattr(listing, "TREES", url + "/trees")

    return use


def test_a_pattern_on_github_is_looked_up_once_and_its_files_come_one_by_one(work, github):
    routes = {
        f"/trees/{REVISION}": {"tree": [{"path": "data", "type": "tree", "sha": "d1"}]},
        "/trees/d1?recursive=1": {"tree": [{"path": "a.csv", "type": "blob", "mode": "100644", "size": len(TEXT)}]},
    }
    pattern = SourceFile(7, "data/*.csv", GITHUB, pattern=True)
    with Server(tree({"raw/data/a.csv": TEXT}, routes)) as server:
        github(server.url)
        assert obtain(Store(work), pattern) == {"data/a.csv": TEXT}
        assert obtain(Store(work), pattern) == {"data/a.csv": TEXT}
    assert server.paths == [f"GET /trees/{REVISION}", "GET /trees/d1?recursive=1", "GET /raw/data/a.csv"]
    (work / "sources/7/data/a.csv").unlink()
    with pytest.raises(SuiteError, match="incomplete: 7/data/a.csv is not in"):
        obtain(Store(work, may_download=False), pattern)


def commit(**files: bytes) -> bytes:
    """A commit's archive as GitHub makes it, with a link and a stranger in it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, content in {**files, "stranger": b"?"}.items():
            facts = tarfile.TarInfo(f"name-{REVISION}/{name}")
            facts.size = len(content)
            archive.addfile(facts, io.BytesIO(content))
        link = tarfile.TarInfo(f"name-{REVISION}/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return buffer.getvalue()


def test_very_many_files_of_a_commit_come_in_one_archive(work, github, monkeypatch):
    monkeypatch.setattr(bring, "MANY", 2)
    wanted = {"a.mid": TEXT, "b .mid": OTHER}
    files = [SourceFile(7, name, GITHUB, f"mid/{name}", sha256(text)) for name, text in wanted.items()]
    with Server(tree({f"commit/{REVISION}": commit(**{"mid/a.mid": TEXT, "mid/b .mid": OTHER})})) as server:
        github(server.url)
        assert obtain(Store(work), *files) == {"a.mid": TEXT, "b .mid": OTHER}
    assert server.paths == [f"GET /commit/{REVISION}"]
    assert below(work) == {"sources/7/a.mid", "sources/7/b .mid"}


def test_a_cut_archive_of_a_commit_is_named_and_gone_afterwards(work, github, monkeypatch):
    monkeypatch.setattr(bring, "MANY", 1)
    noise = hashlib.shake_256(b"").digest(100_000)
    with Server(tree({f"commit/{REVISION}": commit(**{"a.mid": noise})[:50_000]})) as server:
        github(server.url)
        with pytest.raises(SuiteError, match=f"cannot unpack a.mid from 7/{REVISION}.tar.gz, which is damaged"):
            obtain(Store(work), SourceFile(7, "a.mid", GITHUB))
    assert below(work) <= {"sources/7/a.mid.part"}


def test_hub_files_and_patterns_come_through_the_hub(work, monkeypatch):
    origin = Origin("hub", "owner/name", REVISION)
    files = [SourceFile(7, "x.csv", origin, "data/x.csv"), SourceFile(7, "data/*.parquet", origin, pattern=True)]
    served = {"data/x.csv": TEXT, "data/a.parquet": OTHER}
    with Server(hub("owner/name", REVISION, served, {"data/a.parquet": sha256(OTHER)})) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        assert obtain(Store(work), *files) == {"x.csv": TEXT, "data/a.parquet": OTHER}
    [parquet] = Store(work).expand(files[1:])
    assert (parquet.sha256, parquet.size) == (sha256(OTHER), len(OTHER))


def test_a_listed_hub_file_that_changed_is_not_used(work, monkeypatch):
    origin = Origin("hub", "owner/name", REVISION)
    with Server(hub("owner/name", REVISION, {"a.parquet": b"changed"}, {"a.parquet": sha256(OTHER)})) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        with pytest.raises(SuiteError, match="a.parquet.bad is not the pinned file 7/a.parquet"):
            obtain(Store(work), SourceFile(7, "*.parquet", origin, pattern=True))


# What is there and what is to come


def test_the_inventory_counts_files_and_downloads(work, only_sources, monkeypatch, either):
    monkeypatch.setattr("suite_builder.inventory.sources", lambda: {4: (Source(GITHUB, FILES),), 5: (either,)})
    first, second = survey(Store(put(work / "sources", **{"a": TEXT}).parent), [4, 5])
    assert (first.files, first.present, first.state) == (None, 1, "missing")
    assert (first.size, first.to_download, first.unknown) == (8 + 500 + 9000, 500 + 9000, 1)
    assert (second.state, second.instead, second.to_download) == ("missing", None, 0)


ARCHIVE = SourceFile(7, "all.zip", GITHUB, size=500)
FILES = (
    SourceFile(7, "a", GITHUB, size=8),
    SourceFile(7, "b", GITHUB, about=9000),
    SourceFile(7, "in/c", GITHUB, archive=ARCHIVE),
    SourceFile(7, "in/d", GITHUB, archive=ARCHIVE),
    SourceFile(7, "*.csv", GITHUB, pattern=True),
)


def test_gated_and_stand_in_sources_are_told_as_such(work, mirror, monkeypatch, either):
    origin = Origin("hub", "owner/name", REVISION, gated=True)
    gated = Source(origin, (SourceFile(7, "gated.csv", origin),))
    monkeypatch.setattr("suite_builder.inventory.sources", lambda: {4: (gated, either)})
    put(mirror, **{"equal.csv": TEXT})
    first, second = survey(Store(work, mirror))
    assert (first.state, second.state, second.instead) == ("gated", "present", "http://nowhere.example")
