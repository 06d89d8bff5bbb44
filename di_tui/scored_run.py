"""A scored run as the screens read it: its scores, its cases, and any one request and result. Knows no screen.

What a run directory lacks is made first: a run without scores is scored, by `di-tui score` in a process of its own, which
leaves this one free to draw. Score files of another edition than the run's own, or that another program wrote, are not
replaced: those scores are made in a temporary folder. What is slow to import is imported where it is used, in a worker.
"""

import gc
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from functools import cached_property
from multiprocessing import resource_tracker
from pathlib import Path
from typing import TYPE_CHECKING, Any

from di_tui.result_index import ResultIndex
from engines.results import ResultsError
from engines.run_dir import RunDir, RunError, read_json
from scoring.errors import ScoreError
from suite_builder.errors import SuiteError
from suite_builder.rows import Request
from suite_builder.suite import Suite

if TYPE_CHECKING:
    from scoring.cases import Cases, Sheet
    from scoring.editions import Edition
    from suite_builder.row_index import RowIndex

SCORES, SUMMARY = "scores.json", "benchmark-summary.json"
CASES = "cases.parquet"  # written by this program only
NEWEST_KEY = "latency_mode"  # what scores.json has had since its last change
SECONDS_BETWEEN_LOOKS = 0.05
# What opening and reading a run may raise; each message is one line for a person.
PROBLEMS = (ResultsError, RunError, ScoreError, SuiteError)


class ScoredRun:
    """One run under one edition. `open` makes it.

    path: the run directory, or a results file. results: the file that was scored. scores: content of scores.json.
    p80_ms: latency that 80 % of the answered requests stay at or below, None without one; the board lists by it.

    `cases`, `sheets`, `row` and `result` read files when first asked, which may take seconds (minutes where the suite has no
    row store yet): call `prepare` in a worker first. From then on all of them are immediate, and safe in several threads.
    """

    def __init__(self, path: Path, suite: Suite, results: Path, scores: dict[str, Any], folder: Any = None):
        self.path = path
        self.name = path.name or str(path.absolute())
        self.suite = suite
        self.edition = _rules(suite.edition.id)
        self.results = results
        self.scores = scores
        self.p80_ms = _quantile(results.with_name(CASES), 0.8)
        self._folder = folder
        self._lock = threading.RLock()

    @classmethod
    def open(
        cls,
        path: Path,
        suite_dir: Path | None = None,
        edition: str | None = None,
        wanted: Callable[[], bool] = lambda: True,
    ) -> "ScoredRun":
        """Open a run directory or a results file, of this program or of the public kit; score it where that is due.

        Args:
            suite_dir: suite directory or loose rows file; by default what environment.json of the run names, else the
                edition's usual directory.
            edition: by default that of the run.
            wanted: asked while the run is being scored; scoring is given up when it says no.

        Raises:
            RunError: there is no run, or one of its files is broken.
            ResultsError, ScoreError, SuiteError: it cannot be scored; the message says what to do.
        """
        try:
            return cls._open(path, suite_dir, edition, wanted)
        except OSError as error:
            raise RunError(f"cannot read {error.filename or path}: {error.strerror or error}") from None

    @classmethod
    def _open(cls, path: Path, suite_dir: Path | None, edition: str | None, wanted: Callable[[], bool]) -> "ScoredRun":
        from di_tui.score_job import RESULTS, Place, find_suite

        results = path / RESULTS if path.is_dir() else path
        if not results.is_file():
            raise RunError(f"no results in {path}; give a run directory, `di-tui runs` lists them")
        is_rows = suite_dir is not None and suite_dir.is_file()
        place = Place(suite_dir if is_rows else None, None if is_rows else suite_dir, edition)
        suite = find_suite(results, place)
        folder = None
        if not _is_scored(results, suite):
            engine = (read_json(RunDir(results.parent).environment) or {}).get("engine") or results.parent.name
            if not _may_write(results, suite):
                folder = tempfile.TemporaryDirectory(prefix="di-tui-")
                results = _linked(results, Path(folder.name))
            _score(results, suite, engine, wanted)
        return cls(path, suite, results, read_json(results.with_name(SCORES)), folder)

    @cached_property
    def _cases(self) -> "Cases":
        from scoring.loading import load

        _let_processes_start()
        cases = load(self.suite, self.results, self.edition)
        # What was read stays: garbage collection leaves it out, as each full pass over it would hold up the screen.
        gc.freeze()
        return cases

    @property
    def cases(self) -> "Cases":
        """Rows and answers as columns."""
        with self._lock:
            return self._cases

    @cached_property
    def _sheets(self) -> dict[int, "Sheet"]:
        return self.cases.sheets()

    @property
    def sheets(self) -> dict[int, "Sheet"]:
        """Catalog id -> the cases of that benchmark, as columns."""
        with self._lock:
            return self._sheets

    @cached_property
    def _rows(self) -> "RowIndex":
        from suite_builder.row_index import RowIndex

        return RowIndex.require(self.suite)

    @property
    def rows(self) -> "RowIndex":
        """The suite's row store."""
        with self._lock:
            return self._rows

    @cached_property
    def _results(self) -> ResultIndex:
        return ResultIndex(self.results)

    @property
    def summary(self) -> dict[str, Any]:
        """Content of benchmark-summary.json."""
        return read_json(self.results.with_name(SUMMARY))

    def prepare(self) -> None:
        """Read what `cases`, `sheets`, `row` and `result` need.

        Raises:
            ResultsError, ScoreError, SuiteError: a file cannot be read.
        """
        run_ids = self.sheets and self.cases.gold.run_ids
        if run_ids:
            self.row(run_ids[0])
            self.result(run_ids[0])

    def row(self, run_id: str) -> Request:
        """The request with that run id.

        Raises:
            KeyError: the suite has no such row.
        """
        return self.rows.find(run_id)

    def result(self, run_id: str) -> dict[str, Any] | None:
        """The last result row of a request, None where it has none."""
        with self._lock:
            results = self._results
        return results.find(run_id)

    def close(self) -> None:
        """Let go of open files and of the temporary folder."""
        with self._lock:
            if "_rows" in self.__dict__:
                self._rows.close()
            if self._folder:
                self._folder.cleanup()


