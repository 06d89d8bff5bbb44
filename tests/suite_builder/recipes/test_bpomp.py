"""BPoMP from hand-made sources; the real files were not at hand."""

import hashlib
import json
import random

import pytest
from recipe_sources import write_json

from suite_builder.recipes import bpomp
from suite_builder.recipes.common import PLAIN
from suite_builder.rows import sha256_text
from suite_builder.sources import pinned

# The worked example of the recipe text, whose rows name the sha256 of its own source file.
EXAMPLE = (
    '{"swap": [["line a\\nline b", "line b\\nline a"], ["same", "same"], ["café one", "café two"]], '
    '"del": [["line a\\nline b", "line a"]]}'
)
EXAMPLE_SOURCE_SHA256 = "70bf1acbda9e94076feb20b834f150c360afee42e62aa88cf536c1808ef29e1d"
EXAMPLE_ROWS_SHA256 = "99ad0139cc10f0480f33105d3b30915918516d2295516a9eb912dcb8402d520f"


def build(folder, **variants):
    return [row for _track, row in bpomp.rows({"BPoMP_p2.json": write_json(folder / "p2", variants)})]


def test_rows_of_the_worked_example_are_the_known_ones(tmp_path):
    path = tmp_path / "example"
    path.write_text(EXAMPLE, "utf-8")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == EXAMPLE_SOURCE_SHA256
    text = "".join(f"{bpomp.STYLE(row)}\n" for _track, row in bpomp.rows({"BPoMP_p1.json": path}))
    text = text.replace(pinned(20, "BPoMP_p1.json").sha256, EXAMPLE_SOURCE_SHA256)
    assert (len(text), sha256_text(text)) == (2616, EXAMPLE_ROWS_SHA256)


def test_row_in_full(tmp_path):
    [row] = build(tmp_path, **{"corrupted rhyme": [[" A cat é\nsat. ", "A cat\nsang.", "ignored", 3]]})
    assert PLAIN(row) == (
        '{"id":"BPoMP:original-limerick:BPoMP_p2:corrupted rhyme:0","family":"BPoMP-original-limerick",'
        '"split":"evaluation-only","state":{"task":"BPoMP original-versus-perturbed discrimination"},'
        '"questions":{"answer":{"type":"choice","instructions":"Which candidate is the original released limerick? '
        'Judge rhyme, meter, and linguistic coherence. The original is not defined by subjective human preference.",'
        '"criteria":{"option_0":"A cat\\nsang.","option_1":" A cat \\u00e9\\nsat. "}}},'
        '"expected":{"answer":"option_1"},"metadata":{"group_id":"e41a1ac7bb9b710396b752c691169001969422fae7a731f561cc9'
        '91cc09b7abc","variant":"corrupted rhyme","provenance":{"source":"artifacts/benchmark-suite/raw/downloads/BPoMP'
        '_p2.json","source_sha256":"ee17bc0fad97f58da19186d21773bb6b85472aacedf1400865358251140270b5",'
        '"source_index":0},"adaptation_scope":"Original-limerick discrimination; does not claim human preference '
        'labels."}}'
    )


def test_files_and_variants_keep_their_order_and_skipped_pairs_their_place(tmp_path):
    pairs = [["one"], "two texts", {"a": 1, "b": 2}, ["same", "same"], None, ["x", "y"]]
    files = {
        f"BPoMP_p{n}.json": write_json(tmp_path / f"p{n}", {f"z{n}": pairs, f"a{n}": [["u", "v"]]}) for n in (3, 1, 2)
    }
    ids = [row["id"] for _track, row in bpomp.rows(files)]
    assert ids == [
        f"BPoMP:original-limerick:BPoMP_p{n}:{name}" for n in (1, 2, 3) for name in (f"z{n}:5", f"a{n}:0")
    ]


def test_pairs_of_one_poem_are_one_case_and_gold_is_the_original_wherever_it_stands(tmp_path):
    rows = build(tmp_path, v=[["poem", f"copy {n}"] for n in range(20)])
    assert {row["metadata"]["group_id"] for row in rows} == {sha256_text("poem")}
    golds = [row["expected"]["answer"] for row in rows]
    assert set(golds) == {"option_0", "option_1"}
    for index, row in enumerate(rows):
        order = [0, 1]
        random.Random(f"20260918:{sha256_text('poem')}:v:{index}").shuffle(order)
        options = row["questions"]["answer"]["criteria"]
        assert list(options.values()) == [["poem", f"copy {index}"][place] for place in order]
        assert options[row["expected"]["answer"]] == "poem"


@pytest.mark.parametrize(
    "content, message",
    [
        ('{"v": [["a", "b"], ["a", 3]]}', "BPoMP_p1.json, v, record 1: expected str, found 3"),
        ('{"v": {"a": "b"}}', "BPoMP_p1.json: expected a list of pairs"),
        ("[]", "BPoMP_p1.json: "),
        ('{"v": [', "BPoMP_p1.json: "),
        (json.dumps({"v": [["\ud800", "b"]]}), "BPoMP_p1.json, v, record 0: "),
    ],
)
def test_a_malformed_file_or_pair_is_named(tmp_path, content, message):
    path = tmp_path / "bad"
    path.write_text(content)
    with pytest.raises(ValueError, match=f"^{message}"):
        list(bpomp.rows({"BPoMP_p1.json": path}))
