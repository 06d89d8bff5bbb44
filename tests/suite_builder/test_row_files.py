"""What later editions do to the rows: subsets in the file, GSM8K built anew."""

import hashlib
from pathlib import Path

import pytest
from suites import row_line

from suite_builder import subsets
from suite_builder.blocks import Block, LineFile
from suite_builder.build import rebuild
from suite_builder.catalog import benchmarks
from suite_builder.editions import edition
from suite_builder.row_files import row_files
from suite_builder.store import Store
from suite_builder.subsets import Subset
from suite_builder.suite import Suite, read_lines


def make_block(folder: Path, catalog_id: int, groups: list[str]) -> Block:
    """Two rows a group, run ids `<group>:0` and `<group>:1`."""
    path = folder / f"{catalog_id}.jsonl"
    facts = [{"run_id": f"{group}:{part}", "group_id": group} for group in groups for part in (0, 1)]
    path.write_bytes(b"".join(row_line({"_evaluation": one}) for one in facts))
    return Block(benchmarks()[catalog_id], LineFile(path, len(facts), "", path.stat().st_size, 0), {})


@pytest.fixture
def small_subset(monkeypatch):
    monkeypatch.setitem(subsets.SUBSETS, 36, Subset(2, 5))


def lines_of(edition_name: str, block: Block, tmp_path: Path) -> list[bytes]:
    files = row_files(edition(edition_name), [block], Store(tmp_path, None, False), lambda event: None)
    assert list(files) == ["selected-rows"]
    return list(files["selected-rows"]())


def test_bright_is_whole_in_0_1_and_cut_to_whole_groups_in_their_order_from_0_2_on(tmp_path, small_subset):
    block = make_block(tmp_path, 36, ["b:2", "a:1", "b:1", "a:2", "b:3"])
    whole = block.frozen.path.read_bytes().splitlines(keepends=True)
    assert lines_of("0.1", block, tmp_path) == whole
    for name in ("0.2", "0.2.1"):
        kept = lines_of(name, block, tmp_path)
        assert len(kept) == 4
        assert kept == [line for line in whole if line in kept]
        groups = [line.split(b'"group_id":"')[1].split(b'"')[0] for line in kept]
        assert groups[0] == groups[1] and groups[2] == groups[3] and {group[:1] for group in groups} == {b"a", b"b"}


def test_groups_with_an_excluded_row_stay_in_the_file_beside_the_subset(tmp_path, small_subset, monkeypatch):
    monkeypatch.setattr("suite_builder.row_files.load_lines", lambda name: ("b:3:1\tbeyond",))
    block = make_block(tmp_path, 36, ["b:2", "a:1", "b:1", "a:2", "b:3"])
    kept = lines_of("0.2", block, tmp_path)
    assert len(kept) == 6
    assert [line for line in kept if b'"group_id":"b:3"' in line] == block.frozen.path.read_bytes().splitlines(keepends=True)[-2:]


def test_other_benchmarks_are_never_cut_in_the_file(tmp_path):
    block = make_block(tmp_path, 38, ["x:1", "x:2"])
    assert lines_of("0.2.1", block, tmp_path) == block.frozen.path.read_bytes().splitlines(keepends=True)


def test_edition_0_3_has_its_own_gsm8k_rows_and_reads_them_alone(shared, tmp_path):
    result = rebuild(tmp_path / "work", tmp_path / "suite", edition("0.3"), only=[30], mirror=shared / "sources", jobs=1)
    assert result.ok
    suite = Suite.open(tmp_path / "suite")
    assert suite.edition.id == "0.3"
    assert [path.name for path in suite.files] == ["selected-rows.jsonl.gz", "gsm8k-rows.jsonl.gz"]
    content = b"".join(read_lines(suite.files[1]))
    assert hashlib.sha256(content).hexdigest() == edition("0.3").files["gsm8k-rows"].sha256
    read = [row.run_id for row in suite.rows()]
    assert len(read) == 2638 and all(run_id.startswith("v0.3-gsm8k:30:") for run_id in read)
