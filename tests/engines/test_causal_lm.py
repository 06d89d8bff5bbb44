"""The `transformers` engine on tiny random models, its scores held to bench/naive.py: one plain pass per option."""

import subprocess
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from recipe_sources import real_files
from tiny_models import ARCHITECTURES, CHAT_TEMPLATE, CONTEXT, SHAPE, save_model, train_tokenizer
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    Gemma2Config,
    GPT2Config,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    Qwen2Config,
)

from engines import packed_attention, packed_scoring, rendering, wire
from engines.base import Answered, DeviceError, EngineError, Unsupported, load_engine
from engines.causal_lm import CausalLmEngine
from engines.model_source import fingerprint
from engines.packed_scoring import PackedScorer
from engines.rendering import Rendering, TokenizedQuestion
from suite_builder.recipes import arc_challenge, banking77, bbh, contractnli, home_appliance, musr, simplebench, winogrande

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "bench"))
import equality  # noqa: E402
import naive  # noqa: E402

TOLERANCE = 1e-4
PREFIX_KEYS = {f"option_{number}": f"intent {number}" for number in range(77)}


def choice(instructions: object, criteria: dict) -> dict:
    return {"type": "choice", "instructions": instructions, "criteria": criteria}


BANKING = ("", choice("Where is my card?", PREFIX_KEYS))
LETTERS = ("One letter each.", choice("Which?", {"A": "first", "B": "second", "C": None}))
HAND_MADE: list[tuple[object, dict]] = [
    BANKING,
    LETTERS,
    ("One begins another.", choice("How many?", dict.fromkeys(["1", "2", "10", "100"]))),
    (None, choice(None, {"option_7": None, "option_76": None})),
    ({"text": "Привет, мир"}, choice("Язык?", {"да": "yes", "нет": None, "да, но": "?"})),
    ("你好", choice("意思", {"是": "yes", "不是": "no", "不": None})),
    (["باب", "جبل"], choice({"سؤال": 1}, {"بيت": "house", "🙂": "smile", "é": None})),
    ({"nested": {"list": [1, 2.5, None, True]}}, choice(["a", "b"], {"anchor": "basil", "candle": None})),
    ("An object as description.", choice("", {"x": {"uci": "g3h4"}, "xy": ["h4"], "xyz": 0})),
    ("Keys that share much.", choice("Which?", {f"tool.{n % 3}.argument_{n}": None for n in range(20)})),
    ("No key at all.", choice("?", {"": "nothing", "a": "something"})),
    ("<|end|>", choice("A key that is a special token?", {"<|end|>": "x", "<|": "y"})),
    ("A yes or no.", {"type": "noul", "instructions": "Is it so?"}),
    ({}, {"type": "noul", "instructions": None, "criteria": {"true": "supported"}}),
    ([], {"type": "noul", "criteria": {"true": "unsupported", "false": "supported"}}),
    ("Stars.", {"type": "score", "instructions": "How many stars?", "criteria": ["none", "one", "two", "three"]}),
    ("Levels.", {"type": "score", "criteria": [None, {"level": 1}]}),
]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Models this small lose more by waiting for a second thread than it computes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def model_directories(tmp_path_factory) -> dict[str, Path]:
    """`llama-chat`, `llama-plain`, `qwen2-chat`, `qwen2-plain`: saved models of random weights."""
    directories = {}
    for kind, template in (("chat", CHAT_TEMPLATE), ("plain", None)):
        tokenizer = train_tokenizer([rendering.plain_text(*asked) for asked in HAND_MADE], template)
        for name in ARCHITECTURES:
            folder = tmp_path_factory.mktemp("models") / f"{name}-{kind}"
            directories[folder.name] = save_model(folder, name, tokenizer)
    return directories


@pytest.fixture(scope="module")
def llama(model_directories) -> CausalLmEngine:
    return load_engine("transformers", str(model_directories["llama-chat"]), {"device": "cpu"})


def largest_difference(engine: CausalLmEngine, directory: Path, asked: list[tuple[object, dict]]) -> float:
    """Between the engine's log-probabilities and the naive ones."""
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
    own_rendering = Rendering(AutoTokenizer.from_pretrained(directory))
    worst = 0.0
    for state, question in asked:
        expected = naive.log_probabilities(model, own_rendering.tokenize(state, question))
        scores = engine.log_probabilities(state, question)
        worst = max(worst, *(abs(a - b) for a, b in zip(expected, scores, strict=True)))
    return worst


