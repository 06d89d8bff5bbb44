"""The wire format: what is accepted, what is refused, and that the message says where and why."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines import wire

CHOICE = {"type": "choice", "instructions": "Which?", "criteria": {"tea": "hot", "café": None, "x": ["a", {"b": 1}]}}
NOUL = {"type": "noul", "instructions": None, "criteria": {"true": "It is on."}}
SCORE = {"type": "score", "instructions": {"rate": "heat"}, "criteria": ["cold", {"warm": True}, "hot"]}
QUESTIONS = {"drink": CHOICE, "on": NOUL, "heat": SCORE}


def answers(**changed):
    """Valid answers to QUESTIONS, some fields of some answers changed; a field changed to ... is left out."""
    valid = {
        "drink": {"type": "choice", "choice": "tea", "probabilities": {"tea": 0.5, "café": 0.3, "x": 0.2}},
        "on": {"type": "noul", "noul": 0.25},
        "heat": {"type": "score", "score": 1.5, "legend": {}, "probabilities": {"0": 0.1, "1": 0.3, "2": 0.6}},
    }
    for name, fields in changed.items():
        merged = {**valid[name], **fields}
        valid[name] = {field: value for field, value in merged.items() if value is not ...}
    return {"model": "m", "answers": valid, "usage": {}}


# Options.


def test_options_keep_key_order_and_descriptions():
    assert wire.options(CHOICE) == [("tea", "hot"), ("café", None), ("x", ["a", {"b": 1}])]


def test_options_of_a_noul_are_false_then_true():
    assert wire.options(NOUL) == [("false", None), ("true", "It is on.")]
    assert wire.options({"type": "noul"}) == [("false", None), ("true", None)]


def test_options_of_a_score_are_its_levels_by_index():
    assert wire.options(SCORE) == [("0", "cold"), ("1", {"warm": True}), ("2", "hot")]


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        ({"type": "choice", "criteria": {}}, "a choice needs an object of options"),
        ({"type": "choice", "criteria": ["a", "b"]}, "a choice needs an object of options"),
        ({"type": "choice"}, "a choice needs an object of options"),
        ({"type": "noul", "criteria": {"yes": "it is"}}, "a noul takes no criteria, or an object with true and false"),
        ({"type": "noul", "criteria": ["true"]}, "a noul takes no criteria, or an object with true and false"),
        ({"type": "score", "criteria": {"0": "cold"}}, "a score needs an array of levels"),
        ({"type": "score", "criteria": "cold"}, "a score needs an array of levels"),
        ({"type": "score", "criteria": []}, "a score needs an array of levels"),
        ({"type": "boolean"}, "type 'boolean' is none of choice, noul, score"),
        ({}, "type None is none of"),
        (["choice"], ""),
        (None, ""),
    ],
)
def test_question_outside_the_format_is_named(question, problem):
    with pytest.raises(wire.InvalidQuestion, match=f"^question 'odd': .*{problem}"):
        wire.check_questions({"fine": NOUL, "odd": question})


@pytest.mark.parametrize("questions", [{}, [], None, [NOUL]])
def test_questions_must_be_an_object_with_at_least_one(questions):
    with pytest.raises(wire.InvalidQuestion, match="an object with at least one question"):
        wire.check_questions(questions)


def test_questions_of_every_type_are_accepted():
    wire.check_questions(QUESTIONS)


# Refused responses.


@pytest.mark.parametrize("response", [None, [], "text", {}, {"answers": None}, {"answers": [{"type": "noul"}]}])
def test_response_without_answers_is_refused(response):
    with pytest.raises(wire.InvalidResponse, match="no object `answers`"):
        wire.validate(QUESTIONS, response)


def test_missing_answer_is_named():
    response = answers()
    del response["answers"]["on"]
    with pytest.raises(wire.InvalidResponse, match="^question 'on': no answer$"):
        wire.validate(QUESTIONS, response)


def test_answer_to_nothing_is_named():
    with pytest.raises(wire.InvalidResponse, match="^question 'heat': answered but never asked$"):
        wire.validate({"drink": CHOICE, "on": NOUL}, answers())


@pytest.mark.parametrize("given", [None, "tea", 0.5, ["tea"]])
def test_answer_that_is_not_an_object_is_named(given):
    response = answers()
    response["answers"]["drink"] = given
    with pytest.raises(wire.InvalidResponse, match="^question 'drink': the answer is not an object$"):
        wire.validate(QUESTIONS, response)


TEA = {"tea": 0.5, "café": 0.3, "x": 0.2}
LEVELS = {"0": 0.1, "1": 0.3, "2": 0.6}


@pytest.mark.parametrize(
    ("name", "fields", "problem"),
    [
        ("drink", {"type": "score"}, "asked as choice, answered as 'score'"),
        ("drink", {"type": ...}, "asked as choice, answered as None"),
        ("on", {"type": "boolean"}, "asked as noul, answered as 'boolean'"),
        ("heat", {"type": "choice"}, "asked as score, answered as 'choice'"),
        ("drink", {"choice": "TEA"}, "choice 'TEA' is not an option"),
        ("drink", {"choice": "cafe\u0301"}, "choice 'cafe\u0301' is not an option"),
        ("drink", {"choice": ["tea"]}, r"choice \['tea'\] is not an option"),
        ("drink", {"choice": ...}, "choice None is not an option"),
        ("drink", {"probabilities": ...}, "no object `probabilities`"),
        ("drink", {"probabilities": [0.5, 0.3, 0.2]}, "no object `probabilities`"),
        ("drink", {"probabilities": {"tea": 0.7, "x": 0.3}}, "option 'café' has no probability"),
        ("drink", {"probabilities": {}}, "option 'tea' has no probability"),
        ("drink", {"probabilities": {**TEA, "milk": 0.0}}, "probability for 'milk', which is not an option"),
        ("drink", {"probabilities": {**TEA, "x": math.nan}}, "option 'x' is not finite"),
        ("drink", {"probabilities": {**TEA, "x": math.inf}}, "option 'x' is not finite"),
        ("drink", {"probabilities": {**TEA, "x": -math.inf}}, "option 'x' is not finite"),
        ("drink", {"probabilities": {**TEA, "x": None}}, "option 'x' is None, not a number"),
        ("drink", {"probabilities": {**TEA, "x": "0.2"}}, "option 'x' is '0.2', not a number"),
        ("drink", {"probabilities": {"tea": True, "café": 0, "x": 0}}, "option 'tea' is True, not a number"),
        ("drink", {"probabilities": {"tea": 1.2, "café": 0, "x": -0.2}}, "option 'tea' is 1.2, outside 0 to 1"),
        ("drink", {"probabilities": {**TEA, "x": -0.001}}, "option 'x' is -0.001, outside 0 to 1"),
        ("drink", {"probabilities": {**TEA, "x": 0.2101}}, "probabilities sum to 1.0101, not to 1 within 0.01"),
        ("drink", {"probabilities": {**TEA, "x": 0.1899}}, "probabilities sum to 0.9899, not to 1 within 0.01"),
        ("drink", {"probabilities": {"tea": 0, "café": 0, "x": 0}}, "probabilities sum to 0, not to 1"),
        ("on", {"noul": ...}, "noul is None, not a number"),
        ("on", {"noul": True}, "noul is True, not a number"),
        ("on", {"noul": "0.5"}, "noul is '0.5', not a number"),
        ("on", {"noul": math.nan}, "noul is not finite"),
        ("on", {"noul": 1.0000001}, "noul is 1.0000001, outside 0 to 1"),
        ("on", {"noul": -1e-9}, "noul is -1e-09, outside 0 to 1"),
        ("heat", {"score": ...}, "score is None, not a number"),
        ("heat", {"score": True}, "score is True, not a number"),
        ("heat", {"score": math.nan}, "score is not finite"),
        ("heat", {"score": 2.1}, "score 2.1 is outside 0 to 2"),
        ("heat", {"score": -0.1}, "score -0.1 is outside 0 to 2"),
        ("heat", {"probabilities": {"1": 0.1, "2": 0.3, "3": 0.6}}, "option '0' has no probability"),
        ("heat", {"probabilities": {**LEVELS, "3": 0}}, "probability for '3', which is not an option"),
        ("heat", {"probabilities": {**LEVELS, "2": 0.4}}, "probabilities sum to 0.8, not to 1 within 0.01"),
    ],
)
def test_bad_answer_is_refused_with_question_and_reason(name, fields, problem):
    with pytest.raises(wire.InvalidResponse, match=f"^question '{name}': {problem}"):
        wire.validate(QUESTIONS, answers(**{name: fields}))


@pytest.mark.parametrize("number", [10**400, -(10**400)], ids=["positive", "negative"])
def test_whole_number_beyond_floats_is_refused_like_any_other(number):
    with pytest.raises(wire.InvalidResponse, match="^question 'on': noul is "):
        wire.validate(QUESTIONS, answers(on={"noul": number}))


def test_first_of_several_missing_answers_in_the_order_of_the_questions_is_named():
    questions = {f"question-{n}": NOUL for n in range(40)}
    with pytest.raises(wire.InvalidResponse, match="^question 'question-0': no answer$"):
        wire.validate(questions, {"answers": {}})


# Accepted responses.


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("drink", {}),
        ("drink", {"probabilities": {"tea": 1, "café": 0, "x": 0}}),
        ("drink", {"probabilities": {"tea": 1.0, "café": 0.0, "x": -0.0}}),
        ("drink", {"probabilities": {**TEA, "x": 0.2099}}),
        ("drink", {"probabilities": {**TEA, "x": 0.1901}}),
        ("drink", {"probabilities": {"x": 0.2, "tea": 0.5, "café": 0.3}}),
        ("drink", {"choice": "x"}),
        ("drink", {"confidence": None, "x_more": [1]}),
        ("on", {"noul": 0.5}),
        ("on", {"noul": 0}),
        ("on", {"noul": 1}),
        ("heat", {"legend": ...}),
        ("heat", {"score": 0}),
        ("heat", {"score": 2, "probabilities": {"0": 0, "1": 0, "2": 1}}),
        ("heat", {"score": 2.005}),
    ],
)
def test_answer_at_the_edge_is_accepted(name, fields):
    wire.validate(QUESTIONS, answers(**{name: fields}))


def test_question_with_a_single_option_is_accepted():
    questions = {"one": {"type": "choice", "criteria": {"only": None}}, "level": {"type": "score", "criteria": ["low"]}}
    given = {
        "one": {"type": "choice", "choice": "only", "probabilities": {"only": 1}},
        "level": {"type": "score", "score": 0, "probabilities": {"0": 1.0}},
    }
    wire.validate(questions, {"answers": given})
    assert wire.answer(questions["one"], [1.0])["choice"] == "only"
    assert wire.answer(questions["level"], [1.0])["score"] == 0


# Building answers.


def test_choice_answer_takes_the_most_probable_option_and_the_first_on_ties():
    assert wire.answer(CHOICE, [0.2, 0.5, 0.3]) == {
        "type": "choice",
        "choice": "café",
        "probabilities": {"tea": 0.2, "café": 0.5, "x": 0.3},
    }
    assert wire.answer(CHOICE, [0.2, 0.4, 0.4])["choice"] == "café"


def test_noul_answer_is_the_probability_of_true():
    assert wire.answer(NOUL, [0.75, 0.25]) == {"type": "noul", "noul": 0.25}


def test_score_answer_is_the_expected_level_with_its_legend():
    # 0 * 0.1 + 1 * 0.3 + 2 * 0.6
    answer = wire.answer(SCORE, [0.1, 0.3, 0.6])
    assert answer["score"] == pytest.approx(1.5, abs=1e-12)
    assert answer["legend"] == {"0": "cold", "1": {"warm": True}, "2": "hot"}
    assert answer["probabilities"] == {"0": 0.1, "1": 0.3, "2": 0.6}


def test_probabilities_must_be_as_many_as_options():
    for question in (CHOICE, SCORE):
        with pytest.raises(ValueError):
            wire.answer(question, [0.5, 0.5])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
SIDES = st.none() | st.dictionaries(st.sampled_from(["true", "false"]), JSON)
QUESTION = st.one_of(
    st.fixed_dictionaries({"type": st.just("choice"), "criteria": st.dictionaries(st.text(), JSON, min_size=1)}),
    st.fixed_dictionaries({"type": st.just("noul"), "criteria": SIDES}),
    st.fixed_dictionaries({"type": st.just("score"), "criteria": st.lists(JSON, min_size=1, max_size=10)}),
)


@given(question=QUESTION, data=st.data())
def test_answer_of_any_distribution_validates_also_after_a_round_trip_through_json(question, data):
    count = len(wire.options(question))
    weight = st.floats(0, 1e6) | st.sampled_from([0.0, 1e-300, 1.0])
    weights = data.draw(st.lists(weight, min_size=count, max_size=count).filter(any))
    total = math.fsum(weights)
    response = {"answers": {"q": wire.answer(question, [weight / total for weight in weights])}}
    wire.validate({"q": question}, response)
    wire.validate(json.loads(json.dumps({"q": question})), json.loads(wire.compact_json(response)))


@given(value=JSON)
def test_compact_json_is_read_back_as_it_was(value):
    assert json.loads(wire.compact_json(value)) == value


def test_compact_json_has_no_spaces_and_raw_letters():
    assert wire.compact_json({"a": ["ä", None, 0.5]}) == '{"a":["ä",null,0.5]}'
