"""Where a causal language model comes from: device, files, loading, context limit, and what is told when one is missing."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engines.base import EngineError

# Tokenizers without a limit of their own report a number far beyond any context.
NO_LIMIT = 10**9
FINGERPRINT_SUFFIXES = {".json", ".jinja", ".txt", ".model", ".safetensors", ".bin", ".gguf"}
FINGERPRINT_BYTES = 1 << 20


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


def find_device(name: str | None) -> Any:
    import torch

    name = name or ("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise EngineError(f"device {name!r} cannot be used here: {first_line(error)}") from error


def local_path(model: str) -> Path | None:
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


def from_pretrained_arguments(model: str, path: Path | None, revision: str | None) -> dict[str, Any]:
    if path is None:
        return {"pretrained_model_name_or_path": model, "revision": revision}
    if path.is_dir():
        return {"pretrained_model_name_or_path": path}
    import gguf  # noqa: F401  named by the ImportError when it is missing

    return {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}


@contextmanager
def loading(name: str) -> Iterator[None]:
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
    return first_line(error)


def context_limit(config: Any, tokenizer: Any, max_length: int | None) -> int:
    own_limit = tokenizer.model_max_length if tokenizer.model_max_length < NO_LIMIT else None
    limits = [getattr(config.get_text_config(), "max_position_embeddings", None), max_length or own_limit]
    known = [limit for limit in limits if limit]
    if not known:
        raise EngineError("the model names no context limit; give --option max_length=N")
    return min(known)


def first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
