"""The one fixed prompt rendering for causal language models: a question as text and, by a tokenizer, as token ids.

It is the same for every benchmark and model, and `sha256` names it. It knows tokenizers by their interface alone and no
models; the id of a question never gets here.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import pairwise
from typing import Any

from engines import wire
from engines.base import EngineError, Unsupported
from engines.packing import shared_length

SYSTEM = (
    "You settle questions by choosing. Read the input, then choose exactly one of the listed options. "
    "Answer with the key of that option and with nothing else."
)
INPUT = "Input:\n{}"
QUESTION = "Question:\n{}"
OPTIONS = "Options:\n{}"
OPTION = "- {}: {}"
CLOSING = "Answer with exactly one option key."
ANSWER_CUE = "Answer:"
EMPTY = "(empty)"
PLAIN_KEY = " {}"
# States that begin as differently as can be, to find what all prompts begin with.
PROBES = ("a", "A", "7", "\n", " b", "{}", "é", "你")
KEYS_REMEMBERED = 1 << 16
# Stands before a template that prints today's date, by which a resumed run would differ from itself.
FIXED_DATE = "{% macro strftime_now(format) %}2026-01-01{% endmacro +%}"
RULES = (
    "Blocks, separated by an empty line: input, question, options, closing line.",
    "Every value: text as it is, anything else as compact JSON with raw non-ASCII; the mark when null or empty.",
    "A noul without instructions has no question block.",
    "One line per option; its key again when the description is null; noul: false, true; score: levels by index.",
    "Chat template: system message, user message, generation prompt; keys tokenised as they are. A template without a "
    "system role gets the system text as first block of the user message. Thinking is off where the template can "
    "switch it; dates are fixed.",
    "No chat template: system text, the blocks, the answer cue; keys tokenised with a leading space.",
)
END_RULE = (
    "Every key is followed by one end token: with a chat template the first special token that it writes after an "
    "assistant message, else the tokenizer's end of sequence; without one the last token of a line end. Left out where "
    "every key of the question is one token and no key begins another."
)
NO_END_RULE = "No token follows a key."


def sha256(end_token: bool = True) -> str:
    """Lower-case hex sha256 over all constant texts and rules."""
    texts = [SYSTEM, INPUT, QUESTION, OPTIONS, OPTION, CLOSING, ANSWER_CUE, EMPTY, PLAIN_KEY, FIXED_DATE]
    rules = [*RULES, END_RULE if end_token else NO_END_RULE]
    return hashlib.sha256(wire.compact_json([texts, rules]).encode()).hexdigest()


def user_text(state: Any, question: Mapping) -> str:
    """The blocks of one question, as RULES says."""
    instructions = question.get("instructions")
    blocks = [INPUT.format(_text(state))]
    if question["type"] != "noul" or not _is_empty(instructions):
        blocks.append(QUESTION.format(_text(instructions)))
    blocks.append(OPTIONS.format("\n".join(map(_option_line, wire.options(question)))))
    return "\n\n".join([*blocks, CLOSING])


def plain_text(state: Any, question: Mapping) -> str:
    """The whole prompt for a model without chat template."""
    return "\n\n".join([SYSTEM, user_text(state, question), ANSWER_CUE])


def _option_line(option: wire.Option) -> str:
    return OPTION.format(option.key, option.key if option.description is None else _text(option.description))


def _text(value: Any) -> str:
    if _is_empty(value):
        return EMPTY
    return value if isinstance(value, str) else wire.compact_json(value)


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


@dataclass(frozen=True, slots=True)
class TokenizedQuestion:
    """Token ids of a prompt, and of what may follow it: every option's key with its end token, if it has one."""

    prompt: list[int]
    options: list[list[int]]


