"""SATA-Bench from hand-made lines; the real file was not at hand."""

import hashlib
import json
import random

import pytest
from recipe_sources import write_lines

from suite_builder.recipes import sata_bench
from suite_builder.recipes.common import PLAIN

FILE = "src/satabench/methods/data/sata_bench_final_2025.json"
RECORDS = [
    {
        "question": "Which {are}\u2028even?\x85", "paragraph": "é", "dataset": "numbers", "answer": "AC",
        "choices": [["2", True], ["{3}", False], ["4 ", True]],
    },
    {
        "question": "Which?", "paragraph": "",
        "choices": [["same", True], ["same", False], *([f"c{n}", False] for n in range(10))],
    },
]


def build(folder, records):
    path = write_lines(folder / "sata.json", (json.dumps(record, ensure_ascii=False) for record in records))
    return path, list(sata_bench.rows({FILE: path}))


def test_row_in_full(tmp_path):
    path, [(track, row), _second] = build(tmp_path, RECORDS)
    assert track == "SATA-Bench"
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    assert PLAIN(row).replace(sha256, "SHA256") == (
        '{"id":"SATA-Bench:test:0","family":"SATA-Bench","split":"test","state":{"paragraph":"\\u00e9",'
        '"question":"Which {are}\\u2028even?\\u0085","options":["{3}","2","4 "]},'
        '"questions":{"option_0":{"type":"choice","instructions":"Question: Which {are}\\u2028even?\\u0085\\nDoes this '
        'candidate correctly answer the question?\\nCandidate: {3}","criteria":{"no":"No","yes":"Yes"}},'
        '"option_1":{"type":"choice","instructions":"Question: Which {are}\\u2028even?\\u0085\\nDoes this candidate '
        'correctly answer the question?\\nCandidate: 2","criteria":{"no":"No","yes":"Yes"}},'
        '"option_2":{"type":"choice","instructions":"Question: Which {are}\\u2028even?\\u0085\\nDoes this candidate '
        'correctly answer the question?\\nCandidate: 4 ","criteria":{"no":"No","yes":"Yes"}}},'
        '"expected":{"option_0":"no","option_1":"yes","option_2":"yes"},"metadata":{"benchmark_number":33,'
        '"source_file":"artifacts/benchmark-suite/raw/repos/sata/src/satabench/methods/data/sata_bench_final_2025.json"'
        ',"source_sha256":"SHA256","source_revision":"371dd0c18fe75a96fbbcf2d1507ceeaf0d5263c5","source_id":0,'
        '"source_subset":"numbers","source_option_indices":{"option_0":1,"option_1":0,"option_2":2},'
        '"source":"https://github.com/sata-bench/sata-bench","mapping":"select-all to independent binary choices; '
        'exact set is scoring unit","primary_metric":"request exact-set accuracy",'
        '"shuffle_seed":"20260918:SATA:<source-index>","gold_rule":"choices[i][1], matching upstream '
        'sata_prompt_provider.py; legacy answer letters refer to a different permutation"}}'
    )


def test_options_are_shuffled_by_line_number_and_told_apart_by_place(tmp_path):
    _path, [_first, (_track, row)] = build(tmp_path, RECORDS)
    choices = RECORDS[1]["choices"]
    order = list(range(len(choices)))
    random.Random("20260918:SATA:1").shuffle(order)
    keys = [f"option_{place}" for place in range(12)]
    assert row["metadata"]["source_option_indices"] == dict(zip(keys, order))
    assert row["state"]["options"] == [choices[origin][0] for origin in order]
    assert row["expected"] == {key: "yes" if origin == 0 else "no" for key, origin in zip(keys, order)}
    assert list(row["questions"]) == keys
    assert row["metadata"]["source_subset"] is None


@pytest.mark.parametrize(
    "change, message",
    [
        ({"choices": [["2", "yes"]]}, "expected every choice to be a text and true or false"),
        ({"choices": [["2"]]}, "not enough values to unpack"),
        ({"choices": None}, "'NoneType' object is not iterable"),
    ],
)
def test_a_malformed_record_is_named(tmp_path, change, message):
    with pytest.raises(ValueError, match=rf"^{FILE}, record 1: {message}"):
        build(tmp_path, [RECORDS[0], RECORDS[1] | change])


@pytest.mark.parametrize("key", ["question", "paragraph", "choices"])
def test_a_missing_field_is_named(tmp_path, key):
    with pytest.raises(ValueError, match=rf"^{FILE}, record 0: '{key}' is missing"):
        build(tmp_path, [{name: value for name, value in RECORDS[0].items() if name != key}])


def test_a_line_that_is_not_json_is_named(tmp_path):
    path = write_lines(tmp_path / "bad", [json.dumps(RECORDS[0]), "[not json"])
    with pytest.raises(ValueError, match=rf"^{FILE}, record 1: "):
        list(sata_bench.rows({FILE: path}))
