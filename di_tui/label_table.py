"""How often each label of a benchmark was right, chosen and found, and which were taken for which. Knows no screen."""

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from scoring.answers import OK
from scoring.cases import Sheet
from scoring.gold import NO_OPTION, distinct

NUMBERED = re.compile(r"[A-Z]|\d+|[a-z]+_[0-9a-f]+")  # option keys such as B, 3, option_17
MOST_LABELS = 200
FEWEST_A_LABEL = 2


class Label(NamedTuple):
    """One label. gold: fields for which it is right. predicted: fields for which it was chosen. hits: both."""

    name: str
    gold: int
    predicted: int
    hits: int

    @property
    def precision(self) -> float | None:
        return self.hits / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        return self.hits / self.gold if self.gold else None

    @property
    def f1(self) -> float:
        return 2 * self.hits / (self.gold + self.predicted)


class Confusion(NamedTuple):
    """Fields for which `gold` is right and `predicted` was chosen."""

    gold: str
    predicted: str
    count: int


@dataclass(frozen=True)
class LabelTable:
    """Labels by how often they are right, and wrong pairs by how often they occur, the most frequent first.

    by_key: labels are option keys, which may mean something else in every row. fields: how many were answered.
    """

    labels: list[Label]
    confusions: list[Confusion]
    by_key: bool
    fields: int


def label_table(cases: Sheet) -> LabelTable | None:
    """Labels of the answered fields of a benchmark: what options are called where that repeats, else their keys; None where
    neither does, or where fields are not right or wrong one by one."""
    gold, answers = cases.cases.gold, cases.cases.answers
    answered = (cases.status == OK)[cases.request] & (cases.gold != NO_OPTION) & (cases.predicted >= 0)
    if not cases.cases.rule_of(cases.catalog_id).by_field or not answered.any():
        return None
    fields = cases.fields[answered]
    texts = gold.columns.texts_json.codes[gold.request[fields]]
    options = gold.question[fields], gold.gold[fields], answers.predicted[fields]
    for by_key, name, columns in ((False, _namer(cases), (texts, *options)), (True, gold.key, options)):
        counts = _counted(fields, columns, name)
        if counts:
            return _table(counts, by_key)
    return None


def _namer(cases: Sheet) -> Callable[[int, int], str]:
    """What an option of a field is called: its key where that is a word, else its text."""
    gold = cases.cases.gold
    has_texts = gold.columns.texts_json[cases.positions[0]] != "{}"

    def name(place: int, option: int) -> str:
        key = gold.key(place, option)
        return gold.texts(place)[option].strip('"') if has_texts and NUMBERED.fullmatch(key) else key

    return name


def _counted(fields: np.ndarray, columns: tuple[np.ndarray, ...], name: Callable[[int, int], str]) -> Counter[tuple[str, str]] | None:
    """(gold, predicted) -> fields; None when labels do not repeat enough to tell anything.

    Args:
        columns: by field, what its labels depend on; the last two are the gold and the predicted option.
    """
    first, kind = distinct(*columns)
    counts: Counter[tuple[str, str]] = Counter()
    golds: set[str] = set()
    most = min(MOST_LABELS, max(len(fields) // FEWEST_A_LABEL, 2))
    for place, count in zip(first.tolist(), np.bincount(kind).tolist(), strict=True):
        gold, predicted = (name(int(fields[place]), int(column[place])) for column in columns[-2:])
        golds.add(gold)
        if len(golds) > most:
            return None
        counts[gold, predicted] += count
    return counts


def _table(counts: Counter[tuple[str, str]], by_key: bool) -> LabelTable:
    right, chosen = Counter(), Counter()
    for (gold, predicted), count in counts.items():
        right[gold] += count
        chosen[predicted] += count
    labels = [Label(name, right[name], chosen[name], counts[name, name]) for name in dict.fromkeys([*right, *chosen])]
    labels.sort(key=lambda own: (-own.gold, -own.predicted, own.name))
    wrong = [Confusion(*pair, count) for pair, count in counts.most_common() if pair[0] != pair[1]]
    return LabelTable(labels, wrong, by_key, counts.total())


class Bin(NamedTuple):
    """Requests that took from `low` up to `high` milliseconds."""

    low: float
    high: float
    count: int


def latency_bins(times: np.ndarray, count: int = 12) -> list[Bin]:
    """Histogram of milliseconds with bins of equal ratio, because times differ by orders of magnitude."""
    times = times[times > 0]
    if not len(times):
        return []
    low, high = float(times.min()), float(times.max())
    if high / low < 1.01:
        return [Bin(low, high, len(times))]
    edges = np.geomspace(low, high, count + 1)
    edges[0], edges[-1] = low, high
    counts, _edges = np.histogram(times, edges)
    return [Bin(*own) for own in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)]