class Rendering:
    """The rendering as one tokenizer spells it.

    Args:
        tokenizer: a `transformers` tokenizer.
        chat_template: whether to use the tokenizer's chat template; None uses it where there is one.
        end_token: whether END_RULE holds.

    Raises:
        EngineError: a chat template is asked for and absent, or the tokenizer has no token that could end a key.
    """

    def __init__(self, tokenizer: Any, chat_template: bool | None = None, end_token: bool = True):
        if chat_template and not tokenizer.chat_template:
            raise EngineError("the tokenizer has no chat template; leave out chat_template=true")
        self._tokenizer = tokenizer
        self.chat = bool(tokenizer.chat_template) if chat_template is None else chat_template
        self._template = self._undated_template() if self.chat else None
        self._system_role = self.chat and self._takes_system_role()
        self._key_ids = lru_cache(KEYS_REMEMBERED)(self._encode)
        self._end = self._find_end_token() if end_token else []
        self.sha256 = sha256(end_token)

    def tokenize(self, state: Any, question: Mapping) -> TokenizedQuestion:
        """Token ids of one question.

        Raises:
            Unsupported: an option has no tokens.
            ValueError: the question is malformed.
        """
        return TokenizedQuestion(self._encode(self.prompt(state, question), not self.chat), self.options(question))

    def encode_prompts(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of prompts, tokenised side by side."""
        return self._encode(list(texts), not self.chat) if texts else []

    def beginning(self) -> list[int]:
        """The token ids that all prompts begin with, whatever is asked."""
        question = {"type": "noul", "instructions": CLOSING}
        prompts = self.encode_prompts([self.prompt(probe, question) for probe in PROBES])
        return reduce(lambda first, second: first[: shared_length(first, second)], prompts)

    def prompt(self, state: Any, question: Mapping) -> str:
        """The whole prompt as text.

        Raises:
            ValueError: the question is malformed.
        """
        if not self.chat:
            return plain_text(state, question)
        user = user_text(state, question)
        if self._system_role:
            messages = [_message("system", SYSTEM), _message("user", user)]
        else:
            messages = [_message("user", f"{SYSTEM}\n\n{user}")]
        return self._apply_template(messages, add_generation_prompt=True)

    def options(self, question: Mapping) -> list[list[int]]:
        """Token ids of every option, with its end token if it has one.

        Raises:
            Unsupported: an option has no tokens.
        """
        keys = [option.key for option in wire.options(question)]
        tokens = [self._key_ids(key if self.chat else PLAIN_KEY.format(key)) for key in keys]
        if any(len(ids) != 1 for ids in tokens) or has_prefix_pair(keys):
            tokens = [ids + self._end for ids in tokens]
        if [] in tokens:
            raise Unsupported(f"option {keys[tokens.index([])]!r} has no tokens in this model's vocabulary")
        return tokens

    def _encode(self, text: str | list[str], add_special_tokens: bool = False) -> list:
        return self._tokenizer(text, add_special_tokens=add_special_tokens, verbose=False)["input_ids"]

    def _apply_template(self, messages: list[dict[str, str]], add_generation_prompt: bool) -> str:
        return self._tokenizer.apply_chat_template(
            messages,
            chat_template=self._template,
            add_generation_prompt=add_generation_prompt,
            tokenize=False,
            enable_thinking=False,
        )

    def _undated_template(self) -> str:
        template = self._tokenizer.get_chat_template()
        return FIXED_DATE + template if "strftime_now" in template else template

    def _takes_system_role(self) -> bool:
        """Templates without the role refuse it or drop its text."""
        from jinja2 import TemplateError

        try:
            return SYSTEM in self._apply_template([_message("system", SYSTEM), _message("user", CLOSING)], True)
        except TemplateError:
            return False

    def _find_end_token(self) -> list[int]:
        end_of_sequence = self._tokenizer.eos_token_id
        if self.chat:
            text = self._apply_template([_message("user", CLOSING), _message("assistant", ANSWER_CUE)], False)
            written = self._encode(text.rpartition(ANSWER_CUE)[2])
            candidates = [token for token in written if token in self._tokenizer.added_tokens_decoder][:1]
        else:
            candidates = self._encode("\n")[-1:]
        if not candidates and end_of_sequence is None:
            raise EngineError("the tokenizer has no token that ends an answer; give --option end_token=false")
        return candidates or [end_of_sequence]


def has_prefix_pair(keys: Sequence[str]) -> bool:
    """Whether some key begins another. In sorted order a key's extensions follow it directly."""
    return any(longer.startswith(key) for key, longer in pairwise(sorted(keys)))


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}
