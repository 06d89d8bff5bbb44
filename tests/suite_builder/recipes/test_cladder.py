"""CLadder from hand-made files; the real archive was not at hand."""

import pytest
from recipe_sources import write_json

from suite_builder.recipes import cladder
from suite_builder.recipes.common import PLAIN

QUESTIONS, MODELS = "cladder-v1-q-balanced.json", "cladder-v1-meta-models.json"
WORLDS = [
    {"model_id": 3, "background": "Rain wets the é street.", "graph_id": "chain"},
    {"model_id": 4, "background": " Another world. "},
]
META = {"model_id": 3, "story_id": "rain", "graph_id": "chain", "query_type": "ate", "rung": 2, "given_info": {}}
RECORDS = [
    {"question_id": 15, "given_info": "It rains on 20% of days.", "question": "Is it?", "answer": "no", "meta": META},
    {"question_id": 2, "given_info": "", "question": "Any?\n", "answer": "yes", "meta": {"model_id": 4, "rung": 1}},
]


def build(folder, records, worlds=WORLDS):
    files = {QUESTIONS: write_json(folder / "q", records), MODELS: write_json(folder / "m", worlds)}
    return list(cladder.rows(files))


def test_row_in_full(tmp_path):
    track, row = build(tmp_path, RECORDS)[0]
    assert track == "CLadder"
    assert PLAIN(row) == (
        '{"id":"CLadder:balanced:15","benchmark":"CLadder","family":"CLadder","split":"balanced","state":{},'
        '"questions":{"q1":{"type":"choice","instructions":"Rain wets the \\u00e9 street.\\n\\nIt rains on 20% of '
        'days.\\n\\nIs it?","criteria":{"A":"yes","B":"no"}}},"gold":{"q1":"B"},"expected":{"q1":"B"},'
        '"provenance":{"source_file":"artifacts/benchmark-suite/raw/cladder/data/cladder-v1.zip",'
        '"source_sha256":"9fdae052b1ebe4ee6a19fdfb3e1eb88a381c7345df394cea524bcce97e2349b3","source_question_id":15,'
        '"story_id":"rain","graph_id":"chain","query_type":"ate","rung":2}}'
    )


def test_texts_stay_as_they_are_and_missing_facts_are_null(tmp_path):
    _track, row = build(tmp_path, RECORDS)[1]
    assert row["questions"]["q1"]["instructions"] == " Another world. \n\n\n\nAny?\n"
    assert row["gold"] == row["expected"] == {"q1": "A"}
    assert list(row["provenance"].items())[2:] == [
        ("source_question_id", 2), ("story_id", None), ("graph_id", None), ("query_type", None), ("rung", 1)
    ]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"answer": "maybe"}, r"answer 'maybe' is none of \['yes', 'no'\]"),
        ({"meta": {"model_id": 5}}, "5 is missing"),
        ({"given_info": None}, "sequence item 1: expected str instance"),
        ({"meta": None}, "'NoneType' object is not subscriptable"),
    ],
)
def test_a_malformed_question_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=rf"^{QUESTIONS}, record 1: {message}"):
        build(tmp_path, [RECORDS[0], RECORDS[1] | change])


def test_a_malformed_file_is_named(tmp_path):
    with pytest.raises(ValueError, match=rf"^{MODELS}, record 0: 'background' is missing"):
        build(tmp_path, RECORDS, [{"model_id": 3}])
    files = {MODELS: write_json(tmp_path / "m", WORLDS), QUESTIONS: tmp_path / "cut"}
    files[QUESTIONS].write_text("[{")
    with pytest.raises(ValueError, match=rf"^{QUESTIONS}: "):
        list(cladder.rows(files))
