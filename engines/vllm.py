"""Score options through vLLM's offline API, for models that need several GPUs or a Ray cluster.

Prompts, tokens and scoring rule are those of the `transformers` engine; every option is one prompt of which vLLM gives the
log-probabilities. Constructing the engine needs the `vllm` extra.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engines import wire
from engines.base import Answered, DeviceError, Engine, EngineError, Outcome, Unsupported, is_device_error
from engines.model_source import fingerprint, first_line, local_path
from engines.rendering import Rendering, TokenizedQuestion
from engines.temperatures import Temperatures

OWN_ARGUMENTS = {"model", "revision", "dtype", "tensor_parallel_size", "max_model_len", "enable_prefix_caching", "seed"}


class VllmEngine(Engine):
    """Softmax over the options' summed log-probabilities.

    Args:
        model: repository on the Hub or local directory.
        revision: branch, tag or commit of a repository.
        dtype: as vLLM names it.
        tensor_parallel: GPUs that the model is spread over.
        end_token: whether an end token is scored behind the keys (rendering.py says which and when).
        chat_template: whether to use the tokenizer's chat template; by default where it has one.
        max_length: context limit in tokens; by default the model's.
        temperature, temperature_choice, temperature_noul, temperature_score: see temperatures.py.
        batch: requests handed to vLLM at once.
        arguments: further arguments of `vllm.LLM`, such as {"distributed_executor_backend": "ray"}.

    Raises:
        EngineError: vLLM cannot load the model, or an option is out of range.
        ImportError: vLLM is not installed.
    """

    def __init__(
        self,
        model: str,
        revision: str | None = None,
        dtype: str = "auto",
        tensor_parallel: int = 1,
        end_token: bool = True,
        chat_template: bool | None = None,
        max_length: int | None = None,
        temperature: float = 1.0,
        temperature_choice: float | None = None,
        temperature_noul: float | None = None,
        temperature_score: float | None = None,
        batch: int = 32,
        arguments: dict | None = None,
    ):
        import vllm

        arguments = arguments or {}
        if arguments.keys() & OWN_ARGUMENTS:
            own = ", ".join(sorted(arguments.keys() & OWN_ARGUMENTS))
            raise EngineError(f"engine 'vllm': give {own} by the engine's own options, not in arguments")
        if batch < 1:
            raise EngineError("engine 'vllm': batch must be at least 1")
        self._temperatures = Temperatures(temperature, temperature_choice, temperature_noul, temperature_score)
        path = local_path(model)
        try:
            self._llm = vllm.LLM(
                model=model,
                revision=revision,
                dtype=dtype,
                tensor_parallel_size=tensor_parallel,
                max_model_len=max_length,
                enable_prefix_caching=True,
                seed=0,
                **arguments,
            )
        except (OSError, RuntimeError, ValueError, TypeError) as error:
            raise EngineError(f"vLLM cannot load {model!r}: {first_line(error)}") from error
        self._rendering = Rendering(self._llm.get_tokenizer(), chat_template, end_token)
        config = self._llm.llm_engine.model_config
        self._limit = config.max_model_len
        self._asking = vllm.SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=1, detokenize=False)
        self.batch_size = batch
        self._identity = {
            "model": path.resolve().name if path else model,
            "revision": fingerprint(path) if path else revision,
            "dtype": str(config.dtype).removeprefix("torch."),
            "end_token": end_token,
            "chat_template": self._rendering.chat,
            "context_limit": self._limit,
            "temperature": self._temperatures.by_type,
            "rendering_sha256": self._rendering.sha256,
        }
        self._info = {"tensor_parallel": tensor_parallel, "arguments": arguments, "vllm": vllm.__version__}

    def __call__(self, state: Any, questions: Mapping[str, Mapping]) -> tuple[dict, Any]:
        (outcome,) = self.answer_many([(state, questions)])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome.response, outcome.raw_output

    def answer_many(self, requests: Sequence[tuple[Any, Mapping[str, Mapping]]]) -> list[Outcome]:
        """One outcome each, in order. All their options are one call of vLLM, which forms batches by itself.

        Raises:
            DeviceError: vLLM is in a state that it answers nothing more in.
        """
        asked = [self._tokenized(state, questions) for state, questions in requests]
        prompts = [
            tokens.prompt + option
            for questions in asked
            if not isinstance(questions, Exception)
            for tokens in questions.values()
            for option in tokens.options
        ]
        outputs = iter(self._generate(prompts) if prompts else [])
        return [
            own if isinstance(own, Exception) else self._answered(questions, own, outputs)
            for (_state, questions), own in zip(requests, asked, strict=True)
        ]

    def _tokenized(self, state: Any, questions: Mapping[str, Mapping]) -> dict[str, TokenizedQuestion] | Exception:
        """The questions that need the model, or why the request is not asked."""
        asked = {}
        try:
            for name, question in questions.items():
                if len(wire.option_keys(question)) > 1:
                    asked[name] = self._rendering.tokenize(state, question)
                    self._check_length(asked[name])
        except Exception as error:
            return error
        return asked

    def _check_length(self, tokens: TokenizedQuestion) -> None:
        prompt, longest = len(tokens.prompt), max(map(len, tokens.options))
        if prompt + longest >= self._limit:  # vLLM always generates, so one place is taken
            raise Unsupported(
                f"prompt of {prompt:,} tokens, longest option of {longest:,} and a generated one exceed "
                f"the context limit of {self._limit:,} tokens"
            )

    def _generate(self, prompts: list[list[int]]) -> list[Any]:
        try:
            return self._llm.generate([{"prompt_token_ids": ids} for ids in prompts], self._asking, use_tqdm=False)
        except Exception as error:
            # Its engine process does not survive what it raises here.
            if is_device_error(error) or "Dead" in type(error).__name__:
                raise DeviceError(f"vLLM failed: {first_line(error)}") from error
            raise

    def _answered(
        self, questions: Mapping[str, Mapping], asked: dict[str, TokenizedQuestion], outputs: Iterator[Any]
    ) -> Outcome:
        scores = {
            name: [_log_probability(next(outputs), tokens.prompt, option) for option in tokens.options]
            for name, tokens in asked.items()
        }
        answers = {name: self._temperatures.answer(question, scores.get(name)) for name, question in questions.items()}
        used = sum(len(tokens.prompt) for tokens in asked.values())
        return Answered({"model": self._identity["model"], "answers": answers, "usage": {"input_tokens": used}})

    def identity(self) -> dict[str, Any]:
        return self._identity

    def info(self) -> dict[str, Any]:
        return {"kind": "vllm", **self._identity, **self._info, "policy": "no truncation"}

    def close(self) -> None:
        self._llm = None


def _log_probability(output: Any, prompt: Sequence[int], option: Sequence[int]) -> float:
    """Summed log-probability of the option's tokens: vLLM gives a mapping from token id for every place of the prompt."""
    places = output.prompt_logprobs[len(prompt) :]
    return sum(place[token].logprob for place, token in zip(places, option, strict=True))
