"""The one door to models: `Engine`, what it may raise, and how it is found by name.

An engine reads `state` and `questions` of one request and returns the wire response (wire.py). It never sees run ids, gold
answers or files.
"""

import importlib
import inspect
import json
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


class EngineError(Exception):
    """An engine cannot be loaded or used; the message says why and what to do."""


class Unsupported(Exception):
    """A declared capacity limit: the engine cannot take this request whole. Nothing may be cut to make it fit."""


class Abstained(Exception):
    """The engine declines to answer. `raw_output` is kept in the result row."""

    def __init__(self, reason: str = "", raw_output: Any = None):
        super().__init__(reason)
        self.raw_output = raw_output


class DeviceError(Exception):
    """The device is in a state that no further request can be answered in; the run stops with its checkpoint intact."""


# How the frameworks name a lost or full device, when an engine lets their own exceptions out.
_DEVICE_EXCEPTIONS = {"OutOfMemoryError", "AcceleratorError"}
_DEVICE_MESSAGES = ("CUDA error", "device-side assert", "CUBLAS_STATUS", "CUDNN_STATUS", "HIP error", "MPS backend out of memory")


def is_device_error(outcome: Any) -> bool:
    """Whether an outcome is an exception after which the device answers nothing more."""
    if not isinstance(outcome, Exception):
        return False
    names = {base.__name__ for base in type(outcome).__mro__}
    if names & {"DeviceError", *_DEVICE_EXCEPTIONS}:
        return True
    return isinstance(outcome, RuntimeError) and any(text in str(outcome) for text in _DEVICE_MESSAGES)


@dataclass(frozen=True, slots=True)
class Answered:
    """A response and whatever else the engine gave; `model_ms` only from engines that time the model apart."""

    response: dict
    raw_output: Any = None
    model_ms: float | None = None
    http_ms: float | None = None


Outcome = Answered | Exception


@dataclass(frozen=True, slots=True)
class Group:
    """Requests of a window that were answered together, and an outcome for each.

    positions: their places in the window. wall_ms: how long they took together; None lets the caller's clock count.
    """

    positions: Sequence[int]
    outcomes: Sequence[Outcome]
    wall_ms: float | None = None


class Engine(ABC):
    """Base class of engines. Options come as keyword arguments: `model` and every `--option NAME=VALUE`.

    concurrency: how many worker threads may call the engine at once.
    batch_size: how many requests one `answer_many` call should get.
    window: how many requests one `answer_window` call should get, from which the engine forms its batches.
    """

    concurrency: int = 1
    batch_size: int = 1
    window: int = 1

    @abstractmethod
    def __call__(self, state: Any, questions: Mapping[str, Mapping]) -> tuple[dict, Any]:
        """Answer one request.

        Args:
            state: text or any JSON value.
            questions: question id -> question, as in wire.py.

        Returns:
            (response, raw): `{"model", "answers", "usage"}` with an answer for every question, and any JSON value to keep.

        Raises:
            Unsupported: the request exceeds a declared limit.
            Abstained: the engine declines.
            DeviceError: the device is lost; the run stops.
        """

    def answer_many(self, requests: Sequence[tuple[Any, Mapping[str, Mapping]]]) -> list[Outcome]:
        """Answer several (state, questions) pairs; one outcome each, in order. An exception as outcome fails only its request,
        but for a device error, which ends the run."""
        return [self._outcome(state, questions) for state, questions in requests]

    def answer_window(self, requests: Sequence[tuple[Any, Mapping[str, Mapping]]]) -> Iterator[Group]:
        """Answer several (state, questions) pairs in whatever order and batches suit the engine.

        Every position comes in exactly one group. Each group is kept as it comes; whoever stops between two groups closes
        the iterator. By default batches of `batch_size` go through `answer_many`, in order.
        """
        for start in range(0, len(requests), self.batch_size):
            batch = requests[start : start + self.batch_size]
            outcomes = self.answer_many(batch)
            if len(outcomes) != len(batch):
                raise RuntimeError(f"answer_many gave {len(outcomes)} outcomes for {len(batch)} requests")
            yield Group(range(start, start + len(batch)), outcomes)

    def _outcome(self, state: Any, questions: Mapping[str, Mapping]) -> Outcome:
        try:
            return Answered(*self(state, questions))
        except Exception as error:
            return error

    def warm_up(self) -> None:
        """Do once what would distort the first timings. Called before the clock starts."""
        for question in WARM_UP_QUESTIONS:
            self("The kettle is on.", {"q": question})

    def identity(self) -> dict[str, Any]:
        """Everything that can change an answer (model, revision, dtype, options), as JSON values. A run that was started
        with another identity is not resumed."""
        return {}

    def info(self) -> dict[str, Any]:
        """Provenance and runtime facts for environment.json: never a token, never a home path."""
        return {}

    def live(self) -> dict[str, float]:
        """What only an engine at work knows of its speed, such as prompt tokens a second; shown while it runs. Called from
        another thread than the one that asks."""
        return {}

    def stop(self) -> None:
        """A stop was asked for: do not wait for anything that may take long; answers in flight may finish. Called from
        another thread than the one that asks."""

    def close(self) -> None:
        """Release what the engine holds. Called when no request is in flight."""


WARM_UP_QUESTIONS = (
    {"type": "choice", "instructions": "Is the kettle on?", "criteria": {"yes": "It is on.", "no": "It is off."}},
    {"type": "noul", "instructions": "Is the kettle on?"},
)

