import gzip
from dataclasses import replace

import pytest

from suite_builder.editions import RowFile, edition
from suite_builder.errors import SuiteError
from suite_builder.import_rows import content_sha256, import_rows
from suite_builder.row_index import RowIndex
from suite_builder.suite import read_lines


def test_files_that_are_not_the_published_ones_are_refused(make_rows_file, tmp_path):
    rows = make_rows_file()
    target = tmp_path / "suite"
    with pytest.raises(SuiteError, match="is not the published selected-rows of edition 0.1.*--no-verify"):
        import_rows(edition("0.1"), {"selected-rows": rows}, target)
    assert not target.exists()


def test_unverified_files_are_staged_as_a_partial_suite(make_rows_file, tmp_path):
    rows = make_rows_file()
    suite = import_rows(edition("0.2.1"), {"selected-rows": rows}, tmp_path / "suite", verify=False)
    assert suite.partial
    assert len(list(suite.rows())) == 30
    assert RowIndex.of(suite) is not None


def test_a_plain_file_is_packed_and_its_content_kept(make_rows_file, tmp_path):
    plain = tmp_path / "rows.jsonl"
    plain.write_bytes(gzip.decompress(make_rows_file().read_bytes()))
    suite = import_rows(edition("0.2.1"), {"selected-rows": plain}, tmp_path / "suite", verify=False)
    assert b"".join(read_lines(suite.files[0])) == plain.read_bytes()


def test_a_file_with_the_published_content_is_complete_whatever_its_gzip_header(make_rows_file, tmp_path, monkeypatch):
    rows = make_rows_file()
    published = replace(edition("0.1"), files={"selected-rows": RowFile(rows=30, sha256=content_sha256(rows))})
    monkeypatch.setattr("suite_builder.editions.editions", lambda: {"0.1": published})
    monkeypatch.setattr("suite_builder.assemble.editions", lambda: {"0.1": published})
    monkeypatch.setattr("suite_builder.suite.editions", lambda: {"0.1": published})
    repacked = tmp_path / "repacked.jsonl.gz"
    repacked.write_bytes(gzip.compress(gzip.decompress(rows.read_bytes()), 1))
    assert repacked.read_bytes() != rows.read_bytes()
    suite = import_rows(published, {"selected-rows": repacked}, tmp_path / "suite")
    assert not suite.partial
    assert all(check.ok for check in suite.verify())


def test_files_that_the_edition_does_not_have_or_needs_are_named(make_rows_file, tmp_path):
    rows = make_rows_file()
    with pytest.raises(SuiteError, match="edition 0.1 has no added-rows"):
        import_rows(edition("0.1"), {"selected-rows": rows, "added-rows": rows}, tmp_path / "suite", verify=False)
