"""A rebuild as the command line starts it: with a display, a record that others can follow, and ways to steer it.

What builds is imported only by the process that does it: the app needs of this module how a rebuild is asked for and begun.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import psutil

from di_tui.job import Job, after_the_app
from di_tui.rebuild_record import Began, Ended, Indexing, Paused, RebuildFiles, Record, Resumed, read_record
from di_tui.signals import HANDLED
from engines.control import SECONDS_BETWEEN_LOOKS, Control, ControlFile
from suite_builder.catalog import benchmarks
from suite_builder.editions import Edition
from suite_builder.editions import edition as find_edition
from suite_builder.errors import SuiteError
from suite_builder.events import Event, Stage
from suite_builder.row_files import ADDED
from suite_builder.suite import Suite
from suite_builder.work_lock import locked

FAILED = 1
WORK = Path("work")


@dataclass(frozen=True)
class RebuildRequest:
    """One rebuild to do, as the options of `suite rebuild` say. retry: of what is missing, only these are tried."""

    work: Path = WORK
    suite_dir: Path | None = None
    edition: str | None = None
    only: Sequence[int] | None = None
    mirror: Path | None = None
    allow_partial: bool = False
    jobs: int | None = None
    skip_download: bool = False
    retry: Sequence[int] | None = None

    @property
    def rules(self) -> Edition:
        return find_edition(self.edition)

    @property
    def directory(self) -> Path:
        """Where the suite goes."""
        return self.suite_dir or Path(self.rules.suite_dir)

    @property
    def wanted(self) -> list[int]:
        """Catalog ids of all benchmarks that the suite should have."""
        in_edition = [key for key, entry in benchmarks().items() if not entry.added or ADDED in self.rules.files]
        return [key for key in in_edition if self.only is None or key in self.only]

    def arguments(self) -> tuple[str, ...]:
        """The command line that does this rebuild, without `retry`."""
        given = {
            "--work": self.work,
            "--suite-dir": self.directory,
            "--edition": self.edition,
            "--only": self.only and ",".join(map(str, self.only)),
            "--mirror": self.mirror,
            "--jobs": self.jobs,
        }
        options = [str(part) for name, value in given.items() if value is not None for part in (name, value)]
        flags = {"--allow-partial": self.allow_partial, "--skip-download": self.skip_download}
        return ("suite", "rebuild", *options, *(name for name, given in flags.items() if given))


class RebuildJob(Job):
    """A rebuild in a process of its own."""

    def __init__(self, work: Path, arguments: Sequence[str]):
        """Start it.

        Raises:
            RunError: the work folder cannot be made or written.
        """
        super().__init__(RebuildFiles(work).log, [*arguments, "--no-ui"])


class Interrupted(Exception):
    """A rebuild was stopped. code: what the process ends with."""

    def __init__(self, code: int):
        super().__init__("stopped; what is finished is kept, and the same command goes on from there")
        self.code = code


def run_rebuild(request: RebuildRequest, as_json: bool) -> Suite | None:
    """Rebuild with a display and a record, then write label file and row store; None when benchmarks failed, which is said
    on stderr.

    Raises:
        Interrupted: by a signal or from outside.
        SuiteError: the suite cannot be written.
    """
    from di_tui.display.rebuild import rebuild_display
    from suite_builder.row_index import RowIndex

    files = RebuildFiles(request.work)
    with locked(request.work):
        earlier = list(read_record(files))
        _end_leftovers(earlier)
        record = Record(files, request.rules.id, request.directory, request.mirror, request.arguments())
    try:
        with _steered(files, record) as proceed, rebuild_display(as_json) as display:

            def emit(event: Event) -> None:
                record.take(event)
                display.emit(event)
                proceed()

            failed = _build(request, {entry.event.catalog_id: entry.event.reason for entry in _failures(earlier)}, emit)
            if failed:
                record.take(Ended("failed", f"{len(failed)} failed"))
                return _tell(failed)
            record.take(Indexing())
            suite = Suite.open(request.directory, request.edition)
            RowIndex.require(suite).close()
            record.take(Ended("complete"))
            return suite
    except Interrupted as stop:
        record.take(Ended("interrupted", str(stop)))
        raise
    except SuiteError as error:
        record.take(Ended("failed", str(error)))
        raise
    finally:
        record.close()


def _tell(failed: dict[int, str]) -> None:
    for catalog_id, reason in failed.items():
        print(f"error: benchmark {catalog_id}: {reason}", file=sys.stderr)


def _build(request: RebuildRequest, reasons: dict[int, str], emit: Callable[[Event], None]) -> dict[int, str]:
    """Build what is asked for and write the suite; returns catalog id -> reason of what is missing.

    Args:
        reasons: why benchmarks failed in the rebuild before.
    """
    from suite_builder.build import rebuild

    missing = {key: reasons.get(key) or "not tried this time" for key in _left_out(request)}
    for key, reason in missing.items():
        emit(Stage(key, "sources", "failed", reason=reason))
    if missing and request.only is None and not request.allow_partial:
        return missing | _build_blocks(request, emit)
    result = rebuild(
        request.work,
        request.directory,
        request.rules,
        [key for key in request.wanted if key not in missing] if missing else request.only,
        request.mirror,
        request.allow_partial,
        emit,
        request.jobs,
        request.skip_download,
    )
    return missing | result.failed


def _left_out(request: RebuildRequest) -> list[int]:
    """What is missing and not to be tried."""
    if request.retry is None:
        return []
    from suite_builder.blocks import kept_block

    others = [key for key in request.wanted if key not in request.retry]
    return [key for key in others if not kept_block(benchmarks()[key], request.work)]


def _build_blocks(request: RebuildRequest, emit: Callable[[Event], None]) -> dict[int, str]:
    """Build the benchmarks to retry and no suite, which would lack others; returns what failed."""
    from suite_builder.schedule import build_blocks
    from suite_builder.store import Store

    tried = [benchmarks()[key] for key in request.wanted if key in request.retry]
    store = Store(request.work, request.mirror, not request.skip_download)
    with locked(request.work):
        return build_blocks(tried, store, request.jobs, emit)[1]


def _failures(record: Sequence) -> Iterator:
    return (entry for entry in record if isinstance(entry.event, Stage) and entry.event.state == "failed")


def _end_leftovers(record: Sequence) -> None:
    """End processes that an earlier rebuild held in a pause and could not let go, because it was killed itself. They hold
    files that this one needs."""
    last = next((entry.event for entry in reversed(record) if not isinstance(entry.event, Stage)), None)
    if not isinstance(last, Paused) or not isinstance(record[0].event, Began):
        return
    for pid, started in last.halted:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(pid)
            if abs(process.create_time() - started) < 1:
                process.kill()


@contextmanager
def _steered(files: RebuildFiles, record: Record) -> Iterator[Callable[[], None]]:
    """For the time of a `with` block: signals and the control file steer the rebuild. Yields what is to be called after every
    event; it returns when the rebuild may go on.

    Raises:
        Interrupted: a signal came, or a stop from outside, which ends the block at once.
    """
    control, received, over = Control(), [], threading.Event()
    control_file = ControlFile(files.control, control)

    def interrupt(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        control.stop(signal.Signals(number).name)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in HANDLED}
    watcher = threading.Thread(target=_watch, args=(control_file, record, received, over), name="rebuild-control", daemon=True)
    watcher.start()
    try:
        yield control.proceed
    except KeyboardInterrupt:
        raise Interrupted(128 + received[0]) from None
    finally:
        over.set()
        watcher.join()
        for number, handler in before.items():
            signal.signal(number, handler)


def _watch(control_file: ControlFile, record: Record, received: list[int], over: threading.Event) -> None:
    """Apply the control file's commands and show that the rebuild is alive, until it is over.

    Args:
        received: the signals that came; a stop from outside becomes one.
    """
    control, paused = control_file.control, False
    while not over.wait(SECONDS_BETWEEN_LOOKS):
        control_file.look()
        if control.paused:
            # Over and over: a process may have been about to start.
            halted = _signal_children(signal.SIGSTOP)
            if not paused:
                record.take(Paused(halted))
        elif paused:
            _signal_children(signal.SIGCONT)
            record.take(Resumed())
        paused = control.paused
        if control.stop_reason and not received:
            os.kill(os.getpid(), signal.SIGTERM)
            return
        record.show_life()
    if paused:
        _signal_children(signal.SIGCONT)


def _signal_children(number: int) -> tuple[tuple[int, float], ...]:
    """Send a signal to all processes that this one has started; returns their ids and start times."""
    reached = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
            reached.append((process.pid, process.create_time()))
    return tuple(reached)


def in_app(work: Path, arguments: Sequence[str]) -> int:
    """Start a rebuild as a job and show it in the app; returns its exit code, 0 when it was left going."""
    from di_tui.app import DiTui
    from di_tui.screens.rebuild import RebuildScreen

    job = RebuildJob(work, arguments)
    app = DiTui(first=lambda: RebuildScreen(work, job))
    app.run()
    return after_the_app(app.job or job, f"di-tui watch {work}")
