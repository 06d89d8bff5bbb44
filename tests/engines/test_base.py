"""The engine contract: how an engine is found and given its options, and what becomes of what it raises."""

import itertools
import sys
import textwrap

import pytest

from engines import wire
from engines.base import (
    WARM_UP_QUESTIONS,
    Abstained,
    Answered,
    DeviceError,
    Engine,
    EngineError,
    Unsupported,
    is_device_error,
    load_engine,
)
from engines.lexical import LexicalEngine
from engines.random import RandomEngine

QUESTIONS = {"q": {"type": "noul", "instructions": "Is the kettle on?"}}
RESPONSE = {"model": "m", "answers": {"q": {"type": "noul", "noul": 0.5}}, "usage": {}}
MODULE_NAMES = (f"engines_of_a_test_{number}" for number in itertools.count())


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes source into the working directory; gives the module's name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(source):
        name = next(MODULE_NAMES)
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        return name

    return write


@pytest.fixture
def recorder(module):
    """Name of a module whose class Recorder keeps its options, each annotated or defaulted in another way."""
    return module(
        """
        from typing import Any

        from engines.base import Engine


        class Recorder(Engine):
            def __init__(
                self,
                text: str = "",
                count: int = 0,
                rate: float = 0.0,
                flag: bool = False,
                table: dict | None = None,
                items: list | None = None,
                either: int | str = 0,
                entries: dict[str, Any] | None = None,
                names: list[str] | None = None,
                default_only=5,
                flag_default=True,
                bare=None,
                maybe: int | None = None,
            ):
                self.options = {name: value for name, value in locals().items() if name != "self"}

            def __call__(self, state, questions):
                return {}, None
        """
    )


# Loading.


def test_shipped_engines_load_by_name():
    assert isinstance(load_engine("random"), RandomEngine)
    assert isinstance(load_engine("lexical"), LexicalEngine)


@pytest.mark.parametrize("spec", ["Random", "gpt", "", "module:", "engines.random"])
def test_unknown_engine_is_named_with_those_that_exist(spec):
    known = "choose one of random, lexical, http, transformers, openai, vllm, or module:Class for your own"
    with pytest.raises(EngineError, match=f"^unknown engine '{spec}'; {known}$"):
        load_engine(spec)


@pytest.mark.parametrize(
    ("option", "text", "value"),
    [
        ("text", "5", "5"),
        ("text", "true", "true"),
        ("count", "5", 5),
        ("count", "-2", -2),
        ("rate", "0.25", 0.25),
        ("rate", "1e-3", 0.001),
        ("rate", "2", 2.0),
        ("flag", "true", True),
        ("flag", "false", False),
        ("table", '{"a": [1, null]}', {"a": [1, None]}),
        ("items", "[1, 2]", [1, 2]),
        ("either", "5", "5"),
        ("default_only", "6", 6),
        ("flag_default", "false", False),
        ("bare", "6", "6"),
        ("maybe", "7", 7),
    ],
)
def test_option_text_becomes_the_type_of_its_parameter(recorder, option, text, value):
    given = load_engine(f"{recorder}:Recorder", options={option: text}).options[option]
    assert given == value and type(given) is type(value)


def test_option_with_a_parametrised_annotation_is_read_as_json_too(recorder):
    options = load_engine(f"{recorder}:Recorder", options={"entries": '{"a": 1}', "names": '["a"]'}).options
    assert (options["entries"], options["names"]) == ({"a": 1}, ["a"])


@pytest.mark.parametrize(
    ("option", "text", "kind"),
    [
        ("count", "many", "int"),
        ("count", "1.5", "int"),
        ("count", "true", "int"),
        ("count", "", "int"),
        ("rate", "fast", "float"),
        ("rate", "true", "float"),
        ("flag", "yes", "bool"),
        ("flag", "1", "bool"),
        ("table", "[1]", "dict"),
        ("table", "{a: 1}", "dict"),
        ("items", '{"a": 1}', "list"),
        ("default_only", "x", "int"),
        ("maybe", "x", "int"),
    ],
)
def test_malformed_option_is_named_with_what_it_should_be(recorder, option, text, kind):
    with pytest.raises(EngineError) as refused:
        load_engine(f"{recorder}:Recorder", options={option: text})
    assert str(refused.value) == f"engine '{recorder}:Recorder': option {option}={text} is not a valid {kind}"


def test_option_that_is_no_text_is_passed_on_as_it_is(recorder):
    assert load_engine(f"{recorder}:Recorder", options={"count": 2.5}).options["count"] == 2.5


def test_unknown_option_is_named_with_those_that_exist():
    with pytest.raises(EngineError, match="engine 'lexical' has no option 'k2'; it takes k1, b, temperature"):
        load_engine("lexical", options={"k2": "1"})