REAL = (bbh, winogrande, arc_challenge, simplebench, musr, home_appliance, contractnli, banking77)
REAL_REQUESTS, NAIVE_TOKENS = 60, 20_000


def real_requests(shared: Path) -> list[SimpleNamespace]:
    """The shortest requests of real benchmarks, in turn."""
    requests = []
    for recipe in REAL:
        produced = recipe.rows(real_files(shared, recipe.CATALOG_ID))
        rows = [row[1] if isinstance(row, tuple) else row for row in produced]
        rows.sort(key=lambda row: len(wire.compact_json([row["state"], row["questions"]])))
        requests += [
            SimpleNamespace(catalog_id=recipe.CATALOG_ID, state=row["state"], questions=row["questions"])
            for row in rows[:REAL_REQUESTS]
        ]
    return equality.in_turn(requests)


@pytest.mark.parametrize(
    ("name", "chunk"),
    [("llama-chat", 512), ("llama-plain", 512), ("qwen2-chat", 512), ("qwen2-plain", 512), ("qwen2-chat", 4)],
)
def test_hand_made_questions_score_as_one_pass_for_every_option(model_directories, name, chunk):
    engine = CausalLmEngine(str(model_directories[name]), device="cpu", batch_tokens=chunk)
    assert largest_difference(engine, model_directories[name], HAND_MADE) < TOLERANCE


@pytest.mark.parametrize("name", ["llama-chat", "qwen2-plain"])
def test_60_real_requests_score_as_one_pass_for_every_option_in_any_batch_and_order(shared, model_directories, name):
    directory = model_directories[name]
    rendering_of_model = Rendering(AutoTokenizer.from_pretrained(directory))
    chosen = list(islice(equality.small_enough(real_requests(shared), rendering_of_model, NAIVE_TOKENS), REAL_REQUESTS))
    assert len(chosen) == REAL_REQUESTS
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=torch.float32).eval()
    expected = [{key: naive.log_probabilities(model, tokens) for key, tokens in questions.items()} for _, questions in chosen]
    for way in ({"reverse": False}, {"reverse": True, "batch_tokens": 200}):
        for plain, scores in zip(expected, equality.engine_scores(directory, chosen, **way), strict=True):
            assert plain.keys() == scores.keys()
            for key, values in plain.items():
                assert scores[key] == pytest.approx(values, abs=TOLERANCE)


def random_sequences() -> Iterator[TokenizedQuestion]:
    """Prompts shorter and longer than the window, and options that share beginnings, extend and repeat each other."""
    generator = torch.Generator().manual_seed(0)

    def draw(length: int, below: int) -> list[int]:
        return torch.randint(below, (length,), generator=generator).tolist()

    for prompt_length in (3, 15, 40):
        options = [draw(1 + number % 7, 4) for number in range(20)] + [[1], [1, 2], [1, 2, 3], [1, 2, 3]]
        yield TokenizedQuestion(draw(prompt_length, 300), options)


@pytest.mark.parametrize(
    "config",
    [
        MistralConfig(vocab_size=300, sliding_window=16, **SHAPE),
        Qwen2Config(vocab_size=300, use_sliding_window=True, sliding_window=16, max_window_layers=1, **SHAPE),
        Gemma2Config(vocab_size=300, head_dim=12, sliding_window=16, attn_logit_softcapping=5.0, **SHAPE),
        GPT2Config(vocab_size=300, n_embd=48, n_layer=2, n_head=4, initializer_range=0.3),
        LlamaConfig(vocab_size=300, **SHAPE),
    ],
    ids=["sliding window", "sliding and full layers", "softcap", "learned positions", "key heads shared by queries"],
)
def test_other_attention_scores_as_one_pass_for_every_option(config, monkeypatch):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    asked = list(random_sequences())
    expected = [naive.log_probabilities(model, tokens) for tokens in asked]
    scorer = PackedScorer(model)
    scorer.keep(asked[0].prompt[:2])
    layout = scorer.new_layout()
    for tokens in asked:
        layout.add(tokens.prompt, tokens.options)
    monkeypatch.setattr(packed_scoring, "BLOCK_TOKENS", 8)
    monkeypatch.setattr(packed_attention, "LONG_STRETCH", 3)
    for blocks_at_once in (1, 4):  # as on a CPU, and as on a GPU
        scorer._at_once = blocks_at_once
        for scores, plain in zip(scorer(layout, pass_tokens=32), expected, strict=True):
            assert scores == pytest.approx(plain, abs=TOLERANCE)