# Name on the command line -> module and class. Modules load only when asked for.
SHIPPED = {
    "random": "engines.random:RandomEngine",
    "lexical": "engines.lexical:LexicalEngine",
    "http": "engines.http:HttpEngine",
    "transformers": "engines.causal_lm:CausalLmEngine",
    "openai": "engines.openai:OpenAiEngine",
    "vllm": "engines.vllm:VllmEngine",
}
# The extra that a shipped engine needs.
EXTRAS = {"transformers": "transformers", "openai": "transformers", "vllm": "vllm"}


class AdaptedEngine(Engine):
    """A class that only has `__call__`, such as one written for the public kit, seen as an Engine.

    Its exceptions count by their names, `Unsupported` and `Abstained`, as they come from another package.
    """

    def __init__(self, inner: Any):
        self.inner = inner
        self.concurrency = getattr(inner, "concurrency", 1)
        self.batch_size = getattr(inner, "batch_size", 1)
        for method in ("warm_up", "identity", "info", "stop", "close"):
            if hasattr(inner, method):
                setattr(self, method, getattr(inner, method))

    def __call__(self, state: Any, questions: Mapping[str, Mapping]) -> tuple[dict, Any]:
        try:
            return self.inner(state, questions)
        except Exception as error:
            raise _by_name(error)

    def answer_many(self, requests: Sequence[tuple[Any, Mapping[str, Mapping]]]) -> list[Outcome]:
        if not hasattr(self.inner, "answer_many"):
            return super().answer_many(requests)
        return [
            _by_name(outcome) if isinstance(outcome, Exception) else outcome
            for outcome in self.inner.answer_many(requests)
        ]


def _by_name(error: Exception) -> Exception:
    """Our exception of the same name, or the error itself."""
    names = {base.__name__ for base in type(error).__mro__}
    if "Unsupported" in names:
        return Unsupported(str(error))
    if "Abstained" in names:
        return Abstained(str(error), getattr(error, "raw_output", None))
    return error


def load_engine(spec: str, model: str | None = None, options: Mapping[str, str] | None = None) -> Engine:
    """Construct an engine from a shipped name or `module:Class`.

    Option texts become the type of the parameter's annotation or default; for parameters without either they stay text.
    A class that was written for the public kit loads as it is.

    Raises:
        EngineError: unknown engine, missing package, unknown or malformed option.
    """
    engine_class = _find_class(spec)
    given = dict(options or {})
    if model is not None:
        given.setdefault("model", model)
    arguments = _convert_options(spec, engine_class, given)
    try:
        engine = engine_class(**arguments)
    except ModuleNotFoundError as error:
        raise EngineError(missing_package(spec, error)) from error
    return engine if isinstance(engine, Engine) else AdaptedEngine(engine)


def missing_package(spec: str, error: ImportError) -> str:
    """One line that says which package an engine needs and how to get it."""
    how = f"pip install 'di-tui[{EXTRAS[spec]}]'" if spec in EXTRAS else f"pip install {error.name or 'it'}"
    return f"engine {spec!r} needs the package {error.name!r}, which is not installed: {how}"


def _find_class(spec: str) -> Any:
    target = SHIPPED.get(spec, spec)
    module_name, _, class_name = target.partition(":")
    if not class_name or not all(part.isidentifier() for part in module_name.split(".")):
        raise EngineError(f"unknown engine {spec!r}; choose one of {', '.join(SHIPPED)}, or module:Class for your own")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and f"{module_name}.".startswith(f"{error.name}."):
            raise EngineError(f"engine {spec!r}: no module {module_name!r} here or on PYTHONPATH") from None
        raise EngineError(missing_package(spec, error)) from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise EngineError(f"engine {spec!r}: module {module_name!r} cannot be imported: {reason}") from error
    engine_class = getattr(module, class_name, None)
    if not callable(engine_class):
        raise EngineError(f"engine {spec!r}: module {module_name!r} has no {class_name!r}")
    return engine_class


def _convert_options(spec: str, engine_class: Any, given: dict[str, str]) -> dict[str, Any]:
    parameters = inspect.signature(engine_class).parameters
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    named = [name for name, parameter in parameters.items() if parameter.kind is not parameter.VAR_KEYWORD]
    try:
        hints = get_type_hints(engine_class.__init__)
    except NameError:  # an annotation that exists only for type checkers
        hints = {}
    for name in given:
        if name not in named and not open_ended:
            raise EngineError(f"engine {spec!r} has no option {name!r}; it takes {', '.join(named) or 'none'}")
    for name, parameter in parameters.items():
        takes_keyword = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if takes_keyword and parameter.default is parameter.empty and name not in given:
            how = "--model NAME" if name == "model" else f"--option {name}=VALUE"
            raise EngineError(f"engine {spec!r} needs {how}")
    return {name: _convert(spec, name, text, parameters.get(name), hints.get(name)) for name, text in given.items()}


def _convert(spec: str, name: str, text: Any, parameter: inspect.Parameter | None, hint: Any) -> Any:
    if not isinstance(text, str):
        return text
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    wanted = {get_origin(member) or member for member in members}
    if hint is None and parameter is not None and parameter.default is not parameter.empty:
        wanted = {type(parameter.default)}
    if str in wanted or not wanted & {bool, int, float, dict, list}:
        return text
    try:
        value = json.loads(text)
        return next(kind(value) for kind in (bool, int, float, dict, list) if kind in wanted and _fits(value, kind))
    except (ValueError, StopIteration):
        kinds = " or ".join(sorted(kind.__name__ for kind in wanted if isinstance(kind, type) and kind is not type(None)))
        raise EngineError(f"engine {spec!r}: option {name}={text} is not a valid {kinds}") from None


def _fits(value: Any, kind: type) -> bool:
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is kind