def test_model_for_an_engine_without_one_is_refused():
    with pytest.raises(EngineError, match="engine 'random' has no option 'model'; it takes seed"):
        load_engine("random", model="m")


def test_missing_required_options_say_how_to_give_them(module):
    name = module(
        """
        class Needy:
            def __init__(self, model, place: str): ...
        """
    )
    with pytest.raises(EngineError, match="needs --model NAME$"):
        load_engine(f"{name}:Needy")
    with pytest.raises(EngineError, match="needs --option place=VALUE$"):
        load_engine(f"{name}:Needy", "m")


def test_missing_required_option_that_is_keyword_only_is_named_too(module):
    name = module(
        """
        class Needy:
            def __init__(self, *, level: int): ...
        """
    )
    with pytest.raises(EngineError, match="needs --option level=VALUE$"):
        load_engine(f"{name}:Needy")


def test_option_named_model_wins_over_the_model_argument(module):
    name = module(
        """
        class Named:
            def __init__(self, model): self.model = model
            def __call__(self, state, questions): return {"model": self.model}, None
        """
    )
    assert load_engine(f"{name}:Named", "one")("s", {}) == ({"model": "one"}, None)
    assert load_engine(f"{name}:Named", "one", {"model": "two"})("s", {}) == ({"model": "two"}, None)


def test_annotation_that_exists_only_for_type_checkers_does_not_matter(module):
    name = module(
        """
        from __future__ import annotations
        from typing import TYPE_CHECKING
        if TYPE_CHECKING:
            import nowhere

        class Annotated:
            def __init__(self, device: nowhere.Device = None): self.device = device
            def __call__(self, state, questions): return self.device, None
        """
    )
    assert load_engine(f"{name}:Annotated", options={"device": "cpu"})("s", {}) == ("cpu", None)


# Modules that cannot be used.


def test_module_that_is_not_there_is_named():
    with pytest.raises(EngineError, match="^engine 'nowhere.at:E': no module 'nowhere.at' here or on PYTHONPATH$"):
        load_engine("nowhere.at:E")


def test_class_that_is_not_there_is_named(module):
    name = module("class Here: ...")
    with pytest.raises(EngineError, match=f"module '{name}' has no 'There'$"):
        load_engine(f"{name}:There")


@pytest.mark.parametrize("spec", [":E", ".relative:E", "./path/module:E", "engines.wire:SUM_TOLERANCE"])
def test_spec_that_names_no_class_is_an_engine_error(spec):
    with pytest.raises(EngineError, match="engine "):
        load_engine(spec)


def test_package_that_a_module_misses_is_named_with_the_command_that_gets_it(module):
    name = module("import some_missing_package")
    missing = "needs the package 'some_missing_package', which is not installed: pip install some_missing_package$"
    with pytest.raises(EngineError, match=missing):
        load_engine(f"{name}:E")


def test_missing_package_whose_name_begins_the_module_name_is_told_apart(module):
    name = module("import engines_of")
    assert name.startswith("engines_of")
    with pytest.raises(EngineError, match="needs the package 'engines_of'"):
        load_engine(f"{name}:E")


def test_package_that_a_constructor_misses_is_named(module):
    name = module(
        """
        class Lazy:
            def __init__(self):
                import some_missing_package
        """
    )
    with pytest.raises(EngineError, match="needs the package 'some_missing_package', which is not installed"):
        load_engine(f"{name}:Lazy")


def test_missing_package_of_the_transformers_engine_is_answered_by_its_extra(monkeypatch):
    monkeypatch.delitem(sys.modules, "engines.causal_lm", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "transformers", None)
    advice = r"needs the package '(torch|transformers)', which is not installed: pip install 'di-tui\[transformers\]'$"
    with pytest.raises(EngineError, match=advice):
        load_engine("transformers", "some/model")


def test_failing_import_is_not_called_a_missing_package(module):
    name = module("from json import no_such_thing")
    with pytest.raises(EngineError, match="cannot import name 'no_such_thing'"):
        load_engine(f"{name}:Here")


def test_mistake_inside_a_module_is_not_called_a_missing_class(module):
    name = module("import sys\nsys.no_such_thing\nclass Here: ...")
    with pytest.raises(EngineError, match="no_such_thing"):
        load_engine(f"{name}:Here")


# A class that knows nothing of this package.

PUBLIC_KIT = """
class Unsupported(Exception): ...


class Abstained(Exception):
    def __init__(self, reason, raw_output=None):
        super().__init__(reason)
        self.raw_output = raw_output


class TooLong(Unsupported): ...


class KitEngine:
    def __init__(self, model=None, **options):
        self.model, self.options = model, options

    def __call__(self, state, questions):
        if state == "long":
            raise TooLong("12 tokens too many")
        if state == "shy":
            raise Abstained("rather not", {"margin": 0.1})
        if state == "broken":
            raise ValueError("bug")
        answers = {name: {"type": "noul", "noul": 0.5} for name in questions}
        return {"model": self.model, "answers": answers, "usage": self.options}, "raw"
"""