def test_a_model_that_the_tree_mask_does_not_fit_is_refused():
    config = MambaConfig(vocab_size=300, hidden_size=48, num_hidden_layers=1)
    with pytest.raises(EngineError, match="mamba models cannot score options behind a shared prompt"):
        PackedScorer(AutoModelForCausalLM.from_config(config))


def test_the_prompt_is_computed_once_and_shared_beginnings_once(model_directories, llama, monkeypatch):
    state, question = BANKING
    tokens = Rendering(AutoTokenizer.from_pretrained(model_directories["llama-chat"])).tokenize(state, question)
    beginnings = {tuple(option[:length]) for option in tokens.options for length in range(1, len(option))}
    computed = []
    forward = llama._model.forward

    def count(**given):
        computed.append(given["input_ids"].shape[1])
        return forward(**given)

    monkeypatch.setattr(llama._model, "forward", count)
    response, _ = llama(state, {"q": question})
    assert computed == [len(tokens.prompt) - len(llama._rendering.beginning()) + len(beginnings)]
    assert response["usage"] == {"input_tokens": len(tokens.prompt)}


def test_answers_are_valid_and_name_the_most_probable_option(llama):
    for state, question in HAND_MADE:
        response, _ = llama(state, {"q": question})
        wire.validate({"q": question}, response)
        scores = llama.log_probabilities(state, question)
        if question["type"] == "choice":
            assert response["answers"]["q"]["choice"] == list(question["criteria"])[scores.index(max(scores))]


def test_the_id_of_a_question_does_not_change_its_answer(llama):
    question = LETTERS[1]
    first, other = (llama("x", {name: question})[0]["answers"] for name in ("first", "gold_is_A"))
    assert first["first"] == other["gold_is_A"]


def test_the_one_option_of_a_question_is_certain_without_a_prompt(llama):
    response, _ = llama("x", {"q": {"type": "choice", "criteria": {"only": "this"}}})
    assert response["answers"]["q"] == {"type": "choice", "choice": "only", "probabilities": {"only": 1.0}}
    assert response["usage"] == {"input_tokens": 0}


def always_continue_7_with_6(engine: CausalLmEngine, directory: Path) -> None:
    """Set the weights so that `6` follows `7` and the end token follows all else."""
    seven, six, end = AutoTokenizer.from_pretrained(directory).convert_tokens_to_ids(["7", "6", "<|end|>"])
    with torch.no_grad():
        for name, weights in engine._model.named_parameters():
            if "norm" not in name:
                weights.zero_()
        embeddings, head = engine._model.get_input_embeddings().weight, engine._model.get_output_embeddings().weight
        embeddings[:, 0] = 1
        embeddings[seven] = torch.eye(len(embeddings[seven]))[1]
        head[end, 0] = head[six, 1] = 1


def test_only_with_an_end_token_can_a_longer_key_beat_its_beginning(model_directories):
    directory = model_directories["llama-chat"]
    choices = {}
    for end_token in (True, False):
        engine = CausalLmEngine(str(directory), device="cpu", end_token=end_token)
        always_continue_7_with_6(engine, directory)
        question = {"type": "choice", "criteria": {"option_7": None, "option_76": None}}
        choices[end_token] = engine("x", {"q": question})[0]["answers"]["q"]["choice"]
    assert choices == {True: "option_76", False: "option_7"}


def test_prompt_and_longest_option_fit_the_context_to_the_token(model_directories):
    directory = model_directories["llama-chat"]
    state, question = BANKING
    tokens = Rendering(AutoTokenizer.from_pretrained(directory)).tokenize(state, question)
    needed = len(tokens.prompt) + max(map(len, tokens.options))
    assert CausalLmEngine(str(directory), device="cpu", max_length=needed)(state, {"q": question})
    tight = CausalLmEngine(str(directory), device="cpu", max_length=needed - 1)
    told = f"prompt of {len(tokens.prompt):,} tokens .* context limit of {needed - 1:,} tokens"
    with pytest.raises(Unsupported, match=told):
        tight(state, {"q": question})


