"""ARC-Easy and ARC-Challenge from the real sources, and from hand-made Parquet files."""

import pytest
from recipe_sources import write_parquet

from suite_builder.recipes import arc_challenge, arc_easy
from suite_builder.recipes.common import PLAIN

RECIPES = {"ARC-Easy": arc_easy, "ARC-Challenge": arc_challenge}
SHA256 = {
    "ARC-Easy": "4160597d618ae851c7eb04e281574f3f654776216ac6b6641588d64527b47177",
    "ARC-Challenge": "62f03257e737aed263f55c6abf87c7bb0028a44a6bdd2a26eb1279eb42c1d1e9",
}
RECORDS = [
    {
        "id": "MDSA_2007_5_51",
        "question": "At 5°, what ",
        "choices": {"text": ["snow", "rain ", "fog"], "label": ["A", "B", "C"]},
        "answerKey": "C",
    },
    {
        "id": "TIMSS_1",
        "question": "Which?",
        "choices": {"text": ["w", "x", "y", "z"], "label": ["1", "2", "3", "4"]},
        "answerKey": "2",
    },
    {
        "id": "Five",
        "question": "Which?",
        "choices": {"text": ["v", "w", "x", "y", "z"], "label": ["A", "B", "C", "D", "E"]},
        "answerKey": "E",
    },
]

both = pytest.mark.parametrize("name", RECIPES)


def build(folder, name, records):
    file = write_parquet(folder / "test.parquet", records)
    return list(RECIPES[name].rows({f"{name}/test-00000-of-00001.parquet": file}))


@both
def test_options_get_letters_and_the_gold_one_is_looked_up_by_label(tmp_path, name):
    (track, first), (_, second), (_, third) = build(tmp_path, name, RECORDS)
    assert track == name
    assert PLAIN(first) == (
        f'{{"id":"{name}:test:MDSA_2007_5_51","benchmark":"{name}","family":"{name}","split":"test","state":{{}},'
        '"questions":{"q1":{"type":"choice","instructions":"At 5\\u00b0, what ",'
        '"criteria":{"A":"snow","B":"rain ","C":"fog"}}},"gold":{"q1":"C"},"expected":{"q1":"C"},'
        f'"provenance":{{"source_id":"MDSA_2007_5_51","source_file":"data/sources/arc/{name}/'
        f'test-00000-of-00001.parquet","source_sha256":"{SHA256[name]}"}}}}'
    )
    assert second["questions"]["q1"]["criteria"] == {"A": "w", "B": "x", "C": "y", "D": "z"}
    assert (second["gold"], third["gold"]) == ({"q1": "B"}, {"q1": "E"})


@both
@pytest.mark.parametrize(
    "change, message",
    [
        ({"answerKey": "B"}, r"answer 'B' is none of \['1', '2', '3', '4'\]"),
        ({"answerKey": None}, "answer None is none of"),
        ({"choices": {"text": ["x", "y"], "label": ["1", "2", "3"]}}, "expected 3 options, found 2"),
        ({"choices": {"text": ["x", None], "label": ["1", "2"]}}, "expected str, found None"),
        ({"choices": None}, "'NoneType' object"),
        ({"id": None}, "expected str, found None"),
        ({"question": None}, "expected str, found None"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, name, change, message):
    with pytest.raises(ValueError, match=rf"^{name}/test-00000-of-00001.parquet, record 1: {message}"):
        build(tmp_path, name, [RECORDS[0], RECORDS[1] | change])


@both
def test_a_missing_column_is_named(tmp_path, name):
    records = [{"id": "x", "question": "y", "choices": RECORDS[0]["choices"], "answer_key": "A"}]
    with pytest.raises(ValueError, match=rf"^{name}/test-00000-of-00001.parquet: no column answerKey$"):
        build(tmp_path, name, records)
