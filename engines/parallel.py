"""Several processes of one engine, each with a device of its own, seen as one engine by whoever writes the results.

A process that dies is started again, and what it had not answered is asked again; one that dies over and over ends the run.
Its other side is worker.py. Knows nothing of runs and files.
"""

import atexit
import multiprocessing
import os
import queue
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

from engines.base import DeviceError, Engine, EngineError, Group
from engines.cores import cores
from engines.worker import SIGNALS, Answers, DeviceLost, Failure, Loaded, WindowEnd, Work, work

SPAWN = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold
DEATHS_IN_A_ROW = 3
SECONDS_TO_CLOSE = 10.0


class _Lost(Exception):
    """A process ended before its answer; the message says how, as the end of a sentence."""


class ParallelEngine(Engine):
    """An engine in `processes` processes. Every process answers a window at a time.

    Args:
        spec, model, options: as for `load_engine`.

    Raises:
        EngineError: the engine cannot be loaded, or answers several requests at a time by itself.
    """

    def __init__(self, spec: str, model: str | None, options: Mapping[str, str], processes: int):
        self._places = places(processes, options)
        self._workers = [
            _Worker(f"engine process {number} of {processes} ({name})", Work(spec, model, dict(options), variables))
            for number, (name, variables) in enumerate(self._places, start=1)
        ]
        self._live: dict[_Worker, dict[str, float]] = {}
        atexit.register(self.close)
        try:
            for worker in self._workers:
                worker.start()
            self._loaded = [worker.loaded() for worker in self._workers]
            self._check_alike(spec)
        except BaseException:
            self.close()
            raise
        self.concurrency = processes
        self.batch_size, self.window = self._loaded[0].batch_size, self._loaded[0].window
        self._free: queue.SimpleQueue[_Worker] = queue.SimpleQueue()
        for worker in self._workers:
            self._free.put(worker)

    def _check_alike(self, spec: str) -> None:
        first = self._loaded[0]
        if first.concurrency > 1:
            raise EngineError(
                f"engine {spec!r} asks {first.concurrency} requests at a time by itself; leave out --data-parallel"
            )
        if any(loaded.identity != first.identity for loaded in self._loaded):
            raise EngineError(f"engine {spec!r} differs between devices; give the options that it chooses by itself, such as dtype")

    def __call__(self, state: Any, questions: Mapping[str, Mapping]) -> tuple[dict, Any]:
        (group,) = self.answer_window([(state, questions)])
        (outcome,) = group.outcomes
        if isinstance(outcome, Exception):
            raise outcome
        return outcome.response, outcome.raw_output

    def answer_window(self, requests: Sequence[tuple[Any, Mapping[str, Mapping]]]) -> Iterator[Group]:
        """Groups as the engine of a free process forms them.

        Raises:
            DeviceError: the process dies over and over.
        """
        worker = self._free.get()
        try:
            yield from self._answer(worker, requests)
        finally:
            self._free.put(worker)

    def _answer(self, worker: "_Worker", requests: Sequence[tuple[Any, Mapping[str, Mapping]]]) -> Iterator[Group]:
        open_positions, deaths = set(range(len(requests))), 0
        while open_positions:
            asked = sorted(open_positions)
            try:
                for answers in worker.ask([requests[position] for position in asked]):
                    deaths = 0
                    self._live[worker] = answers.live
                    positions = [asked[place] for place in answers.positions]
                    open_positions -= set(positions)
                    outcomes = [own.restored() if isinstance(own, Failure) else own for own in answers.outcomes]
                    yield Group(positions, outcomes, answers.wall_ms)
                return
            except _Lost as lost:
                deaths += 1
                self._revive(worker, deaths, str(lost))

    def _revive(self, worker: "_Worker", deaths: int, reason: str) -> None:
        """Start a dead process again, unless it has died too often.

        Raises:
            DeviceError: it has, or cannot be loaded any more.
        """
        if deaths == DEATHS_IN_A_ROW:
            raise DeviceError(f"{worker.name} died {deaths} times in a row; at last it {reason}")
        try:
            worker.kill()
            worker.start()
            worker.loaded()
        except Exception as error:
            raise DeviceError(f"{worker.name} {reason} and could not be started again: {error}") from error

    def warm_up(self) -> None:
        """Every process has warmed its engine up when it is loaded."""

    def identity(self) -> dict[str, Any]:
        """That of the engine: how many processes answer changes no answer."""
        return self._loaded[0].identity

    def info(self) -> dict[str, Any]:
        return {**self._loaded[0].info, "data_parallel": [name for name, _variables in self._places]}

    def live(self) -> dict[str, float]:
        """Rates of all processes added up, and the mean of what is no rate."""
        lives = list(self._live.values())
        totals = {key: sum(live.get(key, 0.0) for live in lives) for live in lives for key in live}
        return {key: total if key.endswith("_per_second") else total / len(lives) for key, total in totals.items()}

    def stop(self) -> None:
        for worker in self._workers:
            worker.stop()

    def close(self) -> None:
        """Let the processes release what they hold, and end them."""
        atexit.unregister(self.close)
        deadline = time.monotonic() + SECONDS_TO_CLOSE
        for worker in self._workers:
            worker.dismiss()
        for worker in self._workers:
            worker.end(deadline - time.monotonic())


