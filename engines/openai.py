"""Score options through a completion server that echoes prompts with log-probabilities (`/v1/completions`).

Every option costs one prompt: the rendering's prompt with the option behind it. With the model's tokenizer prompts are the
token ids that the `transformers` engine computes; without one they are texts, and the server's own tokens count.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from engines import rendering, wire
from engines.base import EngineError
from engines.http import RequestFailed, ServerEngine
from engines.model_source import first_line
from engines.redact import redact
from engines.rendering import Rendering
from engines.temperatures import Temperatures

TOKEN_VARIABLE = "OPENAI_API_KEY"
OWN_FIELDS = {"model", "prompt", "max_tokens", "echo", "logprobs", "temperature", "n", "stream"}
LINE_END = "\n"
ADVICE = "the server must support `echo` with `logprobs` for prompts, as vLLM does"


@dataclass(frozen=True, slots=True)
class _Scored:
    """What the server says of one prompt: its tokens as texts, and their log-probabilities, the first of which is None."""

    tokens: list[str]
    log_probabilities: list[float | None]


class OpenAiEngine(ServerEngine):
    """Softmax over the options' summed log-probabilities, as in the `transformers` engine.

    Args:
        base_url: with or without `/v1` at its end.
        model: as the server calls it.
        tokenizer: directory or Hub repository of the model's tokenizer; needs the `transformers` extra. Without it prompts
            go as texts, without chat template, and a server whose tokens join the prompt's end with a key is refused.
        chat_template: whether to use the tokenizer's chat template; by default where it has one.
        end_token: whether an end token is scored behind the keys (rendering.py); of texts, a line end.
        max_tokens: tokens to generate; 1 for servers that do not take 0.
        prompts_per_call: how many options go into one HTTP request.
        extra: further fields of every request body.
        temperature, temperature_choice, temperature_noul, temperature_score: see temperatures.py.
        concurrency, timeout, retries: as in `ServerEngine`.
    """

    name = "openai"
    token_variable = TOKEN_VARIABLE

    def __init__(
        self,
        base_url: str,
        model: str,
        tokenizer: str | None = None,
        chat_template: bool | None = None,
        end_token: bool = True,
        max_tokens: int = 0,
        prompts_per_call: int = 16,
        extra: dict | None = None,
        temperature: float = 1.0,
        temperature_choice: float | None = None,
        temperature_noul: float | None = None,
        temperature_score: float | None = None,
        concurrency: int = 4,
        timeout: float = 120.0,
        retries: int = 4,
    ):
        if extra and extra.keys() & OWN_FIELDS:
            raise EngineError(f"engine 'openai': extra cannot set {', '.join(sorted(extra.keys() & OWN_FIELDS))}")
        if max_tokens not in (0, 1) or prompts_per_call < 1:
            raise EngineError("engine 'openai': max_tokens is 0 or 1, prompts_per_call at least 1")
        if chat_template and not tokenizer:
            raise EngineError("engine 'openai': chat_template needs --option tokenizer=")
        super().__init__(base_url, concurrency, timeout, retries)
        self._temperatures = Temperatures(temperature, temperature_choice, temperature_noul, temperature_score)
        self._path = "/completions" if self.address.endswith("/v1") else "/v1/completions"
        self._model = model
        self._tokenizer = Path(tokenizer).name if tokenizer and Path(tokenizer).exists() else tokenizer
        self._rendering = Rendering(load_tokenizer(tokenizer), chat_template, end_token) if tokenizer else None
        self._end_token = end_token
        self._max_tokens = max_tokens
        self._prompts_per_call = prompts_per_call
        self._extra = extra or {}

    def __call__(self, state: Any, questions: Mapping[str, Mapping]) -> tuple[dict, Any]:
        """Answer one request.

        Raises:
            Unsupported: the server names a capacity limit.
            RequestFailed: anything else that is not a score for every option.
        """
        score = self._score_ids if self._rendering else self._score_texts
        scores, used = {}, 0
        for name, question in questions.items():
            if len(wire.option_keys(question)) > 1:
                scores[name], tokens = score(state, question)
                used += tokens
        answers = {name: self._temperatures.answer(question, scores.get(name)) for name, question in questions.items()}
        return {"model": self._model, "answers": answers, "usage": {"input_tokens": used}}, None

    def _score_ids(self, state: Any, question: Mapping) -> tuple[list[float], int]:
        """Log-probability of every option, and the length of the prompt in tokens."""
        asked = self._rendering.tokenize(state, question)
        length, scores = len(asked.prompt), []
        for option, scored in zip(asked.options, self._complete([asked.prompt + option for option in asked.options]), strict=True):
            whole = length + len(option)
            if len(scored.log_probabilities) - self._max_tokens != whole:
                found = len(scored.log_probabilities)
                raise RequestFailed(f"{self.address} gave {found} log-probabilities for {whole} tokens; {ADVICE}")
            scores.append(self._sum(scored.log_probabilities[length:whole]))
        return scores, length

    def _score_texts(self, state: Any, question: Mapping) -> tuple[list[float], int]:
        """As `_score_ids`; the prompt alone is asked first, so that the server's tokens say where it ends."""
        prompt, end = rendering.plain_text(state, question), LINE_END if self._end_token else ""
        keys = [rendering.PLAIN_KEY.format(key) for key in wire.option_keys(question)]
        first, *scored = self._complete([prompt, *(f"{prompt}{key}{end}" for key in keys)])
        shared = self._own(first.tokens)
        scores = []
        for key, option in zip(keys, scored, strict=True):
            if option.tokens[: len(shared)] != shared:
                raise RequestFailed(
                    f"{self.address} joins the end of the prompt and the key {key!r} in one token; give --option tokenizer="
                )
            scores.append(self._sum(self._own(option.log_probabilities)[len(shared) :]))
        return scores, len(shared)

    def _own(self, values: list) -> list:
        """Without what stands for generated tokens."""
        return values[: len(values) - self._max_tokens]

    def _sum(self, log_probabilities: Sequence[float | None]) -> float:
        if not log_probabilities or not all(isinstance(value, int | float) for value in log_probabilities):
            raise RequestFailed(f"{self.address} gave no log-probability for an option's tokens; {ADVICE}")
        return sum(log_probabilities)

    def _complete(self, prompts: Sequence[list[int] | str]) -> Iterator[_Scored]:
        """What the server says of each prompt, in order."""
        remaining = iter(prompts)
        while chunk := list(islice(remaining, self._prompts_per_call)):
            request = {
                "model": self._model,
                "prompt": chunk,
                "max_tokens": self._max_tokens,
                "echo": True,
                "logprobs": 1,
                "temperature": 0,
                **self._extra,
            }
            body, _wall_ms = self._post(self._path, request)
            yield from self._scored(body, len(chunk))

    def _scored(self, body: dict[str, Any], count: int) -> list[_Scored]:
        try:
            choices = sorted(body["choices"], key=lambda choice: choice["index"])
            if [choice["index"] for choice in choices] != list(range(count)):
                raise RequestFailed(f"{self.address} answered {len(choices)} of {count} prompts")
            blocks = [choice["logprobs"] for choice in choices]
            return [_Scored(list(block["tokens"]), list(block["token_logprobs"])) for block in blocks]
        except (KeyError, TypeError):
            raise RequestFailed(f"{self.address} answered without log-probabilities; {ADVICE}") from None

    def identity(self) -> dict[str, Any]:
        """The server's address is left out: a server may move without its answers changing."""
        return {
            "model": self._model,
            "tokens": "tokenizer" if self._rendering else "server",
            "chat_template": bool(self._rendering and self._rendering.chat),
            "end_token": self._end_token,
            "temperature": self._temperatures.by_type,
            "extra": redact(self._extra),
            "rendering_sha256": rendering.sha256(self._end_token),
        }

    def info(self) -> dict[str, Any]:
        own = {"tokenizer": self._tokenizer, "max_tokens": self._max_tokens, "prompts_per_call": self._prompts_per_call}
        return {**super().info(), **self.identity(), **own, "policy": "no truncation"}


def load_tokenizer(name: str) -> Any:
    """A `transformers` tokenizer.

    Raises:
        EngineError: there is none of that name.
        ImportError: the `transformers` extra is missing.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise EngineError(f"cannot load tokenizer {name!r}: {first_line(error)}") from error
