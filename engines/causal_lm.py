"""A stock causal language model as an engine: options scored by their keys' log-probability after one fixed prompt.

Says where the model comes from, what fits into it and how failures are told. The prompt is rendering.py's, the scores
are option_scoring.py's. Imports without torch; constructing the engine needs the `transformers` extra.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engines import wire
from engines.base import DeviceError, Engine, EngineError, Unsupported, is_device_error
from engines.rendering import Rendering, TokenizedQuestion

# Tokenizers without a limit of their own report a number far beyond any context.
NO_LIMIT = 10**9
FINGERPRINT_SUFFIXES = {".json", ".jinja", ".txt", ".model", ".safetensors", ".bin", ".gguf"}
FINGERPRINT_BYTES = 1 << 20
OUT_OF_MEMORY = ("out of memory", "DefaultCPUAllocator")


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
        option_chunk_tokens: option tokens per forward pass. Bounds memory, changes no answer.

    Raises:
        EngineError: no such model, device or dtype, a model that does not load or whose layers do not fit.
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
        option_chunk_tokens: int = 512,
    ):
        import torch
        import transformers

        from engines.option_scoring import OptionScorer

        self._device = _find_device(device)
        kind = dtype or ("bfloat16" if self._device.type == "cuda" else "float32")
        self._dtype = getattr(torch, kind, None)
        if not isinstance(self._dtype, torch.dtype):
            raise EngineError(f"no dtype {kind!r}; take bfloat16, float16 or float32")
        path = _local_path(model)
        self._name = path.resolve().name if path else model
        where = _from_pretrained_arguments(model, path, revision)
        transformers.utils.logging.disable_progress_bar()
        with _loading(self._name):
            config = transformers.AutoConfig.from_pretrained(**where)
            tokenizer = transformers.AutoTokenizer.from_pretrained(**where)
            self._model = transformers.AutoModelForCausalLM.from_pretrained(
                **where, dtype=self._dtype, device_map=str(self._device)
            ).eval()
        self._revision = fingerprint(path) if path else config._commit_hash
        self._rendering = Rendering(tokenizer, chat_template, end_token)
        self._scorer = OptionScorer(self._model, option_chunk_tokens)
        self._end_token = end_token
        self._limit = _context_limit(config, tokenizer, max_length)

    def __call__(self, state: Any, questions: Mapping[str, Mapping]) -> tuple[dict, Any]:
        # All are tokenised first: a request with one question too long costs no computation. One option needs none.
        asked = {
            name: self._tokenize(state, question)
            for name, question in questions.items()
            if len(wire.options(question)) > 1
        }
        # The questions of one request share the beginning of their prompts. Requests share nothing, so that an answer depends
        # on its request alone, not on what came before it.
        self._scorer.forget()
        answers = {
            name: wire.answer(question, softmax(self._score(asked[name])) if name in asked else [1.0])
            for name, question in questions.items()
        }
        used = sum(len(tokens.prompt) for tokens in asked.values())
        return {"model": self._name, "answers": answers, "usage": {"input_tokens": used}}, None

    def log_probabilities(self, state: Any, question: Mapping) -> list[float]:
        """Summed log-probability (natural) of every option's tokens, in the order of `wire.options`.

        Raises:
            Unsupported: the question does not fit the context or the device's memory.
            DeviceError: the device is lost.
        """
        self._scorer.forget()
        return self._score(self._tokenize(state, question))

    def _tokenize(self, state: Any, question: Mapping) -> TokenizedQuestion:
        tokens = self._rendering.tokenize(state, question)
        prompt, longest = len(tokens.prompt), max(map(len, tokens.options))
        if prompt + longest > self._limit:
            raise Unsupported(
                f"prompt of {prompt:,} tokens and longest option of {longest:,} exceed "
                f"the context limit of {self._limit:,} tokens"
            )
        return tokens

    def _score(self, tokens: TokenizedQuestion) -> list[float]:
        import torch

        try:
            return self._scorer(tokens.prompt, tokens.options)
        except RuntimeError as error:
            if not any(mark in str(error) for mark in OUT_OF_MEMORY):
                if is_device_error(error):
                    raise DeviceError(f"{self._device} failed: {_first_line(error)}") from error
                raise
        # Outside the handler, where the error no longer holds the tensors of the failed pass.
        torch.cuda.empty_cache()
        raise Unsupported(f"out of device memory on {self._device} with a prompt of {len(tokens.prompt):,} tokens")

    def warm_up(self) -> None:
        super().warm_up()
        # Its keys are one token each in most vocabularies; these also run the pass over option tokens.
        self("The kettle is on.", {"q": {"type": "choice", "criteria": {"option_1": "on", "option_10": "off"}}})

    def identity(self) -> dict[str, Any]:
        return {
            "model": self._name,
            "revision": self._revision,
            "dtype": str(self._dtype).removeprefix("torch."),
            "end_token": self._end_token,
            "chat_template": self._rendering.chat,
            "context_limit": self._limit,
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
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "cuda": torch.version.cuda if cuda else None,
        }

    def close(self) -> None:
        import torch

        self._model = self._scorer = None
        torch.cuda.empty_cache()


def softmax(log_probabilities: Sequence[float]) -> list[float]:
    """Probabilities (float64) in proportion to exp of the given values."""
    import torch

    return torch.tensor(log_probabilities, dtype=torch.float64).softmax(0).tolist()


def fingerprint(path: Path) -> str:
    """`sha256:` and a hex digest over name, size, first and last MiB of every file of a local model."""
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        if file.suffix in FINGERPRINT_SUFFIXES:
            size = file.stat().st_size
            digest.update(f"{file.name}\0{size}\0".encode())
            with file.open("rb") as stream:
                digest.update(stream.read(FINGERPRINT_BYTES))
                stream.seek(max(0, size - FINGERPRINT_BYTES))
                digest.update(stream.read())
    return f"sha256:{digest.hexdigest()}"


def _find_device(name: str | None) -> Any:
    import torch

    name = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise EngineError(f"device {name!r} cannot be used here: {_first_line(error)}") from error


def _local_path(model: str) -> Path | None:
    """Path of a model that is on this machine, None for one on the Hub.

    Raises:
        EngineError: it reads like a path and there is nothing, or no model.
    """
    path = Path(model).expanduser()
    if path.is_dir():
        if not (path / "config.json").is_file():
            raise EngineError(f"{model} holds no model (config.json is missing); give the directory of a saved model")
        return path
    if path.is_file() and path.suffix == ".gguf":
        return path
    if path.suffix == ".gguf" or model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise EngineError(f"no model at {model}; give a directory, a .gguf file or the name of a repository on the Hub")
    return None


def _from_pretrained_arguments(model: str, path: Path | None, revision: str | None) -> dict[str, Any]:
    if path is None:
        return {"pretrained_model_name_or_path": model, "revision": revision}
    if path.is_dir():
        return {"pretrained_model_name_or_path": path}
    import gguf  # noqa: F401  named by the ImportError when it is missing

    return {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}


@contextmanager
def _loading(name: str) -> Iterator[None]:
    """Turn whatever goes wrong while a model loads into one line that says what to do."""
    try:
        yield
    except Exception as error:
        if isinstance(error, ImportError) and error.name:
            raise
        raise EngineError(f"cannot load model {name!r}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    import torch
    from huggingface_hub import errors

    advice = {
        errors.GatedRepoError: "it is gated; accept its terms on the Hub, then run `hf auth login`",
        errors.RepositoryNotFoundError: "the Hub has no such repository, or it is private (then run `hf auth login`)",
        errors.RevisionNotFoundError: "the repository has no such revision; check --option revision=",
        errors.LocalEntryNotFoundError: "the Hub cannot be reached and the model is not in the local cache; "
        "check the connection or give a local directory",
        torch.OutOfMemoryError: "it does not fit into the device's memory; take a smaller model or dtype=bfloat16",
    }
    cause: BaseException | None = error
    while cause is not None:
        for kind, text in advice.items():
            if isinstance(cause, kind):
                return text
        cause = cause.__cause__ or cause.__context__
    return _first_line(error)


def _context_limit(config: Any, tokenizer: Any, max_length: int | None) -> int:
    own_limit = tokenizer.model_max_length if tokenizer.model_max_length < NO_LIMIT else None
    limits = [getattr(config.get_text_config(), "max_position_embeddings", None), max_length or own_limit]
    known = [limit for limit in limits if limit]
    if not known:
        raise EngineError("the model names no context limit; give --option max_length=N")
    return min(known)


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
