"""Decides when errors should end a run. Asked by worker threads as outcomes come, so that not one request too many is asked."""

import threading
from collections.abc import Iterable

from engines.base import Outcome
from engines.results import status_of

ERRORS_BEFORE_FIRST_SUCCESS = 5


class ErrorWatch:
    """Counts errors in a row: five before the run's first success, later `in_a_row`, are enough."""

    def __init__(self, in_a_row: int, succeeded: bool):
        self._lock = threading.Lock()
        self._limit = in_a_row
        self._succeeded = succeeded
        self._errors = 0

    def take(self, outcomes: Iterable[Outcome]) -> str | None:
        """Count outcomes; returns why the run should end once there are too many errors."""
        with self._lock:
            for outcome in outcomes:
                failed = status_of(outcome) == "error"
                self._succeeded |= not failed
                self._errors = self._errors + 1 if failed else 0
                if self._errors >= (self._limit if self._succeeded else ERRORS_BEFORE_FIRST_SUCCESS):
                    return self._reason(outcome)
            return None

    def _reason(self, last: Outcome) -> str:
        when = "in a row" if self._succeeded else "before the first success"
        return (
            f"{self._errors} errors {when}, the last: {last}. "
            "Mend the cause and run the same command again: errors are asked again."
        )
