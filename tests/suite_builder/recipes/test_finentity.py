"""FinEntity from the real source, and from a hand-made file."""

import pytest
from recipe_sources import write_json

from suite_builder.recipes import finentity
from suite_builder.recipes.common import PLAIN

FILE = "data/FinEntity.json"


def note(start, end, value, tag):
    return {"end": end, "tag": tag, "value": value, "start": start, "label": "unused"}


def annotated(annotation):
    return {"content": "x", "annotations": [annotation]}


DOCUMENTS = [
    {
        "content": " É {rose}, B fell. ",
        "annotations": [note(11, 12, "B", "Negative"), note(1, 9, "É {rose}", "Positive")],
    },
    {
        "content": "S&P 500, Dow, Dow",
        "annotations": [
            note(0, 7, "S&P 500", "Positive"),
            note(9, 12, "Dow", "Neutral"),
            note(0, 7, "S&P 500", "Neutral"),
            note(14, 17, "Dow", "Negative"),
            note(9, 12, "Dow", "Neutral"),
        ],
    },
]


def build(folder, documents=DOCUMENTS):
    return list(finentity.rows({FILE: write_json(folder / "f.json", documents)}))


def test_row_in_full_with_annotations_in_list_order(tmp_path):
    (track, row), _ = build(tmp_path)
    criteria = '"criteria":{"Negative":"Negative","Neutral":"Neutral","Positive":"Positive"}'
    given = "Classify the sentiment toward the supplied financial entity span. The entity span is given explicitly as"
    then = "do not extract or alter it. Choose exactly one of Negative, Neutral, or Positive."
    assert track == "FinEntity-entity-given"
    assert PLAIN(row) == (
        '{"id":"FinEntity:entity-given:0000","family":"FinEntity-entity-given","split":"evaluation-only",'
        '"state":{"document":" \\u00c9 {rose}, B fell. ","task":"FinEntity entity-given sentiment"},'
        f'"questions":{{"entity_0000_11_12":{{"type":"choice","instructions":"{given} 11:12 (B); {then}",{criteria}}},'
        f'"entity_0001_1_9":{{"type":"choice","instructions":"{given} 1:9 (\\u00c9 {{rose}}); {then}",{criteria}}}}},'
        '"expected":{"entity_0000_11_12":"Negative","entity_0001_1_9":"Positive"},'
        '"metadata":{"provenance":{"source":"artifacts/benchmark-suite/raw/repos/finentity/data/FinEntity.json",'
        '"sha256":"3208667de69383120b0380aebeaabe360669eda72269c33e1c8b09d63df55463",'
        '"revision":"3b6cedc5485b669c2ed168f1d949f517636eb7b8","document_index":0},'
        '"adaptation_scope":"Entity-given sentiment classification; entity extraction is not claimed.",'
        '"asserted_label_mapping":{"Negative":"negative","Neutral":"neutral","Positive":"positive"},'
        '"counts":{"source_documents":2,"entities_in_document":2,"entities_emitted":2},"exclusions":[]}}'
    )


def test_a_span_with_two_tags_is_left_out_and_reported_but_still_counted(tmp_path):
    _, (_track, row) = build(tmp_path)
    assert row["expected"] == {
        "entity_0001_9_12": "Neutral", "entity_0003_14_17": "Negative", "entity_0004_9_12": "Neutral",
    }
    assert row["questions"].keys() == row["expected"].keys()
    assert row["metadata"]["counts"] == {"source_documents": 2, "entities_in_document": 5, "entities_emitted": 3}
    assert PLAIN(row["metadata"]["exclusions"]) == (
        '[{"document_index":1,"span":[0,7,"S&P 500"],"labels":["Neutral","Positive"]}]'
    )


@pytest.mark.parametrize(
    "document, message",
    [
        ({"content": "x"}, "'annotations' is missing"),
        ({"content": None, "annotations": []}, "expected str, found None"),
        (annotated(note(0, 1, "x", "Mixed")), "tag 'Mixed' is none of Negative, Neutral, Positive"),
        (annotated(note("0", 1, "x", "Neutral")), "expected int, found '0'"),
        (annotated({"start": 0, "end": 1, "value": "x", "label": "Neutral"}), "'tag' is missing"),
    ],
)
def test_a_malformed_document_is_named(tmp_path, document, message):
    with pytest.raises(ValueError, match=rf"^{FILE}, record 1: {message}"):
        build(tmp_path, [DOCUMENTS[0], document])


def test_a_file_that_is_not_json_is_named(tmp_path):
    file = tmp_path / "f.json"
    file.write_text("[{", "utf-8")
    with pytest.raises(ValueError, match=rf"^{FILE}: "):
        list(finentity.rows({FILE: file}))
