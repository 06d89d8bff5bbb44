"""Answers as columns: by batches and one by one, whole and in parts, well-formed and odd."""

import math
import random

import numpy as np
import pytest
from golden import SUITE_0_2, golden_lines, results_of, write_lines
from hypothesis import given
from hypothesis import strategies as st

from engines import wire
from engines.results import result_parts
from scoring import processes, reading
from scoring.answers import OK, PROBABILITIES, STRANGE, UNREADABLE, Answers
from scoring.benchmarks import DEFAULT
from scoring.editions import edition
from scoring.gold import Gold
from scoring.matching import match
from scoring.parts import NO_SHAPE, read_part
from scoring.processes import helpers
from scoring.reading import begin
from suite_builder.rows import payload_text, sha256_text
from suite_builder.suite import Suite

QUESTIONS = {
    "best": {"type": "choice", "criteria": {"a": "first", "b": None, "yes": "third"}},
    "sure": {"type": "noul"},
    "level": {"type": "score", "criteria": ["low", "middle", "high"]},
    "only": {"type": "choice", "criteria": {"one": None}},
}
EXPECTED = {"best": "b", "sure": True, "level": 2, "only": "one"}


@pytest.fixture(scope="module")
def gold():
    rules = edition("0.2.1")
    return Gold.read(Suite.open(SUITE_0_2, "0.2.1"), rules.benchmark)


def gold_of(folder, questions, expected, number=1):
    """Rows with these questions, of a benchmark that is scored by accuracy."""
    state = "amber basil"
    rows = [
        {
            "state": state,
            "questions": questions,
            "expected": expected,
            "_evaluation": {
                "run_id": f"r{place}",
                "catalog_id": 25,
                "dataset": "GPQA Diamond",
                "group_id": f"g{place}",
                "track": "t",
                "payload_sha256": sha256_text(payload_text(state, questions)),
                "proxy_tokens": 1,
            },
        }
        for place in range(number)
    ]
    suite = Suite.from_rows_file(write_lines(folder / "rows.jsonl", rows), "0.2.1")
    return Gold.read(suite, lambda _catalog_id: DEFAULT)


def answer(questions, probabilities):
    """A response with these probabilities by question."""
    return {"answers": {name: wire.answer(questions[name], probabilities[name]) for name in questions}}


def read(folder, gold, *rows):
    lines = [{"run_id": "r0", "status": "ok", **row} for row in rows]
    return match(gold, begin(write_lines(folder / "results.jsonl", lines)).batches(1))


def same(one: Answers, other: Answers) -> bool:
    names = ("status", "wall_ms", "predicted", *PROBABILITIES)
    return all(np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True) for name in names) and (
        (one.strange, one.problems, one.others, one.repeated) == (other.strange, other.problems, other.others, other.repeated)
    )


def test_every_type_of_question_is_read(tmp_path):
    gold = gold_of(tmp_path, QUESTIONS, EXPECTED)
    probabilities = {"best": [0.2, 0.5, 0.3], "sure": [0.4, 0.6], "level": [0.1, 0.6, 0.3], "only": [1.0]}
    answers = read(tmp_path, gold, {"response": answer(QUESTIONS, probabilities), "total_wall_ms": 5})
    assert answers.status.tolist() == [OK] and answers.wall_ms.tolist() == [5.0]
    assert answers.problems == {}
    assert answers.predicted.tolist() == [1, 1, 1, 0]
    assert answers.p_gold.tolist() == [0.5, 0.6, 0.3, 1.0]
    assert answers.p_prediction.tolist() == [0.5, 0.6, 0.6, 1.0]
    assert answers.p_yes[0] == 0.3 and np.isnan(answers.p_yes[1:]).all()
    assert answers.p_squares == pytest.approx([0.38, 0.52, 0.46, 1.0])


def test_a_score_predicts_its_most_probable_level_the_lowest_on_ties(tmp_path):
    questions = {"level": QUESTIONS["level"]}
    gold = gold_of(tmp_path, questions, {"level": 0})
    assert gold.gold.tolist() == [0]
    tied = answer(questions, {"level": [0.4, 0.2, 0.4]})
    assert read(tmp_path, gold, {"response": tied}).predicted.tolist() == [0]
    assert read(tmp_path, gold, {"response": answer(questions, {"level": [0.0, 0.3, 0.7]})}).predicted.tolist() == [2]
    invalid = {"answers": {"level": {"type": "score", "score": 9, "probabilities": {"0": 1}}}}
    broken = read(tmp_path, gold, {"response": invalid})
    assert broken.predicted.tolist() == [UNREADABLE] and 0 in broken.problems


