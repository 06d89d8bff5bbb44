"""Which fields of a run's requests are listed, and in what order; and search in their texts. Knows no screen."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import orjson

from scoring.answers import ERROR, OK, STATUSES
from scoring.cases import Cases
from suite_builder.rows import Request

CONFIDENT = 0.9
UNSUPPORTED = STATUSES.index("unsupported")
# A search lets the thread that draws have its turn: after so many seconds, for so many.
SECONDS_AT_A_TIME, PAUSE = 0.01, 0.002


class Filter(NamedTuple):
    """Some of the fields. word: how it is called. holds: cases -> by field, whether it is one of them."""

    word: str
    holds: Callable[[Cases], np.ndarray]


class Order(NamedTuple):
    """An order of fields. word: how it is called. values: cases -> by field, what comes first; nan is last."""

    word: str
    values: Callable[[Cases], np.ndarray]


def wrong(cases: Cases) -> np.ndarray:
    """By field, whether it is answered and the answer is not right; never where fields are not right or wrong one by one."""
    return judged(cases) & ~cases.hit


def judged(cases: Cases) -> np.ndarray:
    """By field, whether it is answered, and right or wrong by itself."""
    catalog_id = cases.gold.catalog_id
    judging = [key for key in np.unique(catalog_id).tolist() if cases.rule_of(key).by_field]
    return (np.isin(catalog_id, judging) & (cases.status == OK))[cases.gold.request]


def _with_status(status: int) -> Callable[[Cases], np.ndarray]:
    return lambda cases: (cases.status == status)[cases.gold.request]


FILTERS = {
    "all": Filter("all", lambda cases: np.ones(len(cases.gold.asked), bool)),
    "wrong": Filter("wrong", wrong),
    "confident": Filter(
        f"wrong and at least {CONFIDENT:.0%} sure", lambda cases: wrong(cases) & (cases.answers.p_prediction >= CONFIDENT)
    ),
    "unsupported": Filter("unsupported", _with_status(UNSUPPORTED)),
    "error": Filter("errors", _with_status(ERROR)),
    "unanswered": Filter("not answered", lambda cases: (cases.status != OK)[cases.gold.request]),
}
ORDERS = {
    "suite": Order("as in the suite", lambda cases: np.zeros(len(cases.gold.asked))),
    "surest": Order("surest first", lambda cases: -cases.answers.p_prediction),
    "least sure": Order("least sure first", lambda cases: cases.answers.p_prediction),
    "slowest": Order("slowest first", lambda cases: -cases.answers.wall_ms[cases.gold.request]),
}


def fields_of(cases: Cases, catalog_id: int | None) -> np.ndarray:
    """All fields of a benchmark, or of the run."""
    gold = cases.gold
    return np.arange(len(gold.asked)) if catalog_id is None else np.flatnonzero((gold.catalog_id == catalog_id)[gold.request])


def chosen(cases: Cases, fields: np.ndarray, kind: str, order: str, found: np.ndarray | None = None) -> np.ndarray:
    """Those of some fields that a filter lets through, in an order.

    Args:
        kind, order: keys of FILTERS and ORDERS. found: by request, whether a search found it.
    """
    holds = FILTERS[kind].holds(cases)
    if found is not None:
        holds = holds & found[cases.gold.request]
    kept = fields[holds[fields]]
    return kept[np.argsort(ORDERS[order].values(cases)[kept], kind="stable")]


@dataclass
class Search:
    """A search for a text in the states and questions of requests, upper and lower case alike; one thread runs it while
    others look.

    positions: of the requests to search, in all cases. found: by request. done: how many are searched.
    running: whether it goes on; setting it to False stops it.
    """

    text: str
    positions: np.ndarray
    found: np.ndarray
    done: int = 0
    running: bool = True

    def run(self, cases: Cases, row: Callable[[str], Request]) -> None:
        """Search.

        Args:
            row: reads a request by its run id.
        """
        wanted, paused = _folded(self.text)[1:-1], time.monotonic()
        for position in self.positions.tolist():
            if not self.running:
                return
            if time.monotonic() - paused > SECONDS_AT_A_TIME:
                time.sleep(PAUSE)
                paused = time.monotonic()
            request = row(cases.gold.run_ids[position])
            self.found[position] = wanted in _folded([request.state, request.questions])
            self.done += 1
        self.running = False


def _folded(value: object) -> str:
    return orjson.dumps(value).decode().lower()
