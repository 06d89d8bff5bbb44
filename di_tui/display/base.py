"""What every display of a job can do, and which one fits where the output goes."""

import os
import sys
from abc import ABC, abstractmethod
from typing import Any


class Display(ABC):
    """Shows one job. Use as a context manager; `emit` takes the job's events from the job's own thread."""

    def __enter__(self) -> "Display":
        return self

    def __exit__(self, *_exception: object) -> None:
        """Leave the terminal as it was."""

    @abstractmethod
    def emit(self, event: Any) -> None:
        """Take one event."""


def for_programs(as_json: bool) -> bool:
    """Whether a program reads the output: on request, or when it does not go to a terminal that can redraw."""
    return as_json or not sys.stdout.isatty() or os.environ.get("TERM") == "dumb"
