import gzip
import random

import orjson
import pytest
from suites import make_row

from suite_builder.cuts import Cut
from suite_builder.editions import edition, editions
from suite_builder.errors import SuiteError
from suite_builder.row_index import KEY, LABELS, ROWS, RowIndex
from suite_builder.rows import RawRow, Request
from suite_builder.suite import Suite


@pytest.fixture
def golden(request):
    return request.path.parents[1] / "fixtures" / "golden" / "suite-0.2"


def test_rows_are_typed_and_streamed_in_file_order(make_suite):
    suite = make_suite()
    rows = list(suite.rows())
    assert [row.run_id for row in rows][:2] == ["41:VAST:VAST:test:0", "41:VAST:VAST:test:1"]
    assert len(rows) == 30
    assert all(isinstance(row, Request) and row.payload_matches() for row in rows)


def test_a_changed_payload_no_longer_matches(make_suite):
    request = next(make_suite().rows())
    request.state["text"] += "!"
    assert not request.payload_matches()


def test_excluded_rows_are_left_out_unless_asked_for(make_suite):
    suite = make_suite()
    excluded = Suite(suite.files, suite.edition, frozenset({"44:CLadder:CLadder:test:3"}), suite.manifest, suite.directory)
    assert len(list(excluded.rows())) == 29
    assert len(list(excluded.rows(with_excluded=True))) == 30
    assert {label.run_id for label in excluded.labels()} == {row.run_id for row in excluded.rows()}


def test_the_published_list_excludes_442_run_ids(make_suite):
    assert len(make_suite().excluded) == 442


def label_of(**changes):
    return RawRow.from_line(orjson.dumps(make_row(44, 1) | changes)).label()


def test_the_label_file_holds_what_scoring_needs_of_every_row(make_suite):
    suite = make_suite()
    from_rows = list(suite.labels())
    RowIndex.require(suite).close()
    assert RowIndex.of(suite) is not None
    labels = list(suite.labels())
    assert labels == from_rows
    for label, request in zip(labels, suite.rows(), strict=True):
        facts = {"catalog_id": label.catalog_id, "run_id": label.run_id, "payload_sha256": label.payload_sha256}
        assert facts.items() <= request.evaluation.items()
        assert label.gold == request.row["expected"]
        assert label.questions == {name: [own["type"], list(own["criteria"])] for name, own in request.questions.items()}


def test_a_label_holds_gold_options_and_facts():
    row = make_row(44, 1)
    label = label_of()
    assert label.gold == row["expected"]
    assert label.facts == {"subject": row["provenance"]["subject"]}
    assert label.scoring is None
    texts = [f'"{text}"' for text in row["questions"]["q1"]["criteria"].values()]
    assert label.texts["q1"] == texts


@pytest.mark.parametrize(
    ("question", "keys", "texts"),
    [
        ({"type": "choice", "criteria": {"a": None, "b": {"z": 1, "y": "é"}}}, ["a", "b"], ["a", '{"y": "é", "z": 1}']),
        ({"type": "noul"}, ["false", "true"], ["false", "true"]),
        ({"type": "score", "criteria": ["low", None]}, ["0", "1"], ['"low"', "1"]),
    ],
)
def test_label_texts_are_the_json_of_descriptions_or_the_key(question, keys, texts):
    label = label_of(questions={"q": question})
    assert label.questions == {"q": [question["type"], keys]}
    assert label.texts == {"q": texts}


def test_any_request_is_found_by_run_id_and_by_position(make_suite):
    suite = make_suite()
    index = RowIndex.require(suite)
    rows = list(suite.rows())
    for position in random.Random(0).sample(range(30), 10):
        assert index.request(position) == rows[position]
        assert index.find(rows[position].run_id) == rows[position]
    with pytest.raises(KeyError):
        index.find("nobody")
    index.close()


def test_the_index_is_made_anew_when_rows_change(make_suite):
    suite = make_suite()
    RowIndex.require(suite).close()
    content = gzip.decompress(suite.files[0].read_bytes())
    suite.files[0].write_bytes(gzip.compress(content[: content.index(b"\n") + 1]))
    assert RowIndex.of(suite) is None
    index = RowIndex.require(suite)
    assert len(list(index.labels())) == 1
    index.close()


def test_a_half_written_index_is_not_used(make_suite):
    suite = make_suite()
    RowIndex.require(suite).close()
    (suite.directory / "index" / KEY).unlink()
    assert RowIndex.of(suite) is None


def test_a_loose_rows_file_gets_a_temporary_index(make_rows_file):
    path = make_rows_file()
    index = RowIndex.require(Suite.from_rows_file(path))
    folder = index.folder
    assert (folder / ROWS).read_bytes() == gzip.decompress(path.read_bytes())
    assert (folder / LABELS).is_file()
    index.close()
    assert not folder.exists()


def test_the_index_knows_the_sha256_of_the_content(make_suite):
    suite = make_suite()
    index = RowIndex.require(suite)
    assert index.content_sha256["selected-rows"] == suite.manifest["files"]["selected-rows.jsonl.gz"]["uncompressed_sha256"]
    suite.require_content(index.content_sha256)
    with pytest.raises(SuiteError, match="selected-rows has sha256 00000000…, expected .*--no-verify"):
        suite.require_content({"selected-rows": "0" * 64})
    index.close()


