"""Run a function in a process of its own: what it tells comes back while it works, and it can be ended at any moment.

The process ends with its result, when it is told to stop, and when the process that started it is gone.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any, TypeVar

from suite_builder.errors import SuiteError

Result = TypeVar("Result")

LOOK_AROUND = 0.2  # seconds between looks at whether to stop
SPAWN = multiprocessing.get_context("spawn")  # a fork would copy locks that other threads hold


class Died(SuiteError):
    """The process ended before its function did."""


class Stopped(SuiteError):
    """The process was ended on request."""


def in_process(
    function: Callable[..., Result], *arguments: Any, emit: Callable[[Any], None], stop: threading.Event
) -> Result:
    """The result of `function(*arguments, emit)`, called in a new process; all of them must be picklable.

    Args:
        emit: takes in this thread what the function emits.
        stop: ends the process when set.

    Raises:
        SuiteError: the function failed, with the reason.
        Died: the process was killed or ended itself.
        Stopped: `stop` was set.
    """
    receiver, sender = SPAWN.Pipe(duplex=False)
    process = SPAWN.Process(target=_work, args=(sender, function, arguments), daemon=True)
    with _ctrl_c_held():
        process.start()
    sender.close()
    try:
        while True:
            kind, content = _next(receiver, stop)
            if kind == "result":
                return content
            if kind == "error":
                raise SuiteError(content)
            emit(content)
    except EOFError:
        process.join()
        raise Died(f"its process {_end_of(process.exitcode)}; run it again, with --jobs 1 if memory is short") from None
    finally:
        process.kill()
        process.join()
        receiver.close()


@contextmanager
def _ctrl_c_held() -> Iterator[None]:
    """Processes started meanwhile never get Ctrl-C, which a terminal sends to all: whoever started them ends them."""
    resource_tracker.ensure_running()  # or the start would see to it, and let signals through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _next(receiver: Connection, stop: threading.Event) -> tuple[str, Any]:
    while not stop.is_set():
        if receiver.poll(LOOK_AROUND):
            return receiver.recv()
    raise Stopped("stopped; what is finished is kept")


def _end_of(exit_code: int) -> str:
    return f"was ended by {signal.Signals(-exit_code).name}" if exit_code < 0 else f"ended with exit code {exit_code}"


def _work(sender: Connection, function: Callable, arguments: tuple) -> None:
    from suite_builder.blocks import reason

    threading.Thread(target=_end_with_parent, daemon=True).start()
    one_at_a_time = threading.Lock()

    def send(kind: str, content: Any) -> None:
        with one_at_a_time:
            sender.send((kind, content))

    try:
        result = function(*arguments, lambda event: send("event", event))
    except Exception as error:
        send("error", reason(error))
    else:
        send("result", result)


def _end_with_parent() -> None:
    multiprocessing.parent_process().join()
    os._exit(1)
