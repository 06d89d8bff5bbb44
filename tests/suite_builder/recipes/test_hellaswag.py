"""HellaSwag from the real source, and from a hand-made Parquet file."""

import pytest
from recipe_sources import write_parquet

from suite_builder.recipes import hellaswag
from suite_builder.recipes.common import PLAIN

FILE = "data/validation-00000-of-00001.parquet"
SHA256 = "899813071e1e95efafec90f856e1987d2150fa4d020fc005df6962c259f660cd"
RECORD = {
    "ind": 24,
    "activity_label": "Sawing",
    "ctx_a": "[header] A man  saws.",
    "ctx_b": "he",
    "ctx": " [header] A man  saws. he ",
    "endings": ["stops .", " naps   on é wood", "sings {x}.", "leaves."],
    "source_id": "activitynet~v_1",
    "split": "val",
    "split_type": "indomain",
    "label": "3",
}


def build(folder, *changes):
    file = write_parquet(folder / "validation.parquet", [RECORD | change for change in changes], ind="int32")
    return list(hellaswag.rows({FILE: file}))


def test_white_space_is_cleaned_and_the_id_holds_index_and_ind(tmp_path):
    (track, first), (_, second) = build(tmp_path, {}, {"label": "0"})
    assert track == "HellaSwag"
    assert PLAIN(first) == (
        '{"id":"HellaSwag:validation:0:24","benchmark":"HellaSwag","family":"HellaSwag","split":"validation",'
        '"state":{},"questions":{"q1":{"type":"choice",'
        '"instructions":"Which continuation is most plausible?\\n[header] A man saws. he",'
        '"criteria":{"A":"stops .","B":"naps on \\u00e9 wood","C":"sings {x}.","D":"leaves."}}},'
        '"gold":{"q1":"D"},"expected":{"q1":"D"},"provenance":{"source_id":"0:24",'
        f'"source_file":"data/sources/hellaswag/{FILE}","source_sha256":"{SHA256}"}}}}'
    )
    assert (second["id"], second["gold"]) == ("HellaSwag:validation:1:24", {"q1": "A"})


@pytest.mark.parametrize(
    "change, message",
    [
        ({"label": ""}, r"answer '' is none of \['0', '1', '2', '3'\]"),
        ({"label": "4"}, "answer '4' is none of"),
        ({"endings": ["a", "b", "c"]}, "expected 4 options, found 3"),
        ({"endings": ["a", "b", "c", None]}, "expected str, found None"),
        ({"ctx": None}, "expected str, found None"),
        ({"ind": None}, "expected int, found None"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=rf"^{FILE}, record 1: {message}"):
        build(tmp_path, {}, change)


def test_a_missing_column_is_named(tmp_path):
    file = write_parquet(tmp_path / "v.parquet", [{key: value for key, value in RECORD.items() if key != "label"}])
    with pytest.raises(ValueError, match=rf"^{FILE}: no column label$"):
        list(hellaswag.rows({FILE: file}))