def test_class_of_the_public_kit_gets_model_and_options_as_keywords(module):
    engine = load_engine(f"{module(PUBLIC_KIT)}:KitEngine", "kit-1", {"depth": "3"})
    response, raw = engine("s", QUESTIONS)
    wire.validate(QUESTIONS, response)
    assert (response["model"], response["usage"], raw) == ("kit-1", {"depth": "3"}, "raw")


def test_class_of_the_public_kit_has_the_whole_engine_contract(module):
    engine = load_engine(f"{module(PUBLIC_KIT)}:KitEngine")
    engine.warm_up()
    assert isinstance(engine, Engine)
    assert (engine.concurrency, engine.batch_size, engine.identity(), engine.info()) == (1, 1, {}, {})
    engine.close()


def test_exceptions_of_the_public_kit_count_by_their_names(module):
    engine = load_engine(f"{module(PUBLIC_KIT)}:KitEngine")
    states = ["s", "long", "shy", "broken"]
    outcomes = engine.answer_many([(state, QUESTIONS) for state in states])
    assert [type(outcome) for outcome in outcomes] == [Answered, Unsupported, Abstained, ValueError]
    assert [str(outcome) for outcome in outcomes[1:]] == ["12 tokens too many", "rather not", "bug"]
    assert outcomes[2].raw_output == {"margin": 0.1}


def test_own_methods_of_a_class_without_base_class_are_used(module):
    name = module(
        PUBLIC_KIT
        + """

class Rich(KitEngine):
    concurrency = 3
    batch_size = 8
    def answer_many(self, requests): return [ValueError(str(len(requests)))] * len(requests)
    def warm_up(self): self.warm = True
    def identity(self): return {"warm": self.warm}
    def info(self): return {"kind": "rich"}
    def close(self): self.warm = False
"""
    )
    engine = load_engine(f"{name}:Rich")
    engine.warm_up()
    assert (engine.concurrency, engine.batch_size, engine.info()) == (3, 8, {"kind": "rich"})
    assert engine.identity() == {"warm": True}
    assert [str(outcome) for outcome in engine.answer_many([("s", QUESTIONS)] * 2)] == ["2", "2"]
    engine.close()
    assert engine.identity() == {"warm": False}


def test_outcomes_of_an_own_answer_many_count_by_their_names_too(module):
    name = module(
        PUBLIC_KIT
        + """

class Batched(KitEngine):
    def answer_many(self, requests): return [TooLong("no"), Abstained("no", 7)]
"""
    )
    outcomes = load_engine(f"{name}:Batched").answer_many([("s", QUESTIONS)] * 2)
    assert [type(outcome) for outcome in outcomes] == [Unsupported, Abstained]
    assert outcomes[1].raw_output == 7


# What the base class does.


class Scripted(Engine):
    """Does for each request what its state says."""

    def __init__(self):
        self.asked = []

    def __call__(self, state, questions):
        self.asked.append((state, questions))
        if isinstance(state, Exception):
            raise state
        return RESPONSE, state


def test_answer_many_gives_one_outcome_per_request_in_order():
    problems = [Unsupported("too long"), Abstained("no", 1), ValueError("bug")]
    outcomes = Scripted().answer_many([(state, QUESTIONS) for state in ["a", *problems, "b"]])
    assert outcomes == [Answered(RESPONSE, "a"), *problems, Answered(RESPONSE, "b")]
    assert outcomes[0].model_ms is None and outcomes[0].http_ms is None


def test_answer_many_of_nothing_is_nothing():
    assert Scripted().answer_many([]) == []


def test_answer_many_lets_an_interrupt_through():
    class Interrupted(Scripted):
        def __call__(self, state, questions):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Interrupted().answer_many([("s", QUESTIONS)])


def test_warm_up_asks_one_question_at_a_time_that_the_wire_format_allows():
    engine = Scripted()
    engine.warm_up()
    assert [list(questions.values()) for _, questions in engine.asked] == [[question] for question in WARM_UP_QUESTIONS]
    for _, questions in engine.asked:
        wire.check_questions(questions)


def test_device_errors_are_known_by_class_name_or_message():
    class OutOfMemoryError(RuntimeError):
        """Named like that of a framework."""

    assert is_device_error(DeviceError("gone"))
    assert is_device_error(OutOfMemoryError("tried to allocate"))
    assert is_device_error(RuntimeError("CUDA error: device-side assert triggered"))
    assert not is_device_error(RuntimeError("shape mismatch"))
    assert not is_device_error(Answered(RESPONSE, "CUDA error"))
