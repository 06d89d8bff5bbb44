"""The openai engine against a completion server of our own over a tiny model: the `transformers` engine's answers, limits that
are said, retries, and keys that stay secret."""

import threading
import time

import pytest
import torch
from completion_server import CompletionServer
from suites import read_final_results
from tiny_models import CHAT_TEMPLATE, save_tiny_model

from engines import wire
from engines.base import EngineError, Unsupported, load_engine
from engines.causal_lm import CausalLmEngine
from engines.http import RequestFailed
from engines.openai import TOKEN_VARIABLE, OpenAiEngine
from engines.run_dir import RunDir
from engines.runner import RunSettings, run

KEY = "sk-sesame-4711"
QUESTIONS = {
    "letters": {"type": "choice", "instructions": "Which?", "criteria": {"A": "first", "B": "second", "C": None}},
    "prefixes": {"type": "choice", "instructions": "How many?", "criteria": dict.fromkeys(["1", "10", "100", "2"])},
    "far": {"type": "choice", "instructions": "意思", "criteria": {"是": "yes", "不是": "no"}},
    "so": {"type": "noul", "instructions": "Is it so?"},
    "stars": {"type": "score", "instructions": "How many stars?", "criteria": ["none", "one", "two"]},
    "only": {"type": "choice", "instructions": "?", "criteria": {"x": "the only one"}},
}
SO = {"so": QUESTIONS["so"]}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def plain_model(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def chat_model(tmp_path_factory):
    return save_tiny_model(tmp_path_factory.mktemp("chat"), CHAT_TEMPLATE)


@pytest.fixture
def serve():
    servers = []

    def start(model, *faults):
        servers.append(CompletionServer(model, *faults))
        threading.Thread(target=servers[-1].serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return servers[-1]

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


class Hasty(OpenAiEngine):
    """Notes how long it should wait and does not."""

    def pause(self, seconds):
        self.pauses = [*getattr(self, "pauses", []), seconds]
        return super().pause(0)


@pytest.fixture
def engine_for():
    engines = []

    def build(server, **options):
        url = options.pop("base_url", getattr(server, "url", server))
        engines.append(Hasty(url, "tiny", **options))
        return engines[-1]

    yield build
    for engine in engines:
        engine.close()


def probabilities(response):
    answers = response["answers"].values()
    return [value for answer in answers for value in (answer.get("probabilities") or {"": answer["noul"]}).values()]


def replying(status, content, **headers):
    return lambda handler, body: (status, {name.replace("_", "-"): value for name, value in headers.items()}, content)


# Scores.


@pytest.mark.parametrize("max_tokens", [0, 1])
@pytest.mark.parametrize("template", [None, CHAT_TEMPLATE], ids=["plain", "chat"])
def test_with_a_tokenizer_answers_are_those_of_the_transformers_engine(request, serve, engine_for, template, max_tokens):
    model = request.getfixturevalue("chat_model" if template else "plain_model")
    engine = engine_for(serve(model), tokenizer=str(model), max_tokens=max_tokens)
    response, raw = engine({"text": "Привет"}, QUESTIONS)
    expected, _raw = CausalLmEngine(str(model), device="cpu")({"text": "Привет"}, QUESTIONS)
    assert probabilities(response) == pytest.approx(probabilities(expected), abs=1e-5)
    assert response["usage"] == expected["usage"] and response["model"] == "tiny" and raw is None
    wire.validate(QUESTIONS, response)


@pytest.mark.parametrize("max_tokens", [0, 1])
def test_without_a_tokenizer_the_servers_own_tokens_give_the_same_answers(serve, engine_for, plain_model, max_tokens):
    response, _raw = engine_for(serve(plain_model), max_tokens=max_tokens)("state", QUESTIONS)
    expected, _raw = CausalLmEngine(str(plain_model), device="cpu")("state", QUESTIONS)
    several = [name for name in QUESTIONS if name != "letters"]  # whose keys the other engine scores without an end
    for name in several:
        assert probabilities({"answers": {"": response["answers"][name]}}) == pytest.approx(
            probabilities({"answers": {"": expected["answers"][name]}}), abs=1e-5
        )
    assert response["usage"] == expected["usage"]
    wire.validate(QUESTIONS, response)


def test_temperatures_are_applied_once_for_each_type(serve, engine_for, plain_model):
    fitted = {"temperature": 1.5, "temperature_noul": 3.0, "temperature_score": 0.5}
    response, _raw = engine_for(serve(plain_model), tokenizer=str(plain_model), **fitted)("s", QUESTIONS)
    expected, _raw = CausalLmEngine(str(plain_model), device="cpu", **fitted)("s", QUESTIONS)
    assert probabilities(response) == pytest.approx(probabilities(expected), abs=1e-5)


def test_options_go_in_calls_of_a_bounded_number_of_prompts(serve, engine_for, plain_model):
    server = serve(plain_model)
    question = {"q": {"type": "choice", "criteria": {f"option_{n}": None for n in range(10)}}}
    engine_for(server, tokenizer=str(plain_model), prompts_per_call=4, extra={"user": "me"})("s", question)
    assert [len(body["prompt"]) for _path, _headers, body in server.requests] == [4, 4, 2]
    path, _headers, body = server.requests[0]
    assert path == "/v1/completions"
    rest = {key: value for key, value in body.items() if key != "prompt"}
    assert rest == {"model": "tiny", "max_tokens": 0, "echo": True, "logprobs": 1, "temperature": 0, "user": "me"}


def test_a_question_with_one_option_is_certain_and_costs_no_call(serve, engine_for, plain_model):
    server = serve(plain_model)
    response, _raw = engine_for(server)("s", {"only": QUESTIONS["only"]})
    assert response["answers"]["only"]["probabilities"] == {"x": 1.0} and server.requests == []


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_the_address_may_end_in_v1(serve, engine_for, plain_model, suffix):
    server = serve(plain_model)
    engine_for(server, base_url=server.url + suffix)("s", SO)
    assert {path for path, _headers, _body in server.requests} == {"/v1/completions"}


# Servers that cannot do it.


def without_echo(handler, body):
    return 200, {}, handler.server.complete({**body, "echo": False})


def joined(handler, body):
    """A server whose tokenizer makes one token of the prompt's end and the key."""
    answer = handler.server.complete(body)
    first, *options = sorted(answer["choices"], key=lambda choice: choice["index"])
    end = len(first["logprobs"]["tokens"])
    for choice in options:
        tokens = choice["logprobs"]["tokens"]
        tokens[end - 1 : end + 1] = ["".join(tokens[end - 1 : end + 1])]
        choice["logprobs"]["token_logprobs"].pop()
    return 200, {}, answer


@pytest.mark.parametrize(
    "fault, said",
    [
        (without_echo, r"gave 0 log-probabilities for \d+ tokens; the server must support `echo`"),
        (replying(200, {"choices": []}), "answered 0 of 2 prompts"),
        (replying(200, {"object": "chat"}), "answered without log-probabilities; the server must support"),
        (replying(200, {"choices": [{"index": n, "logprobs": None} for n in (0, 1)]}), "answered without log-probabilities"),
        (replying(400, {"error": {"message": "Only no echo is supported"}}), "answered 400: Only no echo is supported"),
    ],
    ids=["no-echo", "none", "no-completion", "no-log-probabilities", "refuses-echo"],
)
def test_a_server_that_cannot_score_prompts_is_told_so(serve, engine_for, plain_model, fault, said):
    server = serve(plain_model, fault)
    with pytest.raises(RequestFailed, match=said):
        engine_for(server, tokenizer=str(plain_model))("s", SO)


def test_of_texts_a_server_that_does_not_echo_is_refused(serve, engine_for, plain_model):
    with pytest.raises(RequestFailed, match="no log-probability for an option's tokens; the server must support `echo`"):
        engine_for(serve(plain_model, without_echo))("s", SO)


def test_of_texts_a_server_that_joins_prompt_and_key_is_refused_with_advice(serve, engine_for, plain_model):
    with pytest.raises(RequestFailed, match="joins the end of the prompt and the key ' false' in one token; .*tokenizer="):
        engine_for(serve(plain_model, joined))("s", SO)


def test_a_missing_value_in_the_middle_is_an_error(serve, engine_for, plain_model):
    def holed(handler, body):
        answer = handler.server.complete(body)
        answer["choices"][0]["logprobs"]["token_logprobs"][-1] = None
        return 200, {}, answer

    with pytest.raises(RequestFailed, match="no log-probability for an option's tokens"):
        engine_for(serve(plain_model, holed), tokenizer=str(plain_model))("s", SO)


@pytest.mark.parametrize("message", ["This model's maximum context length is 2048 tokens", "longer than the maximum model length"])
def test_a_request_beyond_the_servers_context_is_unsupported(serve, engine_for, plain_model, message):
    server = serve(plain_model, replying(400, {"error": {"message": message}}))
    with pytest.raises(Unsupported, match=message[:20]):
        engine_for(server)("s", SO)


# Busy, slow and dead servers.


def test_a_busy_server_is_asked_again_when_it_says(serve, engine_for, plain_model):
    server = serve(plain_model, replying(429, {"error": "slow down"}, Retry_After="7"), replying(503, {"error": "loading"}))
    engine = engine_for(server)
    response, _raw = engine("s", SO)
    wire.validate(SO, response)
    assert engine.pauses[0] == 7 and 0.5 <= engine.pauses[1] <= 1 and len(server.requests) == 3


def test_a_server_that_stays_busy_is_an_error_after_the_retries(serve, engine_for, plain_model):
    server = serve(plain_model, *[replying(429, {"error": "slow down"})] * 3)
    with pytest.raises(RequestFailed, match="answered 429: slow down"):
        engine_for(server, retries=2)("s", SO)
    assert len(server.requests) == 3


def test_a_silent_server_ends_in_a_timeout_message(serve, engine_for, plain_model):
    def silent(handler, body):
        time.sleep(0.5)

    with pytest.raises(RequestFailed, match=r"gave no answer within 0\.05 s; .*timeout=SECONDS"):
        engine_for(serve(plain_model, silent), timeout=0.05, retries=0)("s", SO)


def test_warm_up_with_a_dead_server_is_an_engine_error(engine_for):
    with pytest.raises(EngineError, match="cannot reach http://127.0.0.1:1: .*is the server up"):
        engine_for("http://127.0.0.1:1", retries=0).warm_up()


# Keys and options.


def test_the_key_comes_from_the_environment_and_is_shown_nowhere(serve, engine_for, plain_model, monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, KEY)
    server = serve(plain_model, replying(401, {"error": {"message": f"Incorrect API key provided: {KEY}"}}))
    engine = engine_for(server, extra={"api_key": KEY})
    with pytest.raises(RequestFailed, match=f"answered 401: .*; check {TOKEN_VARIABLE}$") as refused:
        engine("s", SO)
    assert server.requests[0][1]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in f"{refused.value} {engine.identity()} {engine.info()} {engine!r}"


def test_a_run_writes_no_key_to_any_file(serve, plain_model, make_suite, tmp_path, monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, KEY)
    server = serve(plain_model)
    options = {"base_url": server.url, "extra": f'{{"api_key": "{KEY}"}}', "concurrency": "2"}
    ended = run(make_suite(), RunDir(tmp_path / "run"), RunSettings("openai", "tiny", options, limit=8))
    assert ended.counts == {"ok": 8} and len(read_final_results(tmp_path / "run" / "results.jsonl")) == 8
    assert not [path for path in (tmp_path / "run").iterdir() if KEY in path.read_text()]


def test_identity_holds_what_changes_answers_and_not_the_address(serve, engine_for, plain_model):
    one = engine_for("http://127.0.0.1:1", tokenizer=str(plain_model), timeout=1.0)
    other = engine_for("http://127.0.0.1:2/v1", tokenizer=str(plain_model), concurrency=9, prompts_per_call=1)
    assert one.identity() == other.identity() != engine_for("http://127.0.0.1:1").identity()
    assert str(plain_model.parent) not in f"{one.identity()} {one.info()}"


@pytest.mark.parametrize(
    "options, said",
    [
        ({"extra": {"echo": False}}, "extra cannot set echo"),
        ({"max_tokens": 2}, "max_tokens is 0 or 1"),
        ({"prompts_per_call": 0}, "prompts_per_call at least 1"),
        ({"chat_template": True}, "chat_template needs --option tokenizer="),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"temperature": 0.0}, "a temperature must be a number above 0"),
        ({"base_url": "localhost:8000"}, "base_url must look like"),
        ({"tokenizer": "./nothing-here"}, "cannot load tokenizer './nothing-here'"),
    ],
)
def test_options_out_of_range_are_one_clear_line(options, said):
    with pytest.raises(EngineError, match=said) as refused:
        OpenAiEngine(**{"base_url": "http://127.0.0.1:1", "model": "tiny", **options})
    assert "\n" not in str(refused.value)


def test_command_line_options_become_their_types():
    options = {"base_url": "http://127.0.0.1:1", "max_tokens": "1", "end_token": "false", "temperature_noul": "2"}
    engine = load_engine("openai", "tiny", options)
    engine.close()
    assert engine.identity()["end_token"] is False and engine.identity()["temperature"]["noul"] == 2.0
