"""The rendering is fixed text: what it says is pinned here word for word, so no change of it goes unnoticed."""

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from engines import rendering
from engines.base import EngineError, Unsupported
from engines.rendering import Rendering

CHAT_TEMPLATE = (
    "{% for message in messages %}<|start|>{{ message.role }}\n{{ message.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n"
    "{% if enable_thinking is false %}<|no-think|>{% endif %}{% endif %}"
)
REFUSES_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}" + CHAT_TEMPLATE
DROPS_SYSTEM = "{% set messages = messages | rejectattr('role', 'equalto', 'system') | list %}" + CHAT_TEMPLATE
FRUIT = {"A": "apple", "B": None, "C": {"name": "вишня"}}
CHOICE = {"type": "choice", "instructions": "Which fruit?", "criteria": FRUIT}
NOUL = {"type": "noul", "instructions": "Is it ripe?"}

CHOICE_TEXT = """\
Input:
A basket.

Question:
Which fruit?

Options:
- A: apple
- B: B
- C: {"name":"вишня"}

Answer with exactly one option key."""

NOUL_TEXT = """\
Input:
(empty)

Options:
- false: false
- true: It is ripe.

Answer with exactly one option key."""

SCORE_TEXT = """\
Input:
["é",1]

Question:
{"rate":"ripeness"}

Options:
- 0: green
- 1: ripe

Answer with exactly one option key."""


def byte_tokenizer(chat_template: str | None = None, eos_token: str | None = "<|eos|>") -> PreTrainedTokenizerFast:
    """One token per byte, and the special tokens of the template."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={byte: index for index, byte in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=eos_token,
        extra_special_tokens=["<|start|>", "<|end|>", "<|no-think|>"],
    )
    fast.chat_template = chat_template
    return fast


def decoded(tokenizer, ids: list[int]) -> str:
    return tokenizer.decode(ids, clean_up_tokenization_spaces=False)


def spelled_options(tokenizer, question: dict, **settings) -> list[str]:
    """The texts of a question's options with their end tokens."""
    return [decoded(tokenizer, ids) for ids in Rendering(tokenizer, **settings).tokenize("", question).options]


def test_a_choice_shows_descriptions_and_the_key_where_there_is_none():
    assert rendering.user_text("A basket.", CHOICE) == CHOICE_TEXT


def test_a_noul_without_instructions_is_asked_with_its_criteria_alone():
    assert rendering.user_text("", {"type": "noul", "criteria": {"true": "It is ripe."}}) == NOUL_TEXT


def test_a_score_shows_levels_by_index_and_json_is_compact_and_raw():
    question = {"type": "score", "instructions": {"rate": "ripeness"}, "criteria": ["green", "ripe"]}
    assert rendering.user_text(["é", 1], question) == SCORE_TEXT


@pytest.mark.parametrize("empty", [None, "", {}, []])
def test_an_empty_state_and_empty_instructions_carry_a_mark(empty):
    text = rendering.user_text(empty, {**CHOICE, "instructions": empty})
    assert text.startswith("Input:\n(empty)\n\nQuestion:\n(empty)\n\n")


@pytest.mark.parametrize("state", [0, False])
def test_zero_and_false_are_no_empty_states(state):
    assert "(empty)" not in rendering.user_text(state, CHOICE)


def test_the_sha256_is_the_one_that_runs_have_recorded():
    assert rendering.sha256() == "b6d25fbc7e2aa4e227a6bf9adeb0bef3dbfbf0aa4fb333ce9bf0829af9b4814d"
    assert rendering.sha256(end_token=False) == "86768a2672800d91d7dc5dd69d3e9edc8909203b41c46289e40d5da31ab96338"


def test_a_chat_prompt_is_system_user_and_generation_prompt_with_thinking_off():
    tokenizer = byte_tokenizer(CHAT_TEMPLATE)
    tokens = Rendering(tokenizer).tokenize("A basket.", CHOICE)
    assert decoded(tokenizer, tokens.prompt) == (
        f"<|start|>system\n{rendering.SYSTEM}<|end|>\n"
        f"<|start|>user\n{CHOICE_TEXT}<|end|>\n<|start|>assistant\n<|no-think|>"
    )


