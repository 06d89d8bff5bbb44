"""The `transformers` engine on tiny random models, its scores held to bench/naive.py: one plain pass per option."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from recipe_sources import real_files
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GPT2Config,
    LlamaConfig,
    MambaConfig,
    MistralConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
)

from engines import rendering, wire
from engines.base import DeviceError, EngineError, Unsupported, load_engine
from engines.causal_lm import CausalLmEngine, fingerprint
from engines.option_scoring import OptionScorer
from engines.rendering import Rendering, TokenizedQuestion
from suite_builder.recipes import arc_challenge, banking77, bbh, home_appliance, musr, simplebench, winogrande

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "bench"))
import naive  # noqa: E402

TOLERANCE = 1e-4
CONTEXT = 8192
# A wide initialisation: with the usual one every token is about as likely as any other, and no mistake would show.
SHAPE = {
    "hidden_size": 48,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
    "max_position_embeddings": CONTEXT,
}
CONFIGS = {"llama": LlamaConfig, "qwen2": Qwen2Config}
CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)

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


def train_tokenizer(chat_template: str | None) -> PreTrainedTokenizerFast:
    """Byte-level BPE that splits digits, trained on the rendering itself."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    texts = [rendering.plain_text(state, question) for state, question in HAND_MADE]
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|end|>", extra_special_tokens=["<|start|>"])
    fast.chat_template = chat_template
    return fast


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
        tokenizer = train_tokenizer(template)
        for name, config in CONFIGS.items():
            torch.manual_seed(0)
            directory = tmp_path_factory.mktemp("models") / f"{name}-{kind}"
            AutoModelForCausalLM.from_config(config(vocab_size=len(tokenizer), **SHAPE)).save_pretrained(directory)
            tokenizer.save_pretrained(directory)
            directories[directory.name] = directory
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


# Recipe -> how many of its shortest requests are asked: 100 in all, with 2 to 77 options and 1 to 18 questions.
REAL = {bbh: 40, winogrande: 25, arc_challenge: 20, simplebench: 9, musr: 2, home_appliance: 2, banking77: 2}


def real_questions(shared: Path) -> list[tuple[object, dict]]:
    """(state, question) of 100 real requests of seven benchmarks."""
    questions = []
    for recipe, requests in REAL.items():
        produced = recipe.rows(real_files(shared, recipe.CATALOG_ID))
        rows = [row[1] if isinstance(row, tuple) else row for row in produced]
        rows.sort(key=lambda row: len(wire.compact_json([row["state"], row["questions"]])))
        questions += [(row["state"], question) for row in rows[:requests] for question in row["questions"].values()]
    return questions


@pytest.mark.parametrize(
    ("name", "chunk"),
    [("llama-chat", 512), ("llama-plain", 512), ("qwen2-chat", 512), ("qwen2-plain", 512), ("qwen2-chat", 4)],
)
def test_hand_made_questions_score_as_one_pass_for_every_option(model_directories, name, chunk):
    engine = CausalLmEngine(str(model_directories[name]), device="cpu", option_chunk_tokens=chunk)
    assert largest_difference(engine, model_directories[name], HAND_MADE) < TOLERANCE


@pytest.mark.parametrize("name", ["llama-chat", "qwen2-plain"])
def test_100_real_requests_score_as_one_pass_for_every_option(shared, model_directories, name):
    engine = CausalLmEngine(str(model_directories[name]), device="cpu")
    assert largest_difference(engine, model_directories[name], real_questions(shared)) < TOLERANCE


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
        GPT2Config(vocab_size=300, n_embd=48, n_layer=2, n_head=4, initializer_range=0.3),
    ],
    ids=["sliding window", "sliding and full layers", "learned positions"],
)
def test_other_attention_scores_as_one_pass_for_every_option(config):
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    scorer = OptionScorer(model, chunk_tokens=16)
    for tokens in random_sequences():
        expected = naive.log_probabilities(model, tokens)
        assert scorer(tokens.prompt, tokens.options) == pytest.approx(expected, abs=TOLERANCE)


def test_a_model_that_the_tree_mask_does_not_fit_is_refused():
    config = MambaConfig(vocab_size=300, hidden_size=48, num_hidden_layers=1)
    with pytest.raises(EngineError, match="mamba models cannot score options behind a shared prompt"):
        OptionScorer(AutoModelForCausalLM.from_config(config), chunk_tokens=16)


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
    assert computed == [len(tokens.prompt), len(beginnings)]
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
    monkeypatch.setattr(OptionScorer, "__call__", lambda *_arguments: pytest.fail("computed"))
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

    monkeypatch.setattr(OptionScorer, "__call__", fail)
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
    ],
)
def test_whatever_can_change_an_answer_changes_the_identity(model_directories, llama, model, options):
    engine = load_engine("transformers", str(model_directories[model]), {"device": "cpu", **options})
    assert engine.identity() != llama.identity()


def test_what_changes_no_answer_keeps_the_identity(model_directories, llama):
    options = {"device": "cpu", "option_chunk_tokens": "8"}
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
    monkeypatch.delitem(sys.modules, "engines.option_scoring", raising=False)
    with pytest.raises(EngineError, match=rf"needs the package '{package}'.*pip install 'di-tui\[transformers\]'"):
        load_engine("transformers", "any/model")


def test_the_module_imports_without_torch_and_transformers():
    code = "import sys, engines.causal_lm; sys.exit(bool({'torch', 'transformers'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_the_questions_of_a_request_share_the_beginning_of_their_prompts(model_directories, monkeypatch):
    engine = load_engine("transformers", str(model_directories["llama-chat"]), {"device": "cpu"})
    questions = {word: {**LETTERS[1], "instructions": f"Is it {word}?"} for word in ("warm", "cold", "sweet")}
    alone = {name: engine("s", {name: question})[0]["answers"][name] for name, question in questions.items()}
    forward, computed = engine._scorer._forward, []

    def counting(tokens, **arguments):
        if "logits_to_keep" in arguments:
            computed.append(len(tokens))
        return forward(tokens, **arguments)

    monkeypatch.setattr(engine._scorer, "_forward", counting)
    together = engine("s", questions)[0]["answers"]
    for name, expected in alone.items():
        assert together[name]["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-5)
    assert len(computed) == 3 and max(computed[1:]) < computed[0] / 2
    assert engine("s", questions)[0]["answers"] == together


def test_a_pass_that_failed_halfway_leaves_no_trace(model_directories, monkeypatch):
    engine = load_engine("transformers", str(model_directories["llama-chat"]), {"device": "cpu"})
    expected = engine.log_probabilities("s", LETTERS[1])
    with monkeypatch.context() as patch:
        patch.setattr(engine._scorer, "_pick", lambda *_arguments: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            engine._scorer(*shown(engine, "s", LETTERS[1]))
    assert engine._scorer(*shown(engine, "s", LETTERS[1])) == pytest.approx(expected, abs=1e-5)


def shown(engine, state, question):
    """Prompt and option tokens of a question."""
    tokens = engine._rendering.tokenize(state, question)
    return tokens.prompt, tokens.options
