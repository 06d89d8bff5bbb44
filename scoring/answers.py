"""The results of a run as columns over the rows: what was answered, how likely each option was held, what is invalid.

Whether a benchmark can use what was read is for cases.py to say.
"""

import math
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np

from engines.results import STATUSES as RESULT_STATUSES
from scoring.gold import NO_OPTION, Gold

STATUSES = ("pending", *RESULT_STATUSES)
CODES = {status: code for code, status in enumerate(STATUSES)}
PENDING, OK, ERROR = map(CODES.get, ("pending", "ok", "error"))
# Places of predictions that are no option: no readable answer, and a text that is not among the options.
UNREADABLE, STRANGE = NO_OPTION, -2
PROBABILITIES = ("p_gold", "p_prediction", "p_yes", "p_squares")


@dataclass
class Others:
    """Results of run ids that are no request of the edition: how many by status, and milliseconds of the ok ones.

    strangers: those that are not excluded rows either. first: the alphabetically first of them.
    """

    counts: Counter[str] = field(default_factory=Counter)
    times: list[float] = field(default_factory=list)
    strangers: int = 0
    first: str | None = None

    def add(self, run_id: str, status: int, wall_ms: float, excluded: Collection[str]) -> None:
        """Count one more."""
        self.counts[STATUSES[status]] += 1
        if status == OK and not math.isnan(wall_ms):
            self.times.append(wall_ms)
        if run_id not in excluded:
            self.strangers += 1
            self.first = min(self.first or run_id, run_id)


@dataclass
class Answers:
    """The last result of every request.

    status: by request, place in STATUSES. wall_ms: by request, milliseconds of the engine call; nan when not told.
    predicted: by field, place of the chosen option, UNREADABLE or STRANGE; of a score the most probable level.
    p_gold, p_prediction, p_yes: by field, probability of the gold option, of the predicted one and of the key `yes`; nan
        where there is no such option or no number in [0, 1] for it. p_squares: sum of squares over all options.
    strange: field -> chosen text that is no option. problems: request -> what is invalid about an ok result.
    repeated: run ids with several final results that differ.
    """

    status: np.ndarray
    wall_ms: np.ndarray
    predicted: np.ndarray
    p_gold: np.ndarray
    p_prediction: np.ndarray
    p_yes: np.ndarray
    p_squares: np.ndarray
    strange: dict[int, str] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    others: Others = field(default_factory=Others)
    repeated: list[str] = field(default_factory=list)

    @classmethod
    def none(cls, gold: Gold) -> "Answers":
        """Every request pending."""
        fields = len(gold.asked)
        return cls(
            np.full(len(gold), PENDING, np.int8),
            np.full(len(gold), np.nan),
            np.full(fields, UNREADABLE, np.int32),
            *(np.full(fields, np.nan) for _name in PROBABILITIES),
        )

    def take(self, gold: Gold, positions: np.ndarray) -> "Answers":
        """The answers of some of the requests of `gold`, in this order."""
        fields = gold.fields_of(positions)
        new_field = {old: new for new, old in enumerate(fields.tolist())}
        new_position = {old: new for new, old in enumerate(positions.tolist())}
        by_field = (getattr(self, name)[fields] for name in ("predicted", *PROBABILITIES))
        return Answers(
            self.status[positions],
            self.wall_ms[positions],
            *by_field,
            strange={new_field[old]: text for old, text in self.strange.items() if old in new_field},
            problems={new_position[old]: text for old, text in self.problems.items() if old in new_position},
        )