def test_beyond_the_models_positions_a_request_is_unsupported_and_nothing_of_it_computed(llama, monkeypatch):
    monkeypatch.setattr(PackedScorer, "__call__", lambda *_arguments: pytest.fail("computed"))
    questions = {"short": LETTERS[1], "long": {**LETTERS[1], "instructions": "word " * CONTEXT}}
    with pytest.raises(Unsupported, match=f"context limit of {CONTEXT:,}"):
        llama("x", questions)


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB"), Unsupported),
        (RuntimeError("CUDA error: device-side assert triggered\nhint"), DeviceError),
        (RuntimeError("shape mismatch"), RuntimeError),
    ],
)
def test_failures_of_the_device_are_told_apart(llama, monkeypatch, failure, told):
    def fail(*_arguments):
        raise failure

    monkeypatch.setattr(PackedScorer, "__call__", fail)
    with pytest.raises(told) as caught:
        llama("x", {"q": LETTERS[1]})
    assert type(caught.value) is told
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "options"),
    [
        ("qwen2-chat", {}),
        ("llama-chat", {"dtype": "bfloat16"}),
        ("llama-chat", {"end_token": "false"}),
        ("llama-chat", {"chat_template": "false"}),
        ("llama-chat", {"max_length": "100"}),
        ("llama-chat", {"temperature_choice": "1.5"}),
    ],
)
def test_whatever_can_change_an_answer_changes_the_identity(model_directories, llama, model, options):
    engine = load_engine("transformers", str(model_directories[model]), {"device": "cpu", **options})
    assert engine.identity() != llama.identity()


def test_what_changes_no_answer_keeps_the_identity(model_directories, llama):
    options = {"device": "cpu", "batch_tokens": "8", "window": "3"}
    assert load_engine("transformers", str(model_directories["llama-chat"]), options).identity() == llama.identity()


def test_provenance_names_the_model_without_its_path(model_directories, llama):
    facts = wire.compact_json([llama.identity(), llama.info()])
    assert '"model":"llama-chat"' in facts
    assert str(model_directories["llama-chat"].parent) not in facts
    assert {"device", "dtype", "context_limit", "policy", "torch", "transformers", "cuda"} <= llama.info().keys()


def test_the_fingerprint_sees_other_weights_of_the_same_size(tmp_path):
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"a" * 100)
    first = fingerprint(tmp_path)
    weights.write_bytes(b"b" * 100)
    assert fingerprint(tmp_path) != first


def test_bfloat16_answers_stay_near_float32(model_directories, llama):
    engine = CausalLmEngine(str(model_directories["llama-chat"]), device="cpu", dtype="bfloat16")
    state, question = LETTERS
    assert engine.log_probabilities(state, question) == pytest.approx(llama.log_probabilities(state, question), abs=2)


def test_the_warm_up_runs_and_close_lets_the_model_go(model_directories):
    engine = CausalLmEngine(str(model_directories["llama-plain"]), device="cpu")
    engine.warm_up()
    engine.close()
    assert engine._model is None


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("./no/such/directory", {}, r"no model at \./no/such/directory; give a directory"),
        ("no-such.gguf", {}, "no model at no-such.gguf"),
        ("llama-chat", {"device": "nonsense"}, "device 'nonsense' cannot be used here"),
        ("llama-chat", {"dtype": "nonsense"}, "no dtype 'nonsense'; take bfloat16"),
        ("llama-chat", {"end_token": "maybe"}, "option end_token=maybe is not a valid bool"),
        ("llama-plain", {"chat_template": "true"}, "no chat template"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_line(model_directories, model, options, message):
    with pytest.raises(EngineError, match=message) as caught:
        load_engine("transformers", str(model_directories.get(model, model)), {"device": "cpu", **options})
    assert "\n" not in str(caught.value)


def test_a_directory_without_a_model_is_told(tmp_path):
    with pytest.raises(EngineError, match="holds no model .*config.json is missing"):
        load_engine("transformers", str(tmp_path))


def test_damaged_weights_are_told(tmp_path, model_directories):
    for file in model_directories["llama-chat"].iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes()[: 1000 if file.suffix == ".safetensors" else None])
    with pytest.raises(EngineError, match=f"cannot load model '{tmp_path.name}': "):
        load_engine("transformers", str(tmp_path), {"device": "cpu"})