def test_a_malformed_row_is_named_with_file_and_line(tmp_path, make_rows_file):
    lines = gzip.decompress(make_rows_file().read_bytes()).splitlines(keepends=True)
    broken = tmp_path / "broken.jsonl"
    broken.write_bytes(b"".join([*lines[:4], b'{"state": 1}\n']))
    with pytest.raises(SuiteError, match=r"broken\.jsonl, line 5: not a suite row: '_evaluation' is missing"):
        list(Suite.from_rows_file(broken).rows())
    broken.write_bytes(b"".join([*lines[:2], b"{oops\n"]))
    with pytest.raises(SuiteError, match=r"broken\.jsonl, line 3: "):
        list(Suite.from_rows_file(broken).rows())


def test_a_damaged_gzip_file_is_named(make_rows_file):
    path = make_rows_file()
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(SuiteError, match=r"rows\.jsonl\.gz is damaged"):
        list(Suite.from_rows_file(path).rows())


def test_a_run_id_that_occurs_twice_is_refused(tmp_path, make_rows_file):
    content = gzip.decompress(make_rows_file().read_bytes())
    twice = tmp_path / "twice.jsonl"
    twice.write_bytes(content + content.splitlines(keepends=True)[0])
    with pytest.raises(SuiteError, match="41:VAST:VAST:test:0 occurs twice"):
        RowIndex.require(Suite.from_rows_file(twice))


def test_a_missing_suite_says_what_to_do(tmp_path):
    with pytest.raises(SuiteError, match="no suite in .*suite rebuild"):
        Suite.open(tmp_path)
    with pytest.raises(SuiteError, match="suite sample"):
        Suite.from_rows_file(tmp_path / "nothing.jsonl.gz")


def test_files_of_another_edition_are_refused(make_suite):
    suite = make_suite()
    assert Suite.open(suite.directory, "0.2").edition.id == "0.2"
    with pytest.raises(SuiteError, match="holds the files of edition 0.2; edition 0.1 reads other files"):
        Suite.open(suite.directory, "0.1")


def test_verify_finds_a_row_that_was_changed(make_suite):
    suite = make_suite()
    assert [check.ok for check in suite.verify()] == [True, True]
    content = gzip.decompress(suite.files[0].read_bytes())
    suite.files[0].write_bytes(gzip.compress(content.replace(b'"text":"', b'"text":"x', 1)))
    checks = list(suite.verify())
    assert [check.ok for check in checks] == [False, False]
    assert "1 of 30 payloads differ" in checks[1].detail


def test_editions_are_found_by_every_name():
    assert edition().id == "0.2.1"
    assert edition("v0.2").id == edition("release-v2").id == "0.2"
    with pytest.raises(SuiteError, match="unknown edition '7'; choose one of 0.1, 0.2, 0.2.1, 0.3"):
        edition("7")


def test_edition_counts_add_up():
    for one in editions().values():
        assert one.scoreable + one.excluded == one.requests
    assert editions()["0.2.1"].files == editions()["0.2"].files


class Row:
    def __init__(self, run_id="", group_id="", scoring=None):
        self.run_id, self.group_id, self.scoring = run_id, group_id, scoring


def test_cuts_keep_what_their_lists_and_rules_say():
    groups = Cut("listed groups", "acos-groups.txt")
    assert groups.keeps(Row(group_id="Laptop-ACOS:laptop_quad_test:line-100"))
    assert not groups.keeps(Row(group_id="Laptop-ACOS:laptop_quad_test:line-101"))
    run_ids = Cut("listed run ids", "home-appliance-run-ids.txt")
    assert run_ids.keeps(Row("9:Home-Appliance:home-appliance:test:maple:06"))
    assert not run_ids.keeps(Row("9:Home-Appliance:home-appliance:test:maple:05"))
    answerable = Cut("answerable queries")
    assert answerable.keeps(Row(scoring={"scorable_ids": ["a", "b"], "qrels": {"b": 1}}))
    assert not answerable.keeps(Row(scoring={"scorable_ids": ["a", "b"], "qrels": {"b": 0, "c": 2}}))
    rebuilt = Cut("run ids that begin", "v0.3-gsm8k:")
    assert rebuilt.keeps(Row("v0.3-gsm8k:30:GSM8K-4choice:0")) and not rebuilt.keeps(Row("30:GSM8K-4choice:0"))
    assert not Cut("nothing").keeps(Row("48:x"))


def test_the_golden_suite_is_cut_as_published(golden):
    kept = orjson.loads((golden.parent / "subsets.json").read_bytes())
    for name in ("0.2", "0.2.1"):
        suite = Suite.open(golden, name)
        read = {row.run_id for row in suite.rows(with_excluded=True)}
        for catalog_id, run_ids in kept[name].items():
            assert {run_id for run_id in read if run_id.startswith(f"{catalog_id}:")} == set(run_ids)
