"""The other side of parallel.py: one engine in a process of its own, and the messages of both sides.

A window comes over one pipe and is answered group by group, each on demand; a stop comes over another and is heard at any
time. The process hears no signal that a terminal or a service manager sends to all: it ends when the other end of its
pipes is gone, however that came about.
"""

import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from engines.base import Abstained, Answered, Engine, EngineError, Group, Outcome, Unsupported, is_device_error, load_engine

# Left to whoever started the process.
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True)
class Work:
    """The engine to load, as for `load_engine`, and the environment variables that give it its place."""

    spec: str
    model: str | None
    options: Mapping[str, str]
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Loaded:
    """The engine is loaded and warm; what it says of itself."""

    concurrency: int
    batch_size: int
    window: int
    identity: dict[str, Any]
    info: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception that crosses processes without its class, whose module the other side need not have."""

    name: str
    text: str
    kind: type[Exception]
    raw_output: Any
    traceback: str

    @classmethod
    def of(cls, error: BaseException) -> "Failure":
        kinds = (kind for kind in (Unsupported, Abstained, EngineError) if isinstance(error, kind))
        text = "".join(traceback.format_exception(error))
        return cls(type(error).__name__, str(error), next(kinds, Exception), getattr(error, "raw_output", None), text)

    def restored(self) -> Exception:
        """An exception of the same name and text, with the traceback as its cause."""
        if self.kind is Abstained:
            return Abstained(self.text, self.raw_output)
        if self.kind is not Exception:
            return self.kind(self.text)
        error = type(self.name, (Exception,), {"__module__": "builtins"})(self.text)
        error.__cause__ = RuntimeError(f"in an engine process\n{self.traceback}")
        return error


@dataclass(frozen=True, slots=True)
class Answers:
    """One group of the window; outcomes that are exceptions as `Failure`. live: as `Engine.live` says."""

    positions: list[int]
    outcomes: list[Answered | Failure]
    wall_ms: float
    live: dict[str, float]


@dataclass(frozen=True, slots=True)
class WindowEnd:
    """The window has no more groups; `failure` is what the engine raised instead of one."""

    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class DeviceLost:
    """The device answers nothing more in this process, which ends."""

    reason: str


def work(asks: Connection, stops: Connection, what: Work) -> None:
    """Load the engine and answer windows until the pipe ends. The process's main function."""
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)  # and not SIG_IGN, which processes of the engine's own would inherit
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    os.environ.update(what.variables)
    engines: list[Engine] = []
    threading.Thread(target=_obey, args=(stops, engines), daemon=True).start()
    try:
        engine = load_engine(what.spec, what.model, what.options)
        engines.append(engine)
        engine.warm_up()
        loaded = Loaded(engine.concurrency, engine.batch_size, engine.window, engine.identity(), engine.info())
    except BaseException as error:
        asks.send(Failure.of(error))
        return
    try:
        asks.send(loaded)
        _serve(engine, asks)
    except (EOFError, OSError):
        engine.close()


def _obey(stops: Connection, engines: list[Engine]) -> None:
    """Pass every stop on; end the process when nobody is left to give one."""
    try:
        while True:
            stops.recv()
            for engine in engines:
                engine.stop()
    except (EOFError, OSError):
        os._exit(0)


def _serve(engine: Engine, asks: Connection) -> None:
    """Answer what is asked, until the device is lost: a window by its first group, None by the next group of that window.

    Raises:
        EOFError, OSError: nobody asks any more.
    """
    message, messages = None, _messages(engine, [])
    while not isinstance(message, DeviceLost):
        window = asks.recv()
        if window is not None:
            messages.close()
            messages = _messages(engine, window)
        message = next(messages)
        asks.send(message)


def _messages(engine: Engine, window: list[tuple[Any, Mapping]]) -> Iterator[Answers | WindowEnd | DeviceLost]:
    with closing(_groups(engine, window)) as groups:
        while True:
            clock = time.perf_counter()
            try:
                group = next(groups)
                pairs = list(zip(group.positions, group.outcomes, strict=True))
            except StopIteration:
                yield WindowEnd()
                return
            except Exception as error:
                yield DeviceLost(str(error)) if is_device_error(error) else WindowEnd(Failure.of(error))
                return
            wall_ms = (time.perf_counter() - clock) * 1000 if group.wall_ms is None else group.wall_ms
            answered = [(position, _portable(outcome)) for position, outcome in pairs if not is_device_error(outcome)]
            if answered:
                yield Answers(*map(list, zip(*answered, strict=True)), wall_ms, engine.live())
            lost = next((outcome for _, outcome in pairs if is_device_error(outcome)), None)
            if lost:
                yield DeviceLost(str(lost))
                return


def _groups(engine: Engine, window: list[tuple[Any, Mapping]]) -> Iterator[Group]:
    yield from engine.answer_window(window)


def _portable(outcome: Outcome) -> Answered | Failure:
    return outcome if isinstance(outcome, Answered) else Failure.of(outcome)
