"""ContractNLI from the real source, and from a hand-made file."""

import pytest
from recipe_sources import write_json

from suite_builder.recipes import contractnli
from suite_builder.recipes.common import PLAIN

FILE = "contract-nli/test.json"
LABELS = {
    "nda-11": {"short_description": "s", "hypothesis": "No {reverse} engineering."},
    "nda-2": {"short_description": "s", "hypothesis": "Only technical."},
}


def document(number, choices, **changes):
    annotations = {key: {"choice": choice, "spans": [0]} for key, choice in choices.items()}
    return {
        "id": number,
        "file_name": "f.pdf",
        "text": " Zoë agrees.\n",
        "spans": [[0, 5]],
        "annotation_sets": [{"annotations": annotations}],
        "document_type": "search-pdf",
        "url": "u",
    } | changes


DOCUMENTS = [
    document(7, {"nda-11": "Entailment", "nda-2": "NotMentioned"}),
    document(1, {"nda-2": "Contradiction", "nda-11": "Entailment"}),
]


def build(folder, data):
    return list(contractnli.rows({FILE: write_json(folder / "test.json", data)}))


def test_a_document_asks_every_hypothesis_and_rows_name_the_archive(tmp_path):
    (track, first), (_, second) = build(tmp_path, {"documents": DOCUMENTS, "labels": LABELS})
    criteria = (
        '"criteria":{"Entailment":"The contract entails the hypothesis.","Contradiction":"The contract contradicts the '
        'hypothesis.","NotMentioned":"The hypothesis is neither entailed nor contradicted by the contract."}'
    )
    lead_in = "Classify the relationship between the contract and this hypothesis:"
    assert track == "ContractNLI"
    assert PLAIN(first) == (
        '{"id":"ContractNLI:test:7","family":"ContractNLI","split":"test","state":" Zo\\u00eb agrees.\\n","questions":{'
        f'"nda-11":{{"type":"choice","instructions":"{lead_in}\\nNo {{reverse}} engineering.",{criteria}}},'
        f'"nda-2":{{"type":"choice","instructions":"{lead_in}\\nOnly technical.",{criteria}}}}},'
        '"expected":{"nda-11":"Entailment","nda-2":"NotMentioned"},"metadata":{"benchmark_number":11,'
        '"source":"https://stanfordnlp.github.io/contract-nli/",'
        '"source_revision":"eced6528dd3c1d14d73f9a87df8f7bdbc03126f9",'
        '"source_file":"artifacts/benchmark-suite/raw/repos/contractnli/resources/contract-nli.zip",'
        '"source_sha256":"e03fc77bbf8b53e2976a250e81d8a294bc3d5e5fb014521e477dee9340d6287b",'
        '"member":"contract-nli/test.json","track":"native NLI classification; evidence extraction not scored",'
        '"primary_metric":"label macro-F1 and hypothesis accuracy; document exact-match separately","source_id":7}}'
    )
    assert second["id"] == "ContractNLI:test:1"
    assert list(second["questions"]) == ["nda-11", "nda-2"]
    assert list(second["expected"].items()) == [("nda-2", "Contradiction"), ("nda-11", "Entailment")]


@pytest.mark.parametrize(
    "bad, message",
    [
        (document(2, {"nda-11": "Entailment"}), r"annotations and hypotheses differ in \['nda-2'\]"),
        (document(2, {"nda-11": "entails", "nda-2": "Entailment"}), r"unknown relations \['entails'\]"),
        (document(2, {}, annotation_sets=[{}, {}]), "expected one annotation set, found 2"),
        (document(2, {}, annotation_sets=[{}]), "'annotations' is missing"),
        (document(2, {}, text=None), "expected str, found None"),
        (document("2", {}), "expected int, found '2'"),
    ],
)
def test_a_malformed_document_is_named(tmp_path, bad, message):
    with pytest.raises(ValueError, match=rf"^{FILE}, record 1: {message}"):
        build(tmp_path, {"documents": [DOCUMENTS[0], bad], "labels": LABELS})


@pytest.mark.parametrize("key", ["documents", "labels"])
def test_a_missing_part_is_named(tmp_path, key):
    data = {"documents": DOCUMENTS, "labels": LABELS}
    del data[key]
    with pytest.raises(ValueError, match=rf"^{FILE}: '{key}' is missing$"):
        build(tmp_path, data)
