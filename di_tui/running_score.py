"""How many answers of a run are right so far, by benchmark: a rough figure to watch, not the benchmark's metric.

Where being right is not a matter of single answers (rankings, routes, forecasts, ties), nothing is counted.
"""

from collections import Counter
from functools import lru_cache
from typing import Any

import orjson

from scoring.benchmarks import BENCHMARKS, DEFAULT, EXACT
from scoring.gold import option_key
from suite_builder.row_index import RowIndex

COLUMNS = ("questions_json", "gold_json", "scoring_json")

NOTHING = (0, 0)


class RunningScore:
    """Holds the gold answers of a suite, and what was right."""

    def __init__(self, index: RowIndex):
        table = index.columns(("run_id", *COLUMNS))
        self._places = {run_id: place for place, run_id in enumerate(table["run_id"].to_pylist())}
        columns = [table[name].combine_chunks() for name in COLUMNS]
        self._codes = [column.indices.to_pylist() for column in columns]
        self._texts = [column.dictionary.to_pylist() for column in columns]
        self._gold_of = lru_cache(maxsize=4096)(self._read_gold)
        self._right: Counter[int] = Counter()
        self._asked: Counter[int] = Counter()

    def judge(self, run_id: str, catalog_id: int, response: Any) -> tuple[int, int]:
        """What a result is worth, (right, asked): its scored answers, or the one whole where only a whole counts.

        Args:
            response: None for a request that was not answered, which counts as wrong.
        """
        place = self._places.get(run_id)
        if place is None or not _is_counted(catalog_id):
            return NOTHING
        gold = self._gold_of(catalog_id, *[codes[place] for codes in self._codes])
        answers = response.get("answers") if isinstance(response, dict) else None
        right = sum(_choice(answers.get(name)) == key for name, key in gold) if isinstance(answers, dict) else 0
        if BENCHMARKS.get(catalog_id, DEFAULT).metric == EXACT:
            return int(right == len(gold)), 1
        return right, len(gold)

    def _read_gold(self, catalog_id: int, questions: int, gold: int, scoring: int) -> tuple[tuple[str, str | None], ...]:
        """(question, gold option key) of the scored questions."""
        names, expected, block = (orjson.loads(own[code]) for own, code in zip(self._texts, (questions, gold, scoring), strict=True))
        rule = BENCHMARKS.get(catalog_id, DEFAULT)
        return tuple((name, option_key((expected or {}).get(name))) for name in names if rule.scores(name, block or {}))

    def add(self, catalog_id: int, right: int, asked: int) -> None:
        """Count what a result is worth; negative numbers take one back."""
        self._right[catalog_id] += right
        self._asked[catalog_id] += asked

    def shares(self) -> dict[int, float]:
        """Catalog id -> share that is right, of the benchmarks where that means something."""
        return {key: self._right[key] / asked for key, asked in self._asked.items() if asked}


def _is_counted(catalog_id: int) -> bool:
    rule = BENCHMARKS.get(catalog_id, DEFAULT)
    return rule.by_field and not rule.accepts_ties and rule.reads == "choice"


def _choice(answer: Any) -> str | None:
    """Key of the option that an answer names, as scoring reads it: of a noul `true` from 0.5 on, of a score the most probable
    level. None where it names none."""
    try:
        match answer["type"]:
            case "choice":
                return answer["choice"]
            case "noul":
                return "true" if answer["noul"] >= 0.5 else "false"
            case "score":
                levels = answer["probabilities"]
                return max(sorted(levels, key=int), key=levels.get)
    except (AttributeError, KeyError, TypeError, ValueError):
        pass
    return None