@pytest.mark.parametrize("template", [REFUSES_SYSTEM, DROPS_SYSTEM])
def test_a_template_without_system_role_gets_the_system_text_in_the_user_message(template):
    tokenizer = byte_tokenizer(template)
    tokens = Rendering(tokenizer).tokenize("A basket.", CHOICE)
    assert decoded(tokenizer, tokens.prompt) == (
        f"<|start|>user\n{rendering.SYSTEM}\n\n{CHOICE_TEXT}<|end|>\n<|start|>assistant\n<|no-think|>"
    )


def test_a_template_that_prints_the_date_gives_the_same_prompt_every_day():
    tokenizer = byte_tokenizer("{{ strftime_now('%d %b %Y') }}" + CHAT_TEMPLATE)
    assert decoded(tokenizer, Rendering(tokenizer).tokenize("", NOUL).prompt).startswith("2026-01-01<|start|>system")


def test_a_plain_prompt_ends_in_an_answer_cue_and_its_keys_begin_with_a_space():
    tokenizer = byte_tokenizer()
    tokens = Rendering(tokenizer).tokenize("A basket.", CHOICE)
    assert decoded(tokenizer, tokens.prompt) == f"{rendering.SYSTEM}\n\n{CHOICE_TEXT}\n\nAnswer:"
    assert spelled_options(tokenizer, CHOICE) == [" A\n", " B\n", " C\n"]


def test_chat_keys_stand_as_they_are_before_the_token_that_ends_a_turn():
    question = {"type": "choice", "criteria": {"option_7": None, "option_76": None}}
    assert spelled_options(byte_tokenizer(CHAT_TEMPLATE), question) == ["option_7<|end|>", "option_76<|end|>"]


def test_a_template_that_ends_no_turn_leaves_it_to_the_end_of_sequence():
    tokenizer = byte_tokenizer("{% for message in messages %}[{{ message.role }}] {{ message.content }}\n{% endfor %}")
    assert spelled_options(tokenizer, NOUL) == ["false<|eos|>", "true<|eos|>"]


def test_keys_of_one_token_each_have_no_end_token_unless_one_begins_another():
    tokenizer = byte_tokenizer(CHAT_TEMPLATE)
    tokenizer.add_tokens(["10"])
    letters = {"type": "choice", "criteria": {"A": None, "B": None}}
    numbers = {"type": "choice", "criteria": {"1": None, "2": None, "10": None}}
    assert spelled_options(tokenizer, letters) == ["A", "B"]
    assert spelled_options(tokenizer, numbers) == ["1<|end|>", "2<|end|>", "10<|end|>"]


def test_end_token_false_leaves_it_out_everywhere():
    assert spelled_options(byte_tokenizer(CHAT_TEMPLATE), NOUL, end_token=False) == ["false", "true"]


def test_chat_template_false_reads_the_model_as_a_plain_one():
    tokenizer = byte_tokenizer(CHAT_TEMPLATE)
    tokens = Rendering(tokenizer, chat_template=False).tokenize("", NOUL)
    assert decoded(tokenizer, tokens.prompt).startswith(rendering.SYSTEM)


def test_an_asked_for_chat_template_that_is_absent_is_refused():
    with pytest.raises(EngineError, match="no chat template"):
        Rendering(byte_tokenizer(), chat_template=True)


def test_a_tokenizer_that_can_end_no_answer_is_refused():
    tokenizer = byte_tokenizer("{% for message in messages %}{{ message.content }}\n{% endfor %}", eos_token=None)
    with pytest.raises(EngineError, match="end_token=false"):
        Rendering(tokenizer)


def test_an_option_without_tokens_is_unsupported():
    question = {"type": "choice", "criteria": {"": "nothing", "A": None}}
    with pytest.raises(Unsupported, match="option '' has no tokens"):
        Rendering(byte_tokenizer(CHAT_TEMPLATE), end_token=False).tokenize("", question)