def test_an_unreachable_hub_is_told(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(EngineError, match="'nobody/nothing': the Hub cannot be reached and .* not in the local cache"):
        load_engine("transformers", "nobody/nothing", {"device": "cpu"})


def test_a_gated_model_is_told(monkeypatch):
    from huggingface_hub.errors import GatedRepoError

    def refuse(*arguments, **options):
        raise OSError("You are trying to access a gated repo.") from GatedRepoError.__new__(GatedRepoError)

    monkeypatch.setattr("transformers.AutoConfig.from_pretrained", refuse)
    with pytest.raises(EngineError, match="it is gated; accept its terms on the Hub, then run `hf auth login`"):
        load_engine("transformers", "somebody/gated", {"device": "cpu"})


@pytest.mark.parametrize("package", ["torch", "transformers"])
def test_a_missing_package_is_told_with_the_command_that_installs_it(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "engines.packed_scoring", raising=False)
    with pytest.raises(EngineError, match=rf"needs the package '{package}'.*pip install 'di-tui\[transformers\]'"):
        load_engine("transformers", "any/model")


def test_the_module_imports_without_torch_and_transformers():
    code = "import sys, engines.causal_lm; sys.exit(bool({'torch', 'transformers'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_the_questions_of_a_request_share_the_beginning_of_their_prompts(llama, monkeypatch):
    state = "A long state. " * 40
    questions = {word: {**LETTERS[1], "instructions": f"Is it {word}?"} for word in ("warm", "cold", "sweet")}
    alone = {name: llama(state, {name: question})[0]["answers"][name] for name, question in questions.items()}
    forward, computed = llama._model.forward, []

    def counting(**given):
        computed.append(given["input_ids"].shape[1])
        return forward(**given)

    monkeypatch.setattr(llama._model, "forward", counting)
    together = llama(state, questions)[0]["answers"]
    for name, expected in alone.items():
        assert together[name]["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-5)
    llama(state, {"cold": questions["cold"]})
    assert len(computed) == 2 and computed[0] < 2 * computed[1]
    assert llama(state, questions)[0]["answers"] == together


def test_a_pass_that_failed_halfway_leaves_no_trace(model_directories, monkeypatch):
    engine = load_engine("transformers", str(model_directories["llama-chat"]), {"device": "cpu", "batch_tokens": "30"})
    expected = engine.log_probabilities(*LETTERS)
    forward, calls = engine._model.forward, []

    def fail_in_the_second_pass(**given):
        calls.append(given)
        return 1 / 0 if len(calls) == 2 else forward(**given)

    with monkeypatch.context() as patch:
        patch.setattr(engine._model, "forward", fail_in_the_second_pass)
        with pytest.raises(ZeroDivisionError):
            engine.log_probabilities(*LETTERS)
    assert engine.log_probabilities(*LETTERS) == expected


def probabilities(answer: dict) -> list[float]:
    return list(answer["probabilities"].values()) if "probabilities" in answer else [answer["noul"]]


def as_requests(asked: list[tuple[object, dict]]) -> list[tuple[object, dict]]:
    """Each (state, question) pair as a request, and all questions together as requests of one state each."""
    together = [(state, {f"q{number}": question for number, (_, question) in enumerate(asked)}) for state in ("", "Also this.")]
    return [*((state, {"q": question}) for state, question in asked), *together]


def test_an_answer_owes_nothing_to_window_batch_or_order(model_directories):
    requests = as_requests(HAND_MADE)
    answers = []
    for batch_tokens, order in ((8192, 1), (300, -1), (64, 1)):
        engine = CausalLmEngine(str(model_directories["qwen2-chat"]), device="cpu", batch_tokens=batch_tokens)
        groups = list(engine.answer_window(requests[::order]))
        assert (len(groups) > 1) == (batch_tokens < 8192)
        assert sorted(position for group in groups for position in group.positions) == list(range(len(requests)))
        outcomes = {position: outcome for group in groups for position, outcome in zip(group.positions, group.outcomes)}
        answers.append([outcomes[position] for position in range(len(requests))][::order])
    engine = CausalLmEngine(str(model_directories["qwen2-chat"]), device="cpu")
    for (state, questions), *outcomes in zip(requests, *answers, strict=True):
        alone, _ = engine(state, questions)
        for outcome in outcomes:
            assert outcome.response["usage"] == alone["usage"]
            for name, expected in alone["answers"].items():
                given = outcome.response["answers"][name]
                assert probabilities(given) == pytest.approx(probabilities(expected), abs=1e-5)


def test_a_request_that_cannot_be_answered_fails_alone(llama):
    good = {"q": LETTERS[1]}
    too_long = {"q": {**LETTERS[1], "instructions": "word " * CONTEXT}}
    requests = [("x", good), ("x", too_long), ("x", {"q": {"type": "odd"}}), ("y", good)]
    outcomes = {
        position: type(outcome)
        for group in llama.answer_window(requests)
        for position, outcome in zip(group.positions, group.outcomes, strict=True)
    }
    assert outcomes == {0: Answered, 1: Unsupported, 2: ValueError, 3: Answered}


def out_of_memory_above(monkeypatch, tokens: int) -> list[int]:
    """Let every pass of more tokens fail; gives the sizes of all passes."""
    forward, sizes = PackedScorer._forward, []

    def limited(scorer, layout, start, stop, *others, **named):
        sizes.append(stop - start)
        if stop - start > tokens:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20 GiB")
        return forward(scorer, layout, start, stop, *others, **named)

    monkeypatch.setattr(PackedScorer, "_forward", limited)
    return sizes


def test_out_of_memory_halves_the_batch_and_the_answers_stay(model_directories, llama, monkeypatch):
    requests = as_requests(HAND_MADE)
    engine = CausalLmEngine(str(model_directories["llama-chat"]), device="cpu", batch_tokens=4096)
    sizes = out_of_memory_above(monkeypatch, 400)
    outcomes = {}
    for group in engine.answer_window(requests):
        outcomes.update(zip(group.positions, group.outcomes, strict=True))
    assert max(sizes) > 400 and engine._batch_tokens < 4096
    monkeypatch.undo()
    for position, (state, questions) in enumerate(requests):
        for name, expected in llama(state, questions)[0]["answers"].items():
            given = outcomes[position].response["answers"][name]
            assert probabilities(given) == pytest.approx(probabilities(expected), abs=1e-5)


def test_a_request_that_no_pass_can_hold_is_unsupported_and_the_others_are_answered(model_directories, monkeypatch):
    engine = CausalLmEngine(str(model_directories["llama-chat"]), device="cpu")
    forward = PackedScorer._forward

    def refuse_long(scorer, layout, *others, **named):
        if layout.new_tokens > 900:
            raise RuntimeError("[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: not enough memory")
        return forward(scorer, layout, *others, **named)

    monkeypatch.setattr(PackedScorer, "_forward", refuse_long)
    long = {**LETTERS[1], "instructions": "word " * 1000}
    outcomes = {}
    for group in engine.answer_window([("a", {"q": LETTERS[1]}), ("b", {"q": long}), ("c", {"q": LETTERS[1]})]):
        outcomes.update(zip(group.positions, group.outcomes, strict=True))
    assert [type(outcomes[position]) for position in range(3)] == [Answered, Unsupported, Answered]
    assert str(outcomes[1]).startswith("out of device memory on cpu with a prompt of ")


def test_a_lost_device_ends_the_window(llama, monkeypatch):
    def fail(*_arguments, **_named):
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    monkeypatch.setattr(PackedScorer, "_forward", fail)
    with pytest.raises(DeviceError):
        list(llama.answer_window([("a", {"q": LETTERS[1]}), ("b", {"q": LETTERS[1]})]))


def test_a_temperature_is_applied_once_and_to_its_type_of_question(model_directories, llama):
    options = {"device": "cpu", "temperature": "2", "temperature_noul": "0.5"}
    engine = load_engine("transformers", str(model_directories["llama-chat"]), options)
    assert engine.identity()["temperature"] == {"choice": 2.0, "noul": 0.5, "score": 2.0}
    for state, question in HAND_MADE:
        divisor = 0.5 if question["type"] == "noul" else 2.0
        scores = torch.tensor(llama.log_probabilities(state, question), dtype=torch.float64)
        expected = wire.answer(question, (scores / divisor).softmax(0).tolist())
        answer = engine(state, {"q": question})[0]["answers"]["q"]
        for key in ("noul", "score", "probabilities"):
            assert answer.get(key) == pytest.approx(expected.get(key), abs=1e-5)


@pytest.mark.parametrize("value", ["0", "-1", "Infinity", "NaN"])
def test_a_temperature_that_is_none_is_refused(value):
    with pytest.raises(EngineError, match="a temperature must be a number above 0"):
        load_engine("transformers", "any/model", {"temperature_score": value})


def test_what_is_at_work_is_told_and_defaults_are_shown(model_directories):
    engine = CausalLmEngine(str(model_directories["llama-chat"]), device="cpu")
    assert engine.live() == {}
    list(engine.answer_window(as_requests(HAND_MADE)))
    live = engine.live()
    assert live["prompt_tokens_per_second"] > live["computed_tokens_per_second"] > 0
    assert live["batch_size"] > 1 and live["padding_share"] == 0
    info = engine.info()
    assert (info["batch_tokens"], info["window"]) == (1024, 256)
