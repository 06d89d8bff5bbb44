"""Rows of a list of requests, one a scored field, each made when it comes into view."""

import re

import numpy as np
from rich.text import Text

from di_tui.display.run import latency
from di_tui.request_list import judged
from di_tui.shapes import STATUSES as MARKS
from di_tui.shapes import bar
from di_tui.widgets.columns import Column
from di_tui.widgets.line_view import printable
from di_tui.widgets.row_table import LazyRows, Row
from scoring.answers import STATUSES
from scoring.cases import Cases

BAR = 8
_NUMBERED = re.compile(r"(option|k)_[0-9a-f]+")
COLUMNS = (
    Column("mark", "", 1),
    Column("run_id", "Request", 22, grow=40),
    Column("benchmark", "Benchmark", 14, drop=2, grow=10),
    Column("question", "Question", 12, drop=4, grow=14),
    Column("gold", "Gold", 12, grow=20),
    Column("prediction", "Answer", 12, grow=20),
    Column("probability", "Sure", 5, "right"),
    Column("bar", "", BAR, drop=5),
    Column("status", "Status", 13, drop=3),
    Column("latency", "Latency", 10, "right", drop=1),
)


class RequestRows(LazyRows):
    """Rows of fields of a run; a row's key is its field.

    Args:
        fields: which ones, in their order. one_benchmark: they are all of one, which goes without saying then.
    """

    def __init__(self, cases: Cases, fields: np.ndarray, one_benchmark: bool):
        self.cases = cases
        self.fields = fields
        self._one_benchmark = one_benchmark
        self._judged = judged(cases)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, place: int) -> Row:
        field = int(self.fields[place])
        return Row(field, self._cells(field))

    def place_of(self, key: int) -> int | None:
        places = np.flatnonzero(self.fields == key)
        return int(places[0]) if len(places) else None

    def _cells(self, field: int) -> dict[str, Text | str]:
        cases, gold = self.cases, self.cases.gold
        position = int(gold.request[field])
        status = STATUSES[cases.status[position]]
        run_id, wall_ms = gold.run_ids[position], float(cases.answers.wall_ms[position])
        cells: dict[str, Text | str] = {
            "run_id": short_id(run_id),
            "benchmark": "" if self._one_benchmark else gold.columns.dataset[position],
            "question": printable(gold.name(field)),
            "status": status_text(status),
            "latency": "–" if np.isnan(wall_ms) else latency(wall_ms),
        }
        right = bool(cases.hit[field]) if self._judged[field] else None
        return {**cells, **answer_cells(cases, field, right)}


def short_id(run_id: str) -> str:
    """A run id without the catalog id and the name of the benchmark, which also stand elsewhere."""
    _catalog, name, *rest = run_id.split(":", 3) if run_id.count(":") > 1 else ("", "", run_id)
    return ":".join(rest[1:] if len(rest) > 1 and rest[0].lower() == name.lower() else rest)


def columns(one_benchmark: bool) -> tuple[Column, ...]:
    """The columns of such a list."""
    return tuple(column for column in COLUMNS if not (one_benchmark and column.key == "benchmark"))


def answer_cells(cases: Cases, field: int, right: bool | None) -> dict[str, Text | str]:
    """Mark, gold and given answer of a field with its probability. right: None for neither right nor wrong."""
    option, predicted = int(cases.gold.gold[field]), int(cases.answers.predicted[field])
    style = {True: "good", False: "bad", None: ""}[right]
    given = option_text(cases, field, predicted) if predicted >= 0 else cases.predicted_key(field)
    number = float(cases.answers.p_prediction[field])
    unsure = np.isnan(number)
    return {
        "mark": Text({True: "✓", False: "×", None: "·"}[right], style=style or "muted"),
        "gold": printable(option_text(cases, field, option)) if option >= 0 else "–",
        "prediction": Text("–", style="muted") if given is None else Text(printable(given), style=style),
        "probability": "–" if unsure else f"{number:.3f}",
        "bar": "" if unsure else Text(bar(number, BAR), style=style or "muted"),
    }


def option_text(cases: Cases, field: int, option: int) -> str:
    """The key of an option, or its description where the key is only a number and the description is known."""
    key = cases.gold.key(field, option)
    if not _NUMBERED.fullmatch(key):
        return key
    try:
        text = cases.gold.texts(field)[option]
    except KeyError:  # rows without a label file are read without the texts that scoring does not need
        return key
    return text[1:-1] if text.startswith('"') else key


def status_text(status: str) -> Text:
    """A status of a request with its symbol."""
    mark = MARKS.get(status)
    return Text(f"{mark.symbol} {status}", style=mark.style) if mark else Text(f"· {status}", style="muted")
