"""HLE from a hand-made Parquet file. The data set is gated; its texts must not be shown and are nowhere here."""

from string import ascii_uppercase

import pytest
from recipe_sources import write_parquet

from suite_builder.recipes import hle
from suite_builder.recipes.common import PLAIN

FILE = "data/test-00000-of-00001.parquet"
QUESTION = "  Which é? \n\nAnswer Choices:\nA. one\nB. two"
RECORD = {
    "id": "0a1b", "question": QUESTION, "image": "", "image_preview": None, "answer": "B",
    "answer_type": "multipleChoice", "raw_subject": "Poetry", "category": "Humanities", "canary": "c",
}


def build(folder, *changes):
    """Rows of records that differ from the first one."""
    struct = {"bytes": b"png", "path": None}
    records = [RECORD | change for change in changes] + [RECORD | {"id": "last", "image_preview": struct}]
    return [row for _track, row in hle.rows({FILE: write_parquet(folder / "hle.parquet", records)})]


def listed(*lines):
    return hle.read_options("\n".join(("Stem", "Answer Choices:", *lines)))


def test_row_in_full(tmp_path):
    [row] = build(tmp_path, {})
    assert PLAIN(row) == (
        '{"id":"HLE-text-MC:test:0a1b","benchmark":"HLE-text-MC","family":"HLE-text-MC","split":"test","state":{},'
        '"questions":{"q1":{"type":"choice","instructions":"Which \\u00e9?","criteria":{"A":"one","B":"two"}}},'
        '"gold":{"q1":"B"},"expected":{"q1":"B"},"provenance":{"source_id":"0a1b",'
        '"source_file":"artifacts/benchmark-suite/raw/hle/data/test-00000-of-00001.parquet",'
        '"source_sha256":"6d0ee0602e8aea6b159509577e884f48ecac7b8e3f6822a35f51335a446c726a",'
        '"source_cache_signature":"5a81a4c7271a2a2a312b9a690f0c2fde837e4c29",'
        '"source_cache_etag":"6d0ee0602e8aea6b159509577e884f48ecac7b8e3f6822a35f51335a446c726a",'
        '"answer_type":"multipleChoice","raw_subject":"Poetry","category":"Humanities"}}'
    )


def test_rows_with_a_picture_another_type_or_an_answer_that_is_no_option_are_dropped(tmp_path):
    rows = build(
        tmp_path,
        {"image": "data:image/png;base64,x"},
        {"image_preview": {"bytes": b"x", "path": None}},
        {"answer_type": "exactMatch"},
        {"answer_type": "multiplechoice"},
        {"answer": "C"},
        {"answer": "A, B"},
        {"question": "No options here"},
        {"id": "kept", "answer": " b\n", "image": None},
    )
    assert [(row["id"], row["gold"]) for row in rows] == [("HLE-text-MC:test:kept", {"q1": "B"})]


@pytest.mark.parametrize(
    "question, stem",
    [
        (" \u2003Which?\n\nanswer choices: \nA. x\nB. y\n", "Which?\n\nanswer choices: \nA. x\nB. y"),
        ("See Answer Choices: below.\nanswer CHOICES:\nA. x\nB. y", "See"),
    ],
)
def test_the_stem_ends_at_the_exact_text_though_the_marker_may_have_any_case(tmp_path, question, stem):
    [row] = build(tmp_path, {"question": question})
    assert row["questions"]["q1"]["instructions"] == stem
    assert row["questions"]["q1"]["criteria"] == {"A": "x", "B": "y"}


@pytest.mark.parametrize(
    "lines, options",
    [
        (["A. x", "B. y"], {"A": "x", "B": "y"}),
        (["ignored", "", "\u00a0 A.x \t", "", " B.\u2003y"], {"A": "x", "B": "y"}),
        (["A. x", "  more  ", "", " end ", "B. y", "tail", ""], {"A": "x\nmore  \n\n end", "B": "y\ntail"}),
        (["A.", "", "B. head of A", "B. y"], {"A": "B. head of A", "B": "y"}),
        (["A.", "x", "more", "B. y"], {"A": "x\nmore", "B": "y"}),
        (["A. x\x85B. z\u2028C. z", "B. y"], {"A": "x\x85B. z\u2028C. z", "B": "y"}),
        (["A. Answer Choices:", "B. y"], {"A": "Answer Choices:", "B": "y"}),
        ([f"{letter}. {letter}" for letter in ascii_uppercase], {letter: letter for letter in ascii_uppercase}),
    ],
)
def test_options_are_read_with_their_further_lines(lines, options):
    assert listed(*lines) == options


@pytest.mark.parametrize(
    "lines",
    [
        [], ["x", "y"], ["A. x"], ["A. x", "C. y"], ["B. x", "C. y"], ["A. x", "B. y", "B. z"], ["B. x", "A. y"],
        ["A. x", "B. y", "Q. stray"], ["A. x", "B."], ["A. x", "B. ", " \t"], ["a. x", "b. y"], ["A) x", "B) y"],
        ["Á. x", "B. y"],
    ],
)
def test_without_two_or_more_options_in_order_there_are_none(lines):
    assert listed(*lines) == {}


@pytest.mark.parametrize("marker", ["Answer Choices: A. x", "The Answer Choices:", "Answer Choices", "Answers:"])
def test_the_marker_stands_alone_on_its_line(marker):
    assert hle.read_options(f"Stem\n{marker}\nA. x\nB. y") == {}


def test_the_first_marker_counts():
    assert hle.read_options("A. no\nAnswer Choices:\nA. x\n\tanswer choices:\t\nB. y") == {
        "A": "x\nanswer choices:", "B": "y"
    }


def test_a_missing_column_or_a_value_of_another_type_is_named(tmp_path):
    records = [{key: value for key, value in RECORD.items() if key != "image"}]
    with pytest.raises(ValueError, match=rf"^{FILE}: .*image"):
        list(hle.rows({FILE: write_parquet(tmp_path / "a.parquet", records)}))
    with pytest.raises(ValueError, match=rf"^{FILE}, record 0: expected string"):
        list(hle.rows({FILE: write_parquet(tmp_path / "b.parquet", [RECORD | {"question": None}])}))
    path = tmp_path / "c.parquet"
    path.write_bytes(b"no parquet")
    with pytest.raises(ValueError, match=rf"^{FILE}: "):
        list(hle.rows({FILE: path}))
