"""A run as a person describes it: what is filled in, what is wrong with it, and the command line that it comes to.

Knows no screen.
"""

import shlex
from dataclasses import dataclass
from pathlib import Path

import typer

from di_tui.liveness import writer_of
from di_tui.options import parse_options
from di_tui.run_list import is_run_dir
from engines.base import SHIPPED
from engines.run_dir import RunDir, RunError, heartbeat
from suite_builder.errors import SuiteError
from suite_builder.suite import Suite

NEED_URL = ("http", "openai")
NEED_MODEL = ("transformers", "vllm", "openai")


@dataclass(frozen=True)
class RunForm:
    """The texts of the fields; empty where nothing was filled in.

    engine: a shipped name or `module:Class`. options: `NAME=VALUE` texts, quoted as in a shell. suite: a suite directory or a
    rows file such as a sample. score: whether the run is scored when it is complete.
    """

    engine: str = ""
    model: str = ""
    url: str = ""
    options: str = ""
    suite: str = ""
    out: str = ""
    limit: str = ""
    score: bool = True

    def arguments(self) -> list[str]:
        """The command line after `di-tui`."""
        given = ["pipeline" if self.score else "run", "--engine", self.engine]
        if self.model:
            given += ["--model", self.model]
        if self.url and self.engine in NEED_URL:
            given += ["--option", f"base_url={self.url}"]
        for option in _words(self.options):
            given += ["--option", option]
        if self.suite:
            given += ["--rows" if Path(self.suite).is_file() else "--suite-dir", self.suite]
        if self.limit:
            given += ["--limit", self.limit]
        return [*given, "--out", self.out]

    def command(self) -> str:
        """The command line as it can be pasted into a shell."""
        return shlex.join(["di-tui", *self.arguments()])

    def errors(self) -> dict[str, str]:
        """Field -> what is wrong with it and what to do."""
        checks = {
            "engine": self._engine_error(),
            "model": "this engine needs a model" if self.engine in NEED_MODEL and not self.model else None,
            "url": self._url_error(),
            "options": self._options_error(),
            "suite": self._suite_error(),
            "out": self._out_error(),
            "limit": None if not self.limit or _is_count(self.limit) else "a whole number above 0, or nothing for all requests",
        }
        return {field: error for field, error in checks.items() if error}

    def _engine_error(self) -> str | None:
        module, _, name = self.engine.partition(":")
        own = name.isidentifier() and all(part.isidentifier() for part in module.split("."))
        return None if self.engine in SHIPPED or own else "module:Class, such as my_engines:Mine"

    def _url_error(self) -> str | None:
        if self.engine not in NEED_URL or self.url.startswith(("http://", "https://")):
            return None
        return "the address of the server, such as http://127.0.0.1:8000"

    def _options_error(self) -> str | None:
        try:
            parse_options(shlex.split(self.options))
        except ValueError as error:
            return f"{error}; put a value with blanks in quotes"
        except typer.BadParameter as error:
            return error.message
        return None

    def _suite_error(self) -> str | None:
        try:
            if not self.suite:
                return "a suite directory, or a rows file such as a sample"
            Suite.from_rows_file(self.suite) if Path(self.suite).is_file() else Suite.open(self.suite)
        except (SuiteError, OSError, KeyError, TypeError, AttributeError) as error:
            return str(error)
        return None

    def _out_error(self) -> str | None:
        if not self.out:
            return "the folder for the results"
        run_dir = RunDir(Path(self.out))
        if run_dir.path.is_file():
            return "this is a file; give a folder"
        try:
            writer = writer_of(run_dir, heartbeat(run_dir))
        except (RunError, OSError, AttributeError) as error:
            return str(error)
        return f"{writer} writes there now; watch it, or give another folder" if writer and writer.alive else None

    def note(self) -> str:
        """That a run is there already."""
        resumes = bool(self.out) and is_run_dir(Path(self.out))
        return "– a run is there already; this goes on with it, if engine and model are the same" if resumes else ""


def _words(text: str) -> list[str]:
    """The words of a text as a shell splits it; at an open quote as blanks do."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _is_count(text: str) -> bool:
    return text.isdecimal() and int(text) > 0


def usual_out(folder: Path, form: RunForm) -> str:
    """A run directory of a fitting name that is not there yet."""
    name = Path(form.model).name if form.model else form.engine.rpartition(":")[2]
    stem = "".join(letter if letter.isalnum() or letter in ".-_" else "-" for letter in name.lower()) or "run"
    candidates = (stem if number == 1 else f"{stem}-{number}" for number in range(1, 1000))
    return str(next((folder / one for one in candidates if not (folder / one).exists()), folder / stem))


def rows_nearby(folder: Path) -> list[str]:
    """Suite directories and samples directly in a folder, suites first, as seen from the working directory."""
    from di_tui.run_list import find_suites

    suites = [suite.path for suite in find_suites(folder) if not suite.problem]
    samples = sorted(path for pattern in ("*.jsonl.gz", "*.jsonl") for path in folder.glob(pattern))
    return [_shown(path) for path in (*suites, *samples)]


def _shown(path: Path) -> str:
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_absolute() and path.is_relative_to(here) else str(path)