class _Worker:
    """One process, as seen from here; whoever asks it has it alone."""

    def __init__(self, name: str, what: Work):
        self.name = name
        self._what = what
        self._process: multiprocessing.process.BaseProcess | None = None
        self._ready = self._over = False
        self._life = threading.Lock()  # of starting and ending the process

    def start(self) -> None:
        """Raises:
        EngineError: the worker was ended.
        """
        with self._life:
            if self._over:
                raise EngineError("the run is over")
            self._asks, asks = SPAWN.Pipe()
            stops, self._stops = SPAWN.Pipe(duplex=False)
            self._process = SPAWN.Process(target=work, args=(asks, stops, self._what), name=self.name)
            with _signals_held():
                self._process.start()
            asks.close()
            stops.close()

    def loaded(self) -> Loaded:
        """Wait until the engine is loaded.

        Raises:
            EngineError: it cannot be loaded; any other exception that it raised.
        """
        try:
            message = self._receive()
        except _Lost as lost:
            advice = "if memory is short, take a smaller --data-parallel"
            raise EngineError(f"{self.name} {lost} while it loaded; {advice}") from None
        if isinstance(message, Failure):
            raise message.restored()
        self._ready = True
        return message

    def ask(self, requests: list[tuple[Any, Mapping]]) -> Iterator[Answers]:
        """Hand over a window; its groups, each computed when it is asked for.

        Raises:
            _Lost: the process or its device is gone.
        """
        message = self._exchange(requests)
        while not isinstance(message, WindowEnd):
            yield message
            message = self._exchange(None)
        if message.failure:
            raise message.failure.restored()

    def _exchange(self, ask: list | None) -> Answers | WindowEnd:
        with suppress(OSError):  # the answer says how it ended
            self._asks.send(ask)
        return self._receive()

    def _receive(self) -> Any:
        try:
            message = self._asks.recv()
        except (EOFError, OSError):
            self._process.join()
            raise _Lost(_end_of(self._process.exitcode)) from None
        if isinstance(message, DeviceLost):
            raise _Lost(f"lost its device ({message.reason})")
        return message

    def stop(self) -> None:
        with suppress(OSError):
            self._stops.send(None)

    def dismiss(self) -> None:
        """Ask for nothing more, now or ever, so that the process ends when it has answered."""
        with self._life:
            self._over = True
            if self._ready:
                self._asks.close()

    def end(self, seconds: float) -> None:
        """Give the process so long to end, but none to one that still loads, then kill it."""
        if self._ready:
            self._process.join(max(0.0, seconds))
        self.kill()

    def kill(self) -> None:
        with self._life:
            self._ready = False
            if self._process:
                self._process.kill()
                self._process.join()
                self._asks.close()
                self._stops.close()


@contextmanager
def _signals_held() -> Iterator[None]:
    """Processes started meanwhile do not get the signals that worker.py leaves to this one before they can say so."""
    resource_tracker.ensure_running()  # or the start would see to it, and let signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_of(exit_code: int) -> str:
    return f"was ended by {signal.Signals(-exit_code).name}" if exit_code < 0 else f"ended with exit code {exit_code}"


def places(processes: int, options: Mapping[str, str]) -> list[tuple[str, dict[str, str]]]:
    """Name and environment variables of each process's place: a GPU, the same again when there are more processes than
    GPUs, and an equal share of the cores.

    Raises:
        EngineError: the options name one device for all.
    """
    device = options.get("device", "")
    if ":" in device:
        raise EngineError(f"--data-parallel gives every process its own device; leave out device={device}")
    gpus = [] if device == "cpu" else visible_gpus()
    threads = str(max(1, cores() // processes))
    shares = {name: threads for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS") if name not in os.environ}
    if not gpus:
        return [("cpu", shares)] * processes
    names = [gpus[number % len(gpus)] for number in range(processes)]
    return [(f"gpu {name}", {**shares, "CUDA_VISIBLE_DEVICES": name}) for name in names]


def visible_gpus() -> list[str]:
    """GPUs by the names that CUDA_VISIBLE_DEVICES takes: what it says already, else all that nvidia-smi lists."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name.strip() for name in named.split(",") if name.strip()]
    if not shutil.which("nvidia-smi"):
        return []
    listed = subprocess.run(["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"], capture_output=True, text=True)
    return listed.stdout.split() if listed.returncode == 0 else []
