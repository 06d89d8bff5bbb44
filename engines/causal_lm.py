"""A stock causal language model as an engine: options scored by their keys' log-probability after one fixed prompt.

Says what fits into the model, what becomes of a window of requests, and how failures are told. The prompt is rendering.py's,
the batches are batching.py's, the scores packed_scoring.py's. Imports without torch; constructing the engine needs the
`transformers` extra.
"""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from engines import large_buffers
from engines.base import Answered, DeviceError, Engine, EngineError, Group, Outcome, Unsupported, is_device_error
from engines.batching import Asked, ahead, batches, check_length, lay_out, tokenized
from engines.capacity import default_batch_tokens, default_window
from engines.model_source import (
    context_limit,
    find_device,
    fingerprint,
    first_line,
    from_pretrained_arguments,
    loading,
    local_path,
)
from engines.packing import Layout
from engines.rendering import Rendering, TokenizedQuestion
from engines.speed import Speedometer
from engines.temperatures import Temperatures

OUT_OF_MEMORY = ("out of memory", "DefaultCPUAllocator")
BATCHES_AHEAD = 2
SMALLEST_PASS = 64


class CausalLmEngine(Engine):
    """Softmax over the options' summed log-probabilities.

    Args:
        model: repository on the Hub, local directory, or path of a .gguf file.
        revision: branch, tag or commit of a repository.
        device: as torch names it; by default cuda where there is one, else cpu.
        dtype: as torch names it; by default bfloat16 on cuda, else float32.
        end_token: whether an end token is scored behind the keys (rendering.py says which and when).
        chat_template: whether to use the tokenizer's chat template; by default where it has one.
        max_length: context limit in tokens, in place of the tokenizer's own; never more than the model's positions.
        temperature: divides log-probabilities before the softmax; a fitted value of the model's author.
        temperature_choice, temperature_noul, temperature_score: the same for one type of question.
        batch_tokens: tokens of a batch and of a forward pass; by default what free memory allows. Changes no answer.
        window: how many requests batches are formed from. Changes no answer.
        compile: whether `torch.compile` prepares the model; slow to start, and answers may differ in their last digits.

    Raises:
        EngineError: no such model, device or dtype, a bad temperature, a model that does not load or cannot be packed.
        ImportError: a package of the `transformers` extra is missing.
    """

    def __init__(
        self,
        model: str,
        revision: str | None = None,
        device: str | None = None,
        dtype: str | None = None,
        end_token: bool = True,
        chat_template: bool | None = None,
        max_length: int | None = None,
        temperature: float = 1.0,
        temperature_choice: float | None = None,
        temperature_noul: float | None = None,
        temperature_score: float | None = None,
        batch_tokens: int | None = None,
        window: int | None = None,
        compile: bool = False,
    ):
        import torch
        import transformers

        from engines.packed_scoring import PackedScorer

        self._temperatures = Temperatures(temperature, temperature_choice, temperature_noul, temperature_score)
        self._device = find_device(device)
        kind = dtype or ("bfloat16" if self._device.type == "cuda" else "float32")
        self._dtype = getattr(torch, kind, None)
        if not isinstance(self._dtype, torch.dtype):
            raise EngineError(f"no dtype {kind!r}; take bfloat16, float16 or float32")
        path = local_path(model)
        self._name = path.resolve().name if path else model
        where = from_pretrained_arguments(model, path, revision)
        transformers.utils.logging.disable_progress_bar()
        with loading(self._name):
            config = transformers.AutoConfig.from_pretrained(**where)
            tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
            self._model = transformers.AutoModelForCausalLM.from_pretrained(
                **where, dtype=self._dtype, device_map=str(self._device)
            ).eval()
        if self._device.type == "cpu":
            large_buffers.keep()
        self._revision = fingerprint(path) if path else config._commit_hash
        self._rendering = Rendering(tokenizer, chat_template, end_token)
        self._end_token = end_token
        self._limit = context_limit(config, tokenizer, max_length)
        self._scorer = PackedScorer(self._model)
        self._scorer.keep(self._rendering.beginning())
        self._compiled = compile
        if compile:
            self._model.compile(dynamic=True)
        self._batch_tokens = batch_tokens or default_batch_tokens(config, self._device, self._dtype)
        self.window = window or default_window(self._batch_tokens)
        self._speed = Speedometer()

    def __call__(self, state: Any, questions: Mapping[str, Mapping]) -> tuple[dict, Any]:
        (one,) = tokenized([(state, questions)], self._rendering, self._limit)
        (group,) = self._answer([one], self._batch_tokens)
        (outcome,) = group.outcomes
        if isinstance(outcome, Exception):
            raise outcome
        return outcome.response, outcome.raw_output

    def answer_window(self, requests: Sequence[tuple[Any, Mapping[str, Mapping]]]) -> Iterator[Group]:
        """Groups are batches. Of one request alone, tokenising counts as part of its time."""
        if len(requests) == 1:
            yield from super().answer_window(requests)
            return
        asked = tokenized(requests, self._rendering, self._limit)
        prepared = batches(asked, self._scorer.new_layout, self._batch_tokens)
        with closing(ahead(prepared, BATCHES_AHEAD)) as coming:
            for batch in coming:
                yield from self._answer(batch, self._batch_tokens)

    def log_probabilities(self, state: Any, question: Mapping) -> list[float]:
        """Summed log-probability (natural) of every option's tokens, in the order of `wire.options`.

        Raises:
            Unsupported: the question does not fit the context or the device's memory.
            DeviceError: the device is lost.
        """
        tokens = self._rendering.tokenize(state, question)
        check_length(tokens, self._limit)
        layout = self._scorer.new_layout()
        layout.add(tokens.prompt, tokens.options)
        scores = self._scores(layout, self._batch_tokens)
        if scores is None:
            raise Unsupported(self._out_of_memory([tokens]))
        return scores[0]

    def _answer(self, batch: list[Asked], pass_tokens: int) -> Iterator[Group]:
        """Groups with an outcome for every request of a batch: one, or more where memory is short."""
        began = time.perf_counter()
        layout = self._scorer.new_layout()
        asked = lay_out(batch, layout)
        scores = self._scores(layout, pass_tokens)
        if scores is not None:
            by_question = dict(zip(asked, scores, strict=True))
            outcomes = [self._outcome_of(one, by_question) for one in batch]
            seconds = time.perf_counter() - began
            self._speed.add(outcomes, seconds, layout.new_tokens)
            yield Group([one.position for one in batch], outcomes, seconds * 1000)
        elif len(batch) > 1:
            self._batch_tokens = max(self._batch_tokens // 2, SMALLEST_PASS)
            middle = len(batch) // 2
            yield from self._answer(batch[:middle], pass_tokens)
            yield from self._answer(batch[middle:], pass_tokens)
        elif pass_tokens > SMALLEST_PASS:
            yield from self._answer(batch, pass_tokens // 2)
        else:
            yield Group([batch[0].position], [Unsupported(self._out_of_memory(batch[0].tokens.values()))])

    def _scores(self, layout: Layout, pass_tokens: int) -> list[list[float]] | None:
        """Log-probabilities of the options of every question laid out; None when the device's memory does not hold it.

        Raises:
            DeviceError: the device is lost.
        """
        import torch

        try:
            return self._scorer(layout, pass_tokens) if layout.sizes else []
        except RuntimeError as error:
            if not any(mark in str(error) for mark in OUT_OF_MEMORY):
                if is_device_error(error):
                    raise DeviceError(f"{self._device} failed: {first_line(error)}") from error
                raise
        # Outside the handler, where the error no longer holds the tensors of the failed pass.
        torch.cuda.empty_cache()
        return None

    def _out_of_memory(self, questions: Iterable[TokenizedQuestion]) -> str:
        longest = max(len(tokens.prompt) for tokens in questions)
        return f"out of device memory on {self._device} with a prompt of {longest:,} tokens"

    def _outcome_of(self, one: Asked, scores: Mapping[tuple[int, str], list[float]]) -> Outcome:
        if one.refusal:
            return one.refusal
        answers = {
            name: self._temperatures.answer(question, scores.get((one.position, name)))
            for name, question in one.questions.items()
        }
        used = sum(len(tokens.prompt) for tokens in one.tokens.values())
        return Answered({"model": self._name, "answers": answers, "usage": {"input_tokens": used}})

    def warm_up(self) -> None:
        super().warm_up()
        # Its keys are one token each in most vocabularies; these also lay out option tokens.
        self("The kettle is on.", {"q": {"type": "choice", "criteria": {"option_1": "on", "option_10": "off"}}})

    def identity(self) -> dict[str, Any]:
        return {
            "model": self._name,
            "revision": self._revision,
            "dtype": str(self._dtype).removeprefix("torch."),
            "end_token": self._end_token,
            "chat_template": self._rendering.chat,
            "context_limit": self._limit,
            "temperature": self._temperatures.by_type,
            "rendering_sha256": self._rendering.sha256,
        }

    def info(self) -> dict[str, Any]:
        import torch
        import transformers

        cuda = self._device.type == "cuda"
        return {
            "kind": "transformers",
            **self.identity(),
            "parameters": self._model.num_parameters(),
            "device": str(self._device),
            "gpu": torch.cuda.get_device_name(self._device) if cuda else None,
            "policy": "no truncation",
            "batch_tokens": self._batch_tokens,
            "window": self.window,
            "batches_ahead": BATCHES_AHEAD,
            "compiled": self._compiled,
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "cuda": torch.version.cuda if cuda else None,
        }

    def live(self) -> dict[str, float]:
        return self._speed.read()

    def close(self) -> None:
        import torch

        self._model = self._scorer = None
        torch.cuda.empty_cache()
