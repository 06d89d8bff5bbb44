"""Reading records: errors say in which file and record something is wrong, and nothing wrong passes."""

import pytest
from recipe_sources import write_lines, write_parquet

from suite_builder.recipes.records import json_lines, naming, option_key, parquet_records, typed


def test_parquet_records_run_on_over_row_groups_and_hold_the_asked_columns(tmp_path):
    file = write_parquet(tmp_path / "t", [{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": 3, "b": "z"}])
    assert list(parquet_records("t.parquet", file, ["a"])) == [
        ("t.parquet, record 0", {"a": 1}), ("t.parquet, record 1", {"a": 2}), ("t.parquet, record 2", {"a": 3}),
    ]


def test_a_file_that_is_not_parquet_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"^t.parquet: .*Parquet"):
        list(parquet_records("t.parquet", write_lines(tmp_path / "t", ["a,b", "1,2"]), ["a"]))


def test_missing_columns_are_named(tmp_path):
    file = write_parquet(tmp_path / "t", [{"a": 1}])
    with pytest.raises(ValueError, match=r"^t.parquet: no column b, c$"):
        list(parquet_records("t.parquet", file, ["c", "a", "b"]))


def test_json_lines_are_counted_from_zero_and_split_at_line_feeds_alone(tmp_path):
    file = write_lines(tmp_path / "t", ['{"a": "\x85\u2028"}', '{"a": 1.50}'])
    assert list(json_lines("t.jsonl", file)) == [
        ("t.jsonl, record 0", {"a": "\x85\u2028"}), ("t.jsonl, record 1", {"a": 1.5}),
    ]


@pytest.mark.parametrize("bad", [b'{"a": 1', b"", b'{"a": "\xff"}'])
def test_a_line_that_is_not_json_is_named(tmp_path, bad):
    file = tmp_path / "t"
    file.write_bytes(b'{"a": 0}\n' + bad + b"\n")
    with pytest.raises(ValueError, match=r"^t.jsonl, record 1: "):
        list(json_lines("t.jsonl", file))


@pytest.mark.parametrize(
    "fault, message",
    [
        (lambda: {}["q"], "here: 'q' is missing"),
        (lambda: [][0], "here: list index out of range"),
        (lambda: len(None), "here: object of type 'NoneType' has no len"),
        (lambda: int("x"), "here: invalid literal for int"),
    ],
)
def test_faults_of_content_become_errors_with_their_place(fault, message):
    with pytest.raises(ValueError, match=f"^{message}"), naming("here"):
        fault()


def test_faults_of_the_system_stay_what_they_are(tmp_path):
    with pytest.raises(FileNotFoundError), naming("here"):
        (tmp_path / "absent").read_bytes()


def test_values_of_another_kind_are_refused():
    assert typed(str, "a", "") == ("a", "")
    with pytest.raises(ValueError, match="^expected str, found None$"):
        typed(str, "a", None)


def test_the_key_of_an_answer_is_the_one_at_its_place():
    assert option_key({"A": "x", "B": "y"}, ("1", "2"), "2") == "B"
    with pytest.raises(ValueError, match=r"^answer -1 is none of \[0, 1\]$"):
        option_key({"A": "x", "B": "y"}, range(2), -1)
    with pytest.raises(ValueError, match="^expected 3 options, found 2$"):
        option_key({"A": "x", "B": "y"}, range(3), 0)
