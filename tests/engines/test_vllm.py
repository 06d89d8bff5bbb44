"""The vllm engine over a stand-in for `vllm`: the `transformers` engine's answers, one call for a batch, clear failures."""

import sys
import tomllib
from pathlib import Path

import pytest
import stand_in_vllm
import torch
from tiny_models import CHAT_TEMPLATE, save_tiny_model

from engines import wire
from engines.base import DeviceError, EngineError, Unsupported, load_engine
from engines.causal_lm import CausalLmEngine
from engines.run_dir import RunDir, read_json
from engines.runner import RunSettings, run

ROOT = Path(__file__).parents[2]
QUESTIONS = {
    "letters": {"type": "choice", "instructions": "Which?", "criteria": {"A": "first", "B": "second", "C": None}},
    "prefixes": {"type": "choice", "instructions": "How many?", "criteria": dict.fromkeys(["1", "10", "100", "2"])},
    "far": {"type": "choice", "instructions": "意思", "criteria": {"是": "yes", "不是": "no"}},
    "so": {"type": "noul", "instructions": "Is it so?"},
    "stars": {"type": "score", "instructions": "How many stars?", "criteria": ["none", "one", "two"]},
    "only": {"type": "choice", "instructions": "?", "criteria": {"x": "the only one"}},
}


@pytest.fixture(scope="module", params=[None, CHAT_TEMPLATE], ids=["plain", "chat"])
def model(request, tmp_path_factory) -> Path:
    return save_tiny_model(tmp_path_factory.mktemp("model"), request.param)


@pytest.fixture(autouse=True)
def stand_in(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", stand_in_vllm)
    monkeypatch.setattr(stand_in_vllm.LLM, "made", [])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def engine_for(model, **options):
    return load_engine("vllm", str(model), options)


def probabilities(response):
    answers = response["answers"].values()
    return [value for answer in answers for value in (answer.get("probabilities") or {"": answer["noul"]}).values()]


def test_answers_are_those_of_the_transformers_engine(model):
    response, raw = engine_for(model)({"text": "Привет"}, QUESTIONS)
    expected, _raw = CausalLmEngine(str(model), device="cpu")({"text": "Привет"}, QUESTIONS)
    assert probabilities(response) == pytest.approx(probabilities(expected), abs=1e-5)
    assert response["usage"] == expected["usage"] and response["model"] == model.name and raw is None
    wire.validate(QUESTIONS, response)


def test_temperatures_are_those_of_the_transformers_engine(model):
    fitted = {"temperature": 1.5, "temperature_noul": 3.0, "temperature_score": 0.5}
    response, _raw = engine_for(model, **fitted)("s", QUESTIONS)
    expected, _raw = CausalLmEngine(str(model), device="cpu", **fitted)("s", QUESTIONS)
    assert probabilities(response) == pytest.approx(probabilities(expected), abs=1e-5)


def test_a_batch_is_one_call_of_vllm_with_a_prompt_an_option(model):
    engine = engine_for(model, batch="8")
    outcomes = engine.answer_many([("a", QUESTIONS), ("b", {"so": QUESTIONS["so"]}), ("c", {"only": QUESTIONS["only"]})])
    assert stand_in_vllm.LLM.made[0].calls == [3 + 4 + 2 + 2 + 3 + 2]
    assert [outcome.response["answers"].keys() for outcome in outcomes] == [QUESTIONS.keys(), {"so"}, {"only"}]
    assert engine.batch_size == 8


def test_a_request_that_does_not_fit_is_unsupported_and_costs_the_others_nothing(model):
    engine = engine_for(model, max_length="400")
    long, short = engine.answer_many([("word " * 400, QUESTIONS), ("word", {"so": QUESTIONS["so"]})])
    assert isinstance(long, Unsupported) and "exceed the context limit of 400 tokens" in str(long)
    wire.validate({"so": QUESTIONS["so"]}, short.response)
    with pytest.raises(Unsupported):
        engine("word " * 400, QUESTIONS)


def test_tensor_parallel_and_further_arguments_reach_vllm_and_prefix_caching_is_on(model):
    engine_for(model, tensor_parallel="4", arguments='{"distributed_executor_backend": "ray"}')
    assert stand_in_vllm.LLM.made[0].arguments == {
        "tensor_parallel_size": 4, "enable_prefix_caching": True, "distributed_executor_backend": "ray",
    }  # fmt: skip


def test_identity_holds_what_changes_answers_and_not_how_the_model_is_spread(model):
    one, other = engine_for(model), engine_for(model, tensor_parallel="2", batch="4")
    assert one.identity() == other.identity() != engine_for(model, end_token="false").identity()
    assert one.identity()["revision"].startswith("sha256:") and one.identity()["model"] == model.name
    assert str(model.parent) not in f"{one.identity()} {one.info()}"


@pytest.mark.parametrize("error", [stand_in_vllm.EngineDeadError("EngineCore died"), RuntimeError("CUDA error: gone")])
def test_a_dead_vllm_ends_the_run_and_keeps_its_results(make_suite, model, tmp_path, error):
    suite, run_dir = make_suite(), RunDir(tmp_path / "run")
    settings = RunSettings("vllm", str(model), {"batch": "4"})

    def die_after_eight(event):
        if sum(stand_in_vllm.LLM.made[-1].calls if stand_in_vllm.LLM.made else []) > 40:
            stand_in_vllm.LLM.made[-1].fail = error

    ended = run(suite, run_dir, settings, die_after_eight)
    assert ended.state == "failed" and "the device failed: vLLM failed: " in ended.reason and "error" not in ended.counts
    resumed = run(suite, run_dir, settings)
    assert (resumed.state, resumed.completed) == ("complete", 30)
    assert read_json(run_dir.environment)["mode"] == "batched"


def test_another_failure_of_a_call_is_the_error_of_its_requests(model):
    engine = engine_for(model)
    engine.warm_up()
    stand_in_vllm.LLM.made[0].fail = ValueError("bad prompt")
    with pytest.raises(ValueError, match="bad prompt"):
        engine("s", QUESTIONS)


@pytest.mark.parametrize(
    "options, said",
    [
        ({"arguments": '{"dtype": "half"}'}, "give dtype by the engine's own options"),
        ({"arguments": '{"colour": 1}'}, "vLLM cannot load .*unexpected keyword argument 'colour'$"),
        ({"batch": "0"}, "batch must be at least 1"),
        ({"temperature_score": "0"}, "a temperature must be a number above 0"),
    ],
)
def test_what_vllm_or_the_engine_cannot_take_is_one_line(model, options, said):
    with pytest.raises(EngineError, match=said) as refused:
        engine_for(model, **options)
    assert "\n" not in str(refused.value)


def test_a_model_that_is_not_there_is_one_line():
    with pytest.raises(EngineError, match="vLLM cannot load 'org/nothing': .* not a local folder$"):
        engine_for("org/nothing")


def test_a_device_failure_is_told_apart(model):
    engine = engine_for(model)
    stand_in_vllm.LLM.made[0].fail = stand_in_vllm.EngineDeadError("EngineCore died\nlong story")
    with pytest.raises(DeviceError, match="^vLLM failed: EngineCore died$"):
        engine("s", QUESTIONS)


def test_without_vllm_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(EngineError, match=r"needs the package 'vllm', which is not installed: pip install 'di-tui\[vllm\]'"):
        load_engine("vllm", "m")


def test_the_extra_stands_alone():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras["vllm"] and not any("vllm" in requirement for name in extras if name != "vllm" for requirement in extras[name])
    assert "vllm" not in (ROOT / "constraints.txt").read_text()
