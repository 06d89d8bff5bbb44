"""What made a run's answers: `environment.json`, and the check that a resumed run is made by the same engine."""

import hashlib
import platform
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from engines.base import Engine
from engines.redact import redact
from engines.results import utc_now
from engines.run_dir import RunDir, RunError, read_json
from suite_builder.row_index import RowIndex
from suite_builder.suite import Suite

RUNTIME_PACKAGES = ("di-tui", "torch", "transformers", "numpy", "httpx")
LATENCY = (
    "total_wall_ms is the wall time of one engine call from state and questions to the response, prompt construction and "
    "device synchronisation included; with a batch_size above 1 it is that of the whole batch"
)


def identity_of(engine: Engine, spec: str, model: str | None, options: Mapping[str, str]) -> dict[str, Any]:
    """Everything that can change an answer. An engine that declares nothing is taken at its word for nothing: then every
    option counts."""
    declared = engine.identity() or {"model": model, **options}
    return {"engine": spec, **redact(declared)}


def check_same_identity(run_dir: RunDir, identity: dict[str, Any], answered: bool) -> Iterator[str]:
    """Refuse to mix answers of two engines in one run; yields notices for the reader.

    Args:
        answered: whether the run directory already holds final results.

    Raises:
        RunError: the run was started with another identity; the message names every difference.
    """
    if not answered:
        return
    before = (read_json(run_dir.environment) or {}).get("fingerprint")
    if before is None:
        yield f"{run_dir.path} does not say what its results were made with; taking them as made by {identity['engine']}"
        return
    differences = [
        f"{key} was {before.get(key)!r}, now {identity.get(key)!r}"
        for key in sorted(before.keys() | identity.keys())
        if before.get(key) != identity.get(key)
    ]
    if differences:
        raise RunError(
            f"{run_dir.path} was started with other settings: {'; '.join(differences)}. "
            "Use the same settings to resume, --fresh to start anew there, or another --out"
        )


def check_same_engine(run_dir: RunDir, spec: str, model: str | None) -> None:
    """The part of `check_same_identity` that needs no loaded engine, for a run that has nothing left to ask.

    Raises:
        RunError: the results there are those of another engine or model.
    """
    before = read_json(run_dir.environment) or {}
    now = {"engine": spec, "model": model and redact(shown_path(model))}
    differences = [
        f"{key} was {before[key]!r}, now {value!r}" for key, value in now.items() if before.get(key, value) != value
    ]
    if differences:
        raise RunError(
            f"{run_dir.path} is a finished run of something else: {'; '.join(differences)}. "
            "Use --fresh to start anew there, or another --out"
        )


def environment(
    run_dir: RunDir,
    suite: Suite,
    index: RowIndex,
    engine: Engine,
    identity: dict[str, Any],
    settings: Any,
    loaded_seconds: float,
) -> dict[str, Any]:
    """Content of environment.json. Earlier sessions of the same run stay listed."""
    earlier = (read_json(run_dir.environment) or {}).get("sessions", [])
    session = {
        "started_utc": utc_now().isoformat(),
        "engine_options": redact(dict(settings.options)),
        "shard": settings.shard and str(settings.shard),
        "data_parallel": settings.data_parallel,
        "concurrency": engine.concurrency,
        "batch_size": engine.batch_size,
        "window": engine.window,
    }
    return {
        "engine": settings.engine,
        "model": settings.model and redact(shown_path(settings.model)),
        "engine_options": redact(dict(settings.options)),
        "model_source": redact(engine.info()),
        "runtime": runtime(),
        "loaded_seconds": round(loaded_seconds, 3),
        "frozen_corpus_sha256": index.content_sha256,
        "rows_path": shown_path(suite.name),
        "edition": suite.edition.id,
        "partial_suite": suite.partial,
        "shard": settings.shard and str(settings.shard),
        "runner_sha256": runner_sha256(),
        "mode": "latency" if settings.latency or engine.batch_size == engine.window == 1 else "batched",
        "latency": LATENCY,
        "fingerprint": identity,
        "sessions": [*earlier, session],
    }


def runtime() -> dict[str, str]:
    """Versions of what a run depends on, as far as installed."""
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in RUNTIME_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            pass
    return found


def runner_sha256() -> str:
    """sha256 over the modules of this package that turn an engine's answer into a result row."""
    digest = hashlib.sha256()
    for name in ("runner", "results", "wire"):
        digest.update(Path(sys.modules[f"engines.{name}"].__file__).read_bytes())
    return digest.hexdigest()


def shown_path(text: str) -> str:
    """A path as files may show it: relative to the working directory when inside it, with `~` for the home directory."""
    path = Path(text).absolute()
    if not path.exists():
        return text
    for base, prefix in ((Path.cwd(), Path()), (Path.home(), Path("~"))):
        if path.is_relative_to(base):
            return str(prefix / path.relative_to(base))
    return str(path)


def find_shown_path(text: str, run_dir: Path) -> Path | None:
    """The file that `shown_path` wrote down, looked for from here and from the run directory upwards; None when gone."""
    path = Path(text).expanduser()
    places = [Path.cwd(), *run_dir.absolute().parents]
    return next((place / path for place in places if (place / path).exists()), None)
