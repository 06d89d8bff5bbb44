"""A small stand-in for the package `vllm`: the part of its offline API that the engine uses, over a tiny model.

Put into `sys.modules` as `vllm` by tests. It asks of its caller what vLLM asks: prompts as token ids that fit the context
with a generated token, and arguments that it knows.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

from tiny_models import token_log_probabilities
from transformers import AutoModelForCausalLM, AutoTokenizer

__version__ = "0.0-stand-in"


class EngineDeadError(Exception):
    pass


class Logprob(NamedTuple):
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


class SamplingParams:
    def __init__(self, *, max_tokens, temperature, prompt_logprobs, detokenize):
        assert max_tokens >= 1 and prompt_logprobs >= 0
        self.max_tokens = max_tokens


class LLM:
    """made: every one that was made, with the arguments of each in `arguments`. fail: raised by `generate` when set."""

    made: list["LLM"] = []

    def __init__(self, model, *, revision, dtype, tensor_parallel_size, max_model_len, enable_prefix_caching, seed, **more):
        if more.keys() - {"distributed_executor_backend", "gpu_memory_utilization"}:
            raise TypeError(f"LLM.__init__() got an unexpected keyword argument {min(more)!r}")
        if not Path(model).is_dir():
            raise OSError(f"{model} is not a local folder\nand much more")
        self.arguments = {"tensor_parallel_size": tensor_parallel_size, "enable_prefix_caching": enable_prefix_caching, **more}
        self._tokenizer = AutoTokenizer.from_pretrained(model)
        self._model = AutoModelForCausalLM.from_pretrained(model).eval()
        limit = max_model_len or self._model.config.max_position_embeddings
        self.llm_engine = SimpleNamespace(model_config=SimpleNamespace(max_model_len=limit, dtype="torch.float32"))
        self.calls: list[int] = []
        self.fail: Exception | None = None
        self.made.append(self)

    def get_tokenizer(self):
        return self._tokenizer

    def generate(self, prompts, sampling_params, *, use_tqdm):
        if self.fail:
            raise self.fail
        self.calls.append(len(prompts))
        return [self._output(prompt["prompt_token_ids"], sampling_params.max_tokens) for prompt in prompts]

    def _output(self, ids, max_tokens):
        if len(ids) + max_tokens > self.llm_engine.model_config.max_model_len:
            raise ValueError("The decoder prompt is longer than the maximum model length")
        values = token_log_probabilities(self._model, ids)
        # Beside the prompt's token, vLLM gives the likeliest one at each place.
        places = [None, *({token: Logprob(value), -1: Logprob(0.0)} for token, value in list(zip(ids, values))[1:])]
        return SimpleNamespace(prompt_token_ids=ids, prompt_logprobs=places)
