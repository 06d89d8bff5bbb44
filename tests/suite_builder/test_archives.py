"""Members of archives: right ones at their place, hostile and damaged archives refused with nothing written."""

import hashlib
import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from suite_builder.archives import is_inside, unpack
from suite_builder.errors import SuiteError
from suite_builder.sources import Origin, SourceFile

WEB = Origin("url", url="http://nowhere.example")
TEXT = b"one,two\r\n" * 5000
# A zip of `secret.txt` with the classic encryption and the password `orchid`, made with Info-ZIP's `zip -X -P`.
ENCRYPTED = bytes.fromhex(
    "504b03040a0009000000a9b27d5d43023cad190000000d0000000a0000007365637265742e747874365fcf0ad2287bf7eaa9"
    "4fcf5e28f0744b8d08d9513c7739e3504b070843023cad190000000d000000504b01021e030a0009000000a9b27d5d43023c"
    "ad190000000d0000000a0000000000000001000000a481000000007365637265742e747874504b0506000000000100010038"
    "000000510000000000"
)


def member(path: str, content: bytes | None = None, upstream: str | None = None) -> SourceFile:
    return SourceFile(7, path, WEB, upstream, content and hashlib.sha256(content).hexdigest())


def write_zip(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def write_tar(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            facts = tarfile.TarInfo(name)
            facts.size = len(content)
            archive.addfile(facts, io.BytesIO(content))
    return path


def below(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def work(tmp_path) -> Path:
    return tmp_path / "work"


@pytest.mark.parametrize("write", [write_zip, write_tar])
def test_only_the_wanted_members_come_each_to_its_place(tmp_path, work, write):
    archive = write(tmp_path / "a", {"data/test.csv": TEXT, "data/other.csv": b"no", "readme": b"yes"})
    digests = unpack(archive, "7/a", [member("data/test.csv", TEXT), member("readme")], work)
    contents = {"7/data/test.csv": TEXT, "7/readme": b"yes"}
    assert digests == {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}
    assert (work / "7/data/test.csv").read_bytes() == TEXT
    assert below(work) == {"7/data/test.csv", "7/readme"}


def test_leading_folders_can_be_left_out_of_the_inner_paths(tmp_path, work):
    archive = write_tar(tmp_path / "a", {"repository-0123/data/test.csv": TEXT, "repository-0123/test.csv": b"no"})
    unpack(archive, "7/a", [member("test.csv", upstream="data/test.csv")], work, strip=1)
    assert (work / "7/test.csv").read_bytes() == TEXT


@pytest.mark.parametrize("path", ["../evil", "data/../../evil", "/etc/evil", "..\\evil"])
@pytest.mark.parametrize("write", [write_zip, write_tar])
def test_an_archive_with_a_path_out_of_its_folder_is_refused(tmp_path, work, write, path):
    archive = write(tmp_path / "a", {path: b"evil", "test.csv": TEXT})
    with pytest.raises(SuiteError, match=r"7/a is not safe to unpack: it holds .*evil'"):
        unpack(archive, "7/a", [member("test.csv"), member(path)], work)
    assert below(tmp_path) == {"a"}


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE])
def test_a_tar_member_that_is_no_plain_file_is_refused(tmp_path, work, kind):
    facts = tarfile.TarInfo("test.csv")
    facts.type, facts.linkname = kind, "/etc/passwd"
    with tarfile.open(tmp_path / "a", "w") as archive:
        archive.addfile(facts)
    with pytest.raises(SuiteError, match="7/a is not safe to unpack: its member test.csv is a link or folder"):
        unpack(tmp_path / "a", "7/a", [member("test.csv")], work)
    assert below(tmp_path) == {"a"}


def test_a_zip_member_that_is_a_link_is_refused(tmp_path, work):
    facts = zipfile.ZipInfo("test.csv")
    facts.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        archive.writestr(facts, "/etc/passwd")
    with pytest.raises(SuiteError, match="its member test.csv is a link or folder"):
        unpack(tmp_path / "a", "7/a", [member("test.csv")], work)
    assert not work.exists()


@pytest.mark.parametrize("share", [0.1, 0.5, 0.98])
@pytest.mark.parametrize("write", [write_zip, write_tar])
def test_a_truncated_archive_is_named_with_what_was_wanted(tmp_path, work, write, share):
    noise = bytes(hashlib.shake_256(b"noise").digest(200_000))
    archive = write(tmp_path / "a", {"test.csv": noise, "more": noise})
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(SuiteError, match=r"cannot unpack (test.csv|more).* from 7/a, which is damaged or locked: "):
        unpack(archive, "7/a", [member("test.csv"), member("more")], work)
    assert not (work / "7/more").exists()


def test_a_member_with_changed_bytes_is_noticed(tmp_path, work):
    archive = write_zip(tmp_path / "a", {"test.csv": TEXT}, zipfile.ZIP_STORED)
    archive.write_bytes(archive.read_bytes().replace(b"one,two", b"one,twO", 1))
    with pytest.raises(SuiteError, match="cannot unpack test.csv from 7/a, which is damaged or locked: Bad CRC-32"):
        unpack(archive, "7/a", [member("test.csv")], work)
    assert not (work / "7/test.csv").exists()


def test_what_is_no_archive_is_refused(tmp_path, work):
    (tmp_path / "a").write_text("404 page not found")
    with pytest.raises(SuiteError, match="cannot unpack test.csv from 7/a, which is damaged or locked"):
        unpack(tmp_path / "a", "7/a", [member("test.csv")], work)


def test_missing_members_are_named(tmp_path, work):
    archive = write_zip(tmp_path / "a", {"test.csv": TEXT})
    with pytest.raises(SuiteError, match="7/a has no member train.csv and 1 more$"):
        unpack(archive, "7/a", [member("test.csv"), member("train.csv"), member("dev.csv")], work)


def test_a_member_that_is_not_the_pinned_file_is_set_aside(tmp_path, work):
    archive = write_zip(tmp_path / "a", {"test.csv": TEXT})
    with pytest.raises(SuiteError, match="test.csv.bad is not the pinned file 7/test.csv"):
        unpack(archive, "7/a", [member("test.csv", b"other")], work)
    assert below(work) == {"7/test.csv.bad"}


def test_members_with_a_password_are_read(tmp_path, work):
    (tmp_path / "a").write_bytes(ENCRYPTED)
    unpack(tmp_path / "a", "7/a", [member("secret.txt")], work, password="orchid")
    assert (work / "7/secret.txt").read_bytes() == b"hidden words\n"


@pytest.mark.parametrize("password", [None, "tulip"])
def test_a_missing_or_wrong_password_is_one_clear_error(tmp_path, work, password):
    (tmp_path / "a").write_bytes(ENCRYPTED)
    with pytest.raises(SuiteError, match="cannot unpack secret.txt from 7/a.*assword"):
        unpack(tmp_path / "a", "7/a", [member("secret.txt")], work, password)


def test_paths_that_stay_inside_are_told_from_those_that_do_not():
    assert all(map(is_inside, ["a", "a/b.c", "./a", "a..b/c", "CT json/043 .mid", "a/"]))
    assert not any(map(is_inside, ["..", "../a", "a/../..", "/a", "a\\..\\b"]))
