"""The engines without a model: random and lexical."""

import math
import subprocess
import sys
from collections import Counter

import pytest
from suites import ROOT

from engines import wire
from engines.lexical import LexicalEngine, bm25, softmax, words
from engines.random import RandomEngine

QUESTIONS = {
    "c": {"type": "choice", "instructions": "Which fruit?", "criteria": {"a": "a red apple", "b": "a ripe pear", "c": None}},
    "n": {"type": "noul", "instructions": "Is it ripe?", "criteria": {"true": "yes, the pear is ripe"}},
    "s": {"type": "score", "instructions": "How ripe?", "criteria": ["green", "ripe pear", "rotten"]},
}


@pytest.mark.parametrize("engine", [RandomEngine(), LexicalEngine()])
@pytest.mark.parametrize("state", ["The pear is ripe.", {"fruit": ["pear"]}, [], "", None])
def test_every_question_type_is_answered_validly_for_any_state(engine, state):
    response, raw = engine(state, QUESTIONS)
    wire.validate(QUESTIONS, response)
    assert raw is None


def test_random_answers_depend_on_request_and_seed_alone():
    first = RandomEngine(seed=1)("s", QUESTIONS)
    assert RandomEngine(seed=1)("s", QUESTIONS) == first
    assert RandomEngine(seed=2)("s", QUESTIONS) != first
    assert RandomEngine(seed=1)("t", QUESTIONS) != first
    assert RandomEngine(seed=1).identity() != RandomEngine(seed=2).identity()


def test_random_choices_are_uniform():
    question = {"q": {"type": "choice", "criteria": dict.fromkeys("abcd")}}
    engine = RandomEngine()
    chosen = Counter(engine(number, question)[0]["answers"]["q"]["choice"] for number in range(4000))
    assert all(900 < count < 1100 for count in chosen.values()) and len(chosen) == 4


def test_lexical_prefers_the_option_that_shares_words():
    response, _ = LexicalEngine()("The pear is ripe.", QUESTIONS)
    assert response["answers"]["c"]["choice"] == "b"
    assert response["answers"]["n"]["noul"] > 0.5
    assert response["answers"]["s"]["probabilities"]["1"] == max(response["answers"]["s"]["probabilities"].values())


def test_lexical_is_undecided_without_shared_words():
    response, _ = LexicalEngine()("zzz", {"q": {"type": "choice", "criteria": {"a": "x", "b": "y"}}})
    assert response["answers"]["q"]["probabilities"] == {"a": 0.5, "b": 0.5}


def test_bm25_is_the_textbook_formula():
    documents = [["pear", "pear", "ripe"], ["apple"]]
    [first, second] = bm25(["pear", "pear", "apple"], documents, k1=1.2, b=0.75)
    idf = math.log(1 + (2 - 1 + 0.5) / (1 + 0.5))
    assert first == pytest.approx(idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 3 / 2)))
    assert second == pytest.approx(idf * 1 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 1 / 2)))


def test_words_split_at_case_underscores_and_punctuation():
    assert words("Card_Arrival, re-try!") == ["card", "arrival", "re", "try"]
    assert words({"a": ["B c"]}) == ["a", "b", "c"]
    assert words(None) == []


def test_softmax_survives_large_scores():
    assert softmax([1000.0, 1000.0]) == [0.5, 0.5]
    assert softmax([2.0, 0.0], temperature=2.0)[0] == pytest.approx(1 / (1 + math.exp(-1)))


def test_lexical_answers_do_not_depend_on_the_hash_seed():
    code = (
        "from engines.lexical import LexicalEngine;"
        "print(LexicalEngine()('one two three four five six', {'q': {'type': 'choice', 'criteria': "
        "{'a': 'one two three', 'b': 'four five six two'}}}))"
    )
    outputs = {
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={"PYTHONHASHSEED": seed}, capture_output=True).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1 and b"probabilities" in outputs.pop()