def test_the_returned_choice_counts_and_not_the_most_probable_option(tmp_path):
    questions = {"best": QUESTIONS["best"]}
    gold = gold_of(tmp_path, questions, EXPECTED)
    response = answer(questions, {"best": [0.2, 0.5, 0.3]})
    response["answers"]["best"]["choice"] = "a"
    answers = read(tmp_path, gold, {"response": response})
    assert (answers.predicted.tolist(), answers.p_prediction.tolist()) == ([0], [0.2])


@pytest.mark.parametrize(
    ("given", "predicted", "problem"),
    [
        ({"choice": "z", "probabilities": {"a": 0.2, "b": 0.5, "yes": 0.3}}, STRANGE, "choice 'z' is not an option"),
        ({"choice": "a", "probabilities": {"a": 0.2, "b": 0.5}}, 0, "option 'yes' has no probability"),
        ({"choice": "a", "probabilities": {"a": 0.2, "b": 0.5, "yes": 0.5}}, 0, "probabilities sum to 1.2"),
        ({"choice": "a", "probabilities": {"a": 1.2, "b": -0.5, "yes": 0.3}}, 0, "option 'a' is 1.2, outside 0 to 1"),
        ({"choice": "a", "probabilities": {"a": "1", "b": 0, "yes": 0}}, 0, "option 'a' is '1', not a number"),
        ({"choice": "a", "probabilities": {"a": True, "b": 0, "yes": 0}}, 0, "option 'a' is True, not a number"),
        ({"choice": "a"}, 0, "no object `probabilities`"),
        ({"choice": 3, "probabilities": {"a": 0.2, "b": 0.5, "yes": 0.3}}, UNREADABLE, "choice 3 is not an option"),
        ({"type": "noul", "noul": 0.5}, UNREADABLE, "asked as choice, answered as 'noul'"),
    ],
)
def test_what_is_wrong_with_an_answer_is_said_and_what_can_be_read_is_read(tmp_path, given, predicted, problem):
    questions = {"best": QUESTIONS["best"]}
    gold = gold_of(tmp_path, questions, EXPECTED)
    answers = read(tmp_path, gold, {"response": {"answers": {"best": {"type": "choice", **given}}}})
    assert answers.predicted.tolist() == [predicted]
    assert answers.problems == {0: f"question 'best': {problem}"} or problem in answers.problems[0]
    assert answers.strange == ({0: "z"} if predicted == STRANGE else {})


@pytest.mark.parametrize("response", [None, 3, [], {}, {"answers": []}, {"answers": {}}, {"answers": {"other": {}}}])
def test_responses_without_answers_are_invalid_and_not_readable(tmp_path, response):
    gold = gold_of(tmp_path, QUESTIONS, EXPECTED)
    answers = read(tmp_path, gold, {"response": response})
    assert set(answers.predicted.tolist()) == {UNREADABLE}
    assert answers.problems.keys() == {0}


def test_order_of_questions_and_options_extra_keys_and_whole_numbers_do_not_matter(tmp_path):
    questions = {name: question for name, question in QUESTIONS.items() if name != "level"}
    gold = gold_of(tmp_path, questions, EXPECTED)
    usual = answer(questions, {"best": [0.0, 1.0, 0.0], "sure": [1.0, 0.0], "only": [1.0]})
    turned = {
        "x_more": 1,
        "answers": {
            "only": {"type": "choice", "choice": "one", "probabilities": {"one": 1}, "confidence": 1},
            "sure": {"type": "noul", "noul": 0},
            "best": {"probabilities": {"yes": 0, "b": 1, "a": 0}, "choice": "b", "type": "choice"},
        },
    }
    assert same(read(tmp_path, gold, {"response": usual}), read(tmp_path, gold, {"response": turned}))


def test_neighbouring_questions_do_not_lend_each_other_options(tmp_path):
    questions = {"p": {"type": "choice", "criteria": {"a": None}}, "q": {"type": "choice", "criteria": {"b": None, "c": None}}}
    gold = gold_of(tmp_path, questions, {"p": "a", "q": "b"})
    response = {
        "answers": {
            "p": {"type": "choice", "choice": "a", "probabilities": {"a": 0.5, "b": 0.5}},
            "q": {"type": "choice", "choice": "c", "probabilities": {"c": 1.0}},
        }
    }
    assert read(tmp_path, gold, {"response": response}).problems.keys() == {0}