def _is_scored(results: Path, suite: Suite) -> bool:
    """Whether the score files beside the results are of these results and this edition."""
    from scoring.case_table import made_from

    scores = read_json(results.with_name(SCORES)) or {}
    return NEWEST_KEY in scores and _edition(scores) == suite.edition.id and made_from(results.with_name(CASES), results)


def _may_write(results: Path, suite: Suite) -> bool:
    """Whether score files may go beside the results: none are there yet, or those of this program and edition."""
    scores = read_json(results.with_name(SCORES))
    own = scores is None or (_edition(scores) == suite.edition.id and results.with_name(CASES).exists())
    return own and os.access(results.parent, os.W_OK)


def _quantile(cases: Path, share: float) -> float | None:
    """Quantile of the milliseconds of answered requests, as `scoring.metrics.p95` takes it: one that occurs."""
    import numpy as np
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(cases, columns=["run_id", "status", "wall_ms"]).combine_chunks()
    if not len(table):
        return None
    run_ids, answered = table["run_id"].chunk(0), pc.equal(table["status"], "ok").to_numpy()
    first = np.append(True, pc.not_equal(run_ids[1:], run_ids[:-1]).to_numpy(zero_copy_only=False))
    times = table["wall_ms"].to_numpy()[first & answered]
    times = np.sort(times[~np.isnan(times)])
    return float(times[int(share * (len(times) - 1))]) if len(times) else None


def _rules(edition_name: str) -> "Edition":
    from scoring.editions import edition

    return edition(edition_name)


def _edition(scores: dict[str, Any]) -> str:
    return scores.get("edition", "0.1")


def _let_processes_start() -> None:
    """Start the process that multiprocessing wants beside its own: it inherits stderr, and the one that Textual puts in its
    place has no descriptor to inherit."""
    with redirect_stderr(sys.__stderr__):
        resource_tracker.ensure_running()


def _linked(results: Path, folder: Path) -> Path:
    """A link to the results in a folder where score files may go beside it."""
    link = folder / results.name
    link.symlink_to(results.absolute())
    return link


def _score(results: Path, suite: Suite, engine: str, wanted: Callable[[], bool]) -> None:
    """Have the score files written beside the results.

    Raises:
        ScoreError: it cannot be done, or is no longer wanted.
    """
    rows = ("--suite-dir", suite.directory) if suite.directory else ("--rows", suite.files[0])
    options = "--results", results, *rows, "--edition", suite.edition.id, "--engine", engine, "--json"
    command = [sys.executable, "-m", "di_tui", "score", *options]
    with subprocess.Popen(
        list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None:
            if not wanted():
                process.terminate()
                raise ScoreError(f"scoring {results} was given up; it starts anew when the run is opened again")
            time.sleep(SECONDS_BETWEEN_LOOKS)
        lines = process.stderr.read().splitlines()
    if process.returncode:
        raise ScoreError(lines[-1].removeprefix("error: ") if lines else f"`di-tui score` ended with {process.returncode}")
