"""WinoGrande from the real source, and from a hand-made Parquet file."""

import pytest
from recipe_sources import write_parquet

from suite_builder.recipes import winogrande
from suite_builder.recipes.common import PLAIN

FILE = "winogrande_xl/validation-00000-of-00001.parquet"
SHA256 = "f9d914d1818c0aba98cabdf8af2bc4bd943c462b9c5e7062647e05c2ce3315d1"
RECORDS = [
    {"sentence": "Zoë {fed} Max as _ was hungry. ", "option1": "Zoë", "option2": "Max ", "answer": "2"},
    {"sentence": "The box broke the _ .", "option1": "lid", "option2": "floor", "answer": "1"},
]


def build(folder, records):
    return list(winogrande.rows({FILE: write_parquet(folder / "validation.parquet", records)}))


def test_the_sentence_follows_the_lead_in_and_the_index_is_the_source_id(tmp_path):
    (track, first), (_, second) = build(tmp_path, RECORDS)
    assert track == "WinoGrande"
    assert PLAIN(first) == (
        '{"id":"WinoGrande:validation:0","benchmark":"WinoGrande","family":"WinoGrande","split":"validation",'
        '"state":{},"questions":{"q1":{"type":"choice","instructions":"Which option correctly fills the blank?\\n'
        'Zo\\u00eb {fed} Max as _ was hungry. ","criteria":{"A":"Zo\\u00eb","B":"Max "}}},"gold":{"q1":"B"},'
        '"expected":{"q1":"B"},"provenance":{"source_id":"0",'
        f'"source_file":"data/sources/winogrande/{FILE}","source_sha256":"{SHA256}"}}}}'
    )
    assert (second["id"], second["gold"]) == ("WinoGrande:validation:1", {"q1": "A"})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"answer": ""}, r"answer '' is none of \['1', '2'\]"),
        ({"answer": "A"}, "answer 'A' is none of"),
        ({"option2": None}, "expected str, found None"),
        ({"sentence": None}, "expected str, found None"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=rf"^{FILE}, record 1: {message}"):
        build(tmp_path, [RECORDS[0], RECORDS[1] | change])


def test_a_missing_column_is_named(tmp_path):
    with pytest.raises(ValueError, match=rf"^{FILE}: no column option1, option2$"):
        build(tmp_path, [{"sentence": "A _ .", "options": ["x", "y"], "answer": "1"}])