@given(st.data())
def test_answers_are_read_the_same_by_column_and_one_by_one(tmp_path_factory, data):
    questions = {name: question for name, question in QUESTIONS.items() if name != "level"}
    folder = tmp_path_factory.getbasetemp()
    gold = gold_of(folder, questions, EXPECTED, number=4)
    shares = st.lists(st.floats(0, 1), min_size=3, max_size=3).filter(sum)
    results = []
    for number in range(4):
        drawn = data.draw(shares)
        p = data.draw(st.floats(0, 1))
        probabilities = {"best": [share / sum(drawn) for share in drawn], "sure": [1 - p, p], "only": [1.0]}
        results.append({"run_id": f"r{number}", "response": answer(questions, probabilities), "total_wall_ms": 1.0})
    path = write_lines(folder / "results.jsonl", [{"status": "ok", **one} for one in results])
    ((_first, columns),) = begin(path).batches(1)
    odd = {number: one["response"] for number, one in enumerate(results)}
    nothing = {"shape": np.full(4, NO_SHAPE), "shapes": [], "chosen": np.zeros(0, int), "values": np.zeros(0)}
    by_column, one_by_one = (match(gold, [(0, parts)]) for parts in (columns, [columns[0]._replace(odd=odd, **nothing)]))
    assert columns[0].odd == {}
    assert by_column.predicted.tolist() == one_by_one.predicted.tolist()
    for name in PROBABILITIES:
        assert getattr(by_column, name) == pytest.approx(getattr(one_by_one, name), abs=1e-15, nan_ok=True)
    assert not by_column.problems and not one_by_one.problems


def test_sums_at_the_bound_of_the_tolerance_are_judged_exactly(tmp_path):
    questions = {"best": QUESTIONS["best"]}
    gold = gold_of(tmp_path, questions, EXPECTED)
    for third in (0.31, 0.3100001, 0.3099999, 0.29, 0.2899999, 0.2900001):
        response = {"answers": {"best": {"type": "choice", "choice": "b", "probabilities": {"a": 0.2, "b": 0.5, "yes": third}}}}
        invalid = abs(math.fsum((0.2, 0.5, third)) - 1) > wire.SUM_TOLERANCE
        assert (0 in read(tmp_path, gold, {"response": response}).problems) == invalid


def test_the_last_result_counts_also_when_it_has_no_answer(tmp_path):
    questions = {"best": QUESTIONS["best"]}
    gold = gold_of(tmp_path, questions, EXPECTED)
    good = {"response": answer(questions, {"best": [0.2, 0.5, 0.3]})}
    strange = {"response": {"answers": {"best": {"type": "choice", "choice": "z", "probabilities": {}}}}}
    answers = read(tmp_path, gold, good, strange, {"status": "unsupported"})
    assert answers.predicted.tolist() == [UNREADABLE] and np.isnan(answers.p_gold).all()
    assert (answers.strange, answers.problems) == ({}, {})
    assert answers.repeated == ["r0"]
    answers = read(tmp_path, gold, strange, good)
    assert (answers.predicted.tolist(), answers.strange, answers.problems) == ([1], {}, {})
    assert read(tmp_path, gold, good, good).repeated == []
    assert read(tmp_path, gold, {"status": "error"}, good).repeated == []


def test_parts_read_by_several_processes_give_the_same_answers(gold, tmp_path, monkeypatch):
    rows = golden_lines(results_of("gappy")) + golden_lines(results_of("extremes"))
    random.Random(1).shuffle(rows)
    path = write_lines(tmp_path / "results.jsonl", rows)
    whole = match(gold, begin(path).batches(1))
    monkeypatch.setattr(processes, "BYTES_A_PROCESS", path.stat().st_size // 3)
    monkeypatch.setattr(reading, "BYTES_A_PART", path.stat().st_size // 7)
    monkeypatch.setattr(processes, "cores", lambda: 3)
    for size in (1, 3, 100):
        with helpers(path) as found:
            assert found.count == 2
            batches = dict(begin(path, found).batches(size))
        assert same(match(gold, batches.items()), whole)
        places = [place + number for place, parts in batches.items() for number in range(len(parts))]
        assert sorted(places) == list(range(len(places))) and len(places) > 5
        parts = [part for _first, parts in sorted(batches.items()) for part in parts]
        assert [run_id for part in parts for run_id in part.run_id] == [row["run_id"] for row in rows]


def test_every_split_of_the_file_reads_every_line_once_and_in_order(tmp_path):
    rows = golden_lines(results_of("near-perfect"))[:40]
    path = write_lines(tmp_path / "results.jsonl", rows)
    for size in range(1, path.stat().st_size + 200, 997):
        parts = [read_part(path, start, stop) for start, stop in result_parts(path, size)]
        assert [run_id for part in parts for run_id in part.run_id] == [row["run_id"] for row in rows]


def test_small_and_packed_files_are_read_by_one_process(tmp_path):
    for path in (write_lines(tmp_path / "results.jsonl", []), results_of("gappy"), tmp_path / "missing.jsonl"):
        with helpers(path) as found:
            assert found.count == 0
