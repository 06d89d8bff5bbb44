"""CRUXEval from the real source, and from hand-made files."""

import pytest
from recipe_sources import write_json, write_json_lines

from suite_builder.recipes import cruxeval
from suite_builder.recipes.common import PLAIN

PROBLEMS = "data/cruxeval.jsonl"
GENERATIONS = "samples/model_generations/sample_codellama-7b_temp0.2_output/generations.json"
EVALUATION = "samples/evaluation_results/sample_scored_codellama-7b_temp0.2_output.json"


def problem(name, output, **more):
    return {"code": "def f(s):\n    return s", "input": "'é'", "output": output, "id": name, **more}


ANSWERS = {
    # name: (output, [(generation, right?)])
    "sample_2": ("'a b'", [("'a b'", True), ('"c"', False), ("'c'", False), ("f('x')", False), ("{}", False)]),
    "sample_10": (
        "1", [("True", False), ("1.0", False), ("[1", False), ("-0x10", False), ("{[]: 1}", False), ("2", True)],
    ),
    "sample_1": ("None", [("None", True), ("'\\d'", True), ("x", False), ("None", False)]),
    "sample_3": ("0", [(str(number), False) for number in range(12)]),
}


def build(folder, answers=ANSWERS, problems=None, drop=None):
    problems = problems or [problem(name, output) for name, (output, _) in answers.items()]
    generations = {name: [text for text, _ in given] for name, (_, given) in answers.items()}
    verdicts = {name: [right for _, right in given] for name, (_, given) in answers.items() if name != drop}
    files = {
        PROBLEMS: write_json_lines(folder / "p.jsonl", problems),
        GENERATIONS: write_json(folder / "g.json", generations),
        EVALUATION: write_json(folder / "e.json", {"raw_generations": {}, "raw_scored_generations": verdicts}),
    }
    return [row for _track, row in cruxeval.rows(files)]


def test_row_in_full(tmp_path):
    [row] = [row for row in build(tmp_path) if row["metadata"]["group_id"] == "sample_2"]
    folder = "artifacts/benchmark-suite/raw/repos/cruxeval"
    assert PLAIN(row) == (
        '{"id":"CRUXEval-output-choice:test:sample_2","family":"CRUXEval-output-choice","split":"test",'
        '"state":{"code":"def f(s):\\n    return s","input":"\'\\u00e9\'","task":"CRUXEval output selection"},'
        '"questions":{"answer":{"type":"choice","instructions":"Choose the correct output of f called with the '
        'supplied input arguments. Candidates are Python literal values.",'
        '"criteria":{"option_0":"{}","option_1":"\'c\'","option_2":"\'a b\'"}}},"expected":{"answer":"option_2"},'
        f'"metadata":{{"group_id":"sample_2","provenance":{{"source":"{folder}/{PROBLEMS}",'
        '"source_sha256":"8368b81047dc5014e4caf5a2f97604eff7644e0ecd7415e3ceeb184bbc2e0c96",'
        f'"generations_source":"{folder}/{GENERATIONS}",'
        '"generations_sha256":"e0a70dc1b041212d17b41e28e3184c23662401fead1212b0b6748677f74ee412",'
        f'"evaluation_source":"{folder}/{EVALUATION}",'
        '"evaluation_sha256":"2b3095f6e8642c32e8a074abb626c13374a64a4dce4e2b4ab6a9ec72c46d6ae2","seed":20260917},'
        '"adaptation_scope":"Frozen output selection; not pass@1 or code execution.","candidate_count":3}}'
    )


def test_problems_come_in_string_order_and_those_without_a_wrong_option_are_left_out(tmp_path):
    assert [row["metadata"]["group_id"] for row in build(tmp_path)] == ["sample_10", "sample_2", "sample_3"]


def test_values_that_are_equal_in_python_and_unreadable_ones_are_no_options(tmp_path):
    row = build(tmp_path)[0]
    options = row["questions"]["answer"]["criteria"]
    assert sorted(options.values()) == ["-16", "1"]
    assert options[row["expected"]["answer"]] == "1"


def test_ten_options_are_kept_at_most(tmp_path):
    row = build(tmp_path)[-1]
    options = row["questions"]["answer"]["criteria"]
    assert list(options) == [f"option_{place}" for place in range(10)]
    assert sorted(options.values()) == [str(number) for number in range(10)]
    assert options[row["expected"]["answer"]] == "0"
    assert row["metadata"]["candidate_count"] == 10


@pytest.mark.parametrize(
    "second, message",
    [
        (problem("sample_2", "f(1)"), "sample_2: 'f\\(1\\)' is no Python literal"),
        (problem("sample_2", "[1"), "sample_2: '\\[1' is no Python literal"),
        (problem("sample_2", 5), "record 1: expected str, found 5"),
        ({"code": "", "input": "", "id": "sample_2"}, "record 1: 'output' is missing"),
    ],
)
def test_a_malformed_problem_is_named(tmp_path, second, message):
    with pytest.raises(ValueError, match=rf"^{PROBLEMS}, {message}"):
        build(tmp_path, problems=[problem("sample_1", "None"), second])


def test_a_problem_without_generations_is_named(tmp_path):
    with pytest.raises(ValueError, match=rf"^{GENERATIONS} and .*, sample_9: 'sample_9' is missing"):
        build(tmp_path, problems=[problem("sample_9", "None")])


def test_a_problem_without_verdicts_is_named(tmp_path):
    with pytest.raises(ValueError, match=rf"^{GENERATIONS} and {EVALUATION}, sample_3: 'sample_3' is missing"):
        build(tmp_path, drop="sample_3")


def test_generations_and_verdicts_of_different_number_are_refused(tmp_path):
    files = {
        PROBLEMS: write_json_lines(tmp_path / "p.jsonl", [problem("sample_1", "1")]),
        GENERATIONS: write_json(tmp_path / "g.json", {"sample_1": ["1", "2"]}),
        EVALUATION: write_json(tmp_path / "e.json", {"raw_scored_generations": {"sample_1": [True]}}),
    }
    with pytest.raises(ValueError, match="sample_1: zip"):
        list(cruxeval.rows(files))
