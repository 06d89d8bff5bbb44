"""Frozen lines and the 0.1 selection, on rows and groups small enough to work out by hand."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from suite_builder.catalog import benchmarks
from suite_builder.freeze import added_lines, base_lines, fill_budget, group_id, kept_groups, largest_remainder
from suite_builder.rows import sha256_text
from suite_builder.tokens import cl100k_counter

ROW = {
    "id": "r:1",
    "state": {"b": 1e-05, "a": "é\x7f\u2028/"},
    "questions": {"q1": {"type": "choice", "instructions": "Which?", "criteria": {"A": "x", "B": "y"}}},
    "expected": {"q1": "A"},
}
# The text that is hashed, by the rules: model first, no spaces, non-ASCII raw, floats as Python prints them.
PAYLOAD = (
    '{"model":"jev-1.13.0","state":{"b":1e-05,"a":"é\x7f\u2028/"},"questions":{"q1":{"type":"choice",'
    '"instructions":"Which?","criteria":{"A":"x","B":"y"}}}}'
)
SIZES = {"a": 2, "b": 3, "c": 1, "d": 4, "e": 2, "f": 1}


def normalized_file(folder: Path, rows: list[dict], name: str = "T") -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "ascii")
    return path


def linked_rows(sizes: dict[str, int], **metadata) -> list[dict]:
    """Rows of groups, dealt in turns so that the rows of a group do not stand together."""
    return [
        {**ROW, "id": f"{group}{turn}", "metadata": {"group_id": group, **metadata}}
        for turn in range(max(sizes.values()))
        for group, size in sizes.items()
        if turn < size
    ]


def test_base_line_is_the_row_with_raw_characters_and_its_evaluation(tmp_path):
    [line] = base_lines(benchmarks()[11], {"ContractNLI": normalized_file(tmp_path, [ROW])})
    assert line == (
        '{"id":"r:1","state":{"b":1e-05,"a":"é\x7f\u2028/"},"questions":{"q1":{"type":"choice","instructions":"Which?",'
        '"criteria":{"A":"x","B":"y"}}},"expected":{"q1":"A"},"_evaluation":{"run_id":"11:ContractNLI:r:1",'
        '"catalog_id":11,"dataset":"ContractNLI","group_id":"r:1","track":"ContractNLI",'
        '"source_path":"artifacts/benchmark-suite/active/release-v1/ContractNLI.jsonl",'
        f'"payload_sha256":"{sha256_text(PAYLOAD)}","proxy_tokens":{len(PAYLOAD) // 4},'
        '"benchmark_origin":"Original-task benchmarks"}}'
    )


def test_group_id_is_that_of_the_metadata_as_text_or_else_the_row_id():
    assert group_id({"id": "x", "metadata": {"group_id": 7}}) == "7"
    assert group_id({"id": "x", "metadata": {}}) == "x"
    assert group_id({"id": "x"}) == "x"


@pytest.mark.parametrize(
    ("catalog_id", "tail"),
    [(59, '"proxy_tokens":21,"batch":2}}'), (56, f'"proxy_tokens":{len(PAYLOAD) // 4}}}}}')],
)
def test_added_line_has_its_batch_and_tokens_and_56_neither(catalog_id, tail):
    row = {**ROW, "metadata": {"source_id": 1, "group_id": "g", "track": "t"}}
    [line] = added_lines(benchmarks()[catalog_id], [row], count_tokens=lambda _text: 21)
    prefix = "calibration-v1" if catalog_id == 56 else "candidates-v3"
    dataset = benchmarks()[catalog_id].dataset
    assert line.endswith(
        f'"_evaluation":{{"run_id":"{prefix}:r:1","catalog_id":{catalog_id},"dataset":"{dataset}",'
        f'"track":"t","group_id":"g","payload_sha256":"{sha256_text(PAYLOAD)}",'
        f'"benchmark_origin":"Original-task benchmarks",{tail}'
    )


def test_added_tokens_are_counted_over_state_and_questions_without_the_model():
    counted = []
    row = {**ROW, "metadata": {"group_id": "g", "track": "t"}}
    list(added_lines(benchmarks()[57], [row], count_tokens=lambda text: counted.append(text) or 1))
    assert counted == [PAYLOAD.replace('"model":"jev-1.13.0",', "")]


def test_special_tokens_count_as_plain_text(shared):
    count = cl100k_counter(shared / "sources" / "2" / "cl100k_base.tiktoken")
    assert count("hello world") == 2
    assert count("<|endoftext|>") == 7


def test_without_a_cap_every_row_stays(tmp_path):
    rows = linked_rows(SIZES)
    assert kept_groups(benchmarks()[38], rows) is None
    lines = base_lines(benchmarks()[38], {"T": normalized_file(tmp_path, rows)})
    assert [json.loads(line)["id"] for line in lines] == [row["id"] for row in rows]


def test_case_cap_keeps_whole_groups_of_lowest_priority_in_file_order(tmp_path):
    # sha256 of `20260919:22:<group>` sorts the groups d, c, a, b, e, f.
    benchmark = replace(benchmarks()[22], case_cap=3)
    lines = base_lines(benchmark, {"T": normalized_file(tmp_path, linked_rows(SIZES))})
    assert [json.loads(line)["id"] for line in lines] == ["a0", "c0", "d0", "a1", "d1", "d2", "d3"]


def test_a_cap_above_the_number_of_groups_keeps_all():
    assert kept_groups(replace(benchmarks()[22], case_cap=7), linked_rows(SIZES)) == set(SIZES)


def test_request_cap_skips_a_group_that_does_not_fit_and_goes_on():
    # sha256 of `20260919:20:<group>` sorts the groups f, d, b, e, c, a: f 1, d 5, b no (8), e 7, c no, a no.
    assert kept_groups(replace(benchmarks()[20], request_cap=7), linked_rows(SIZES)) == {"f", "d", "e"}


def test_request_cap_counts_the_rows_of_a_group_over_all_files(tmp_path):
    files = {track: normalized_file(tmp_path, linked_rows(SIZES), track) for track in ("T1", "T2")}
    lines = map(json.loads, base_lines(replace(benchmarks()[20], request_cap=7), files))
    # Sizes doubled: f 2, d no (10), b no (8), e 6, c no, a no.
    assert [line["_evaluation"]["run_id"] for line in lines] == [
        "20:T1:e0", "20:T1:f0", "20:T1:e1", "20:T2:e0", "20:T2:f0", "20:T2:e1",
    ]


def test_strata_share_the_cap_by_size_and_priority_decides_inside():
    # 10 groups, 6 in (us, E), 3 in (us, S), 1 in (es, E); cap 4: shares 2.4, 1.2, 0.4. Integer parts 2, 1, 0; the seat
    # left goes to the fraction 0.4, and of the two with it to the smaller tuple, (es, E).
    # sha256 of `20260919:37:<group>` sorts e, a, j, i, f, h, c, g, d, b.
    members = {("us", "E"): "abcdef", ("us", "S"): "ghi", ("es", "E"): "j"}
    rows = [
        {**row, "expected": {"answer": answer}}
        for (locale, answer), groups in members.items()
        for row in linked_rows(dict.fromkeys(groups, 1), locale=locale)
    ]
    assert kept_groups(replace(benchmarks()[37], case_cap=4), rows) == {"e", "a", "i", "j"}


def test_seats_left_over_go_to_the_largest_fractions():
    # Shares of 7 seats over 10: 3.5, 2.1, 1.4.
    assert largest_remainder({"a": 5, "b": 3, "c": 2}, 7) == {"a": 4, "b": 2, "c": 1}


def test_a_budget_can_be_filled_to_the_last_request():
    assert list(fill_budget("abc", {"a": 2, "b": 2, "c": 1}, 3)) == ["a", "c"]


def test_caps_are_those_of_edition_0_1():
    caps = {entry.catalog_id: (entry.case_cap, entry.request_cap) for entry in benchmarks().values()}
    assert {catalog_id: cap for catalog_id, cap in caps.items() if cap != (None, None)} == {
        6: (None, 10_000),
        10: (2_500, None),
        20: (None, 5_000),
        22: (2_000, None),
        **dict.fromkeys((23, 31, 37, 44), (5_000, None)),
    }
    assert benchmarks()[37].strata == ("metadata.locale", "expected.answer")
