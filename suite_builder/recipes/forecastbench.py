"""ForecastBench: whether an event, or every event of a combination, comes about."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import filter as matching
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.records import naming, places
from suite_builder.rows import sha256_text
from suite_builder.sources import pinned

CATALOG_ID = 48
STYLE = PLAIN

TRACK = "ForecastBench-binary"
QUESTIONS = "datasets/question_sets/{}"
RESOLUTIONS = "datasets/resolution_sets/*_resolution_set.json"
FIRST_DAY, LAST_DAY = "2026-07-01", "2026-09-18"

MARKETS = ("manifold", "metaculus", "polymarket", "infer", "kalshi")
DATA_SOURCES = ("acled", "dbnomics", "fred", "yfinance", "wikipedia")
EVENT_KEYS = (
    "question", "background", "resolution_criteria", "source_intro", "market_info_open_datetime",
    "market_info_close_datetime", "market_info_resolution_criteria", "url", "freeze_datetime",
)
VALUE_KEYS = ("freeze_datetime_value", "freeze_datetime_value_explanation")  # a market's would be its probability

POLICY = (
    "Use the frozen pre-forecast information below. No browsing. Market aggregate probability is omitted in this"
    " unaided track."
)
EVENT_INSTRUCTIONS = (
    "Estimate the probability that the event in state resolves Yes, using only information available as of the"
    " forecast date."
)
COMBINATION_INSTRUCTIONS = (
    "Estimate the probability that ALL component events have their specified required_outcome. This is a joint"
    " conjunction probability, not a conditional probability. Use only information available as of the forecast date."
)
CRITERIA = {
    "yes": "The specified event/conjunction occurs.",
    "no": "The specified event/conjunction does not occur.",
}
SCORING = {
    "type": "forecast_probability",
    "scorer": "evaluation.adapters.forecastbench:score_probability",
    "primary": "Brier score",
    "secondary": ["log_loss", "accuracy"],
}
CUTOFF = (
    "User accepts resolutions July2026 onward; Jev knowledge cutoff is unpublished, so contamination is not certified."
)

Record = Mapping[str, Any]


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per usable resolution, files in name order; of those that ask the same, the first.

    Raises:
        ValueError: a malformed record, or one at odds with another; names file and record.
    """
    answers: dict[str, str] = {}
    for path in sorted(matching(files, RESOLUTIONS)):
        forecasts = Round(files, path)
        for index, (place, resolution) in enumerate(places(path, forecasts.resolutions)):
            with naming(place):
                question = forecasts.questions.get(_key(resolution))
                if question is None or not _is_usable(resolution, question, forecasts.due):
                    continue
                row = forecasts.row(index, resolution, question)
                asked = {"state": row["state"], "questions": row["questions"]}
                fingerprint, answer = sha256_text(json.dumps(asked, sort_keys=True)), row["expected"]["answer"]
                if fingerprint not in answers:
                    answers[fingerprint] = answer
                    yield TRACK, row
                elif answers[fingerprint] != answer:
                    raise ValueError("an earlier record asks the same and has the other answer")


def _key(record: Record) -> tuple:
    """(source, id) of a question or resolution; the id of a combination is a tuple."""
    return record["source"], tuple(record["id"]) if isinstance(record["id"], list) else record["id"]


def _is_usable(resolution: Record, question: Record, due: str) -> bool:
    """Whether it is resolved to yes or no, inside the window, and says which outcomes a combination asks for."""
    outcome, direction, components = resolution["resolved_to"], resolution["direction"], question.get("combination_of")
    return (
        resolution["resolved"] is True
        and type(outcome) in (int, float)
        and outcome in (0, 1)
        and max(FIRST_DAY, due) <= resolution["resolution_date"] <= LAST_DAY
        and (direction is None or isinstance(components, list) and _are_signs(direction, len(components)))
    )


def _are_signs(direction: Any, count: int) -> bool:
    return isinstance(direction, list) and len(direction) == count and all(sign in (1, -1) for sign in direction)


class Round:
    """A resolution file and the question file that it names. due: the day as of which forecasts are made."""

    def __init__(self, files: Mapping[str, Path], path: str):
        self.stem = Path(path).stem
        resolved, *self._resolution_source = _load(files, path)
        with naming(path):
            self.due, self.resolutions = resolved["forecast_due_date"], resolved["resolutions"]
            question_path = QUESTIONS.format(resolved["question_set"])
        asked, *self._question_source = _load(files, question_path)
        with naming(question_path):
            if asked["forecast_due_date"] != self.due:
                raise ValueError(f"it is due on {asked['forecast_due_date']}, but {path} on {self.due}")
            self.questions = {_key(question): question for question in asked["questions"]}
            if len(self.questions) != len(asked["questions"]):
                raise ValueError("two questions have the same source and id")

    def row(self, index: int, resolution: Record, question: Record) -> dict[str, Any]:
        """The row of the resolution at `index`."""
        day, direction = resolution["resolution_date"], resolution["direction"]
        components = _components(question, direction)
        (question_path, question_sha256), (path, sha256) = self._question_source, self._resolution_source
        instructions = EVENT_INSTRUCTIONS if direction is None else COMBINATION_INSTRUCTIONS
        return {
            "id": f"ForecastBench:{self.stem}:{index}",
            "family": TRACK,
            "split": "evaluation-only",
            "state": {
                "forecast_as_of": self.due,
                "resolution_date": day,
                "information_policy": POLICY,
                **_told([self._event(component, day) for component in components], direction),
            },
            "questions": {"answer": choice(instructions, CRITERIA)},
            "expected": {"answer": "yes" if resolution["resolved_to"] else "no"},
            "scoring": SCORING,
            "metadata": {
                "group_id": f"{self.stem}:{index}",
                "underlying_event_groups": [f"{component['source']}:{component['id']}" for component in components],
                "round": self.due,
                "direction": direction,
                "source": question["source"],
                "resolution_date": day,
                "provenance": {
                    "question_source": question_path,
                    "resolution_source": path,
                    "resolution_index": index,
                    "question_sha256": question_sha256,
                    "resolution_sha256": sha256,
                },
                "cutoff_assumption": CUTOFF,
            },
        }

    def _event(self, question: Record, day: str) -> dict[str, Any]:
        """What is told of a question, with its placeholders for the two days filled in."""
        event = {key: question[key] for key in EVENT_KEYS if question.get(key, "N/A") != "N/A"}
        if question["source"] in DATA_SOURCES:
            event |= {key: question[key] for key in VALUE_KEYS if key in question}
        elif question["source"] not in MARKETS:
            raise ValueError(f"unknown source {question['source']!r}")
        if event.get("freeze_datetime", "")[:10] > self.due:
            raise ValueError(f"it was frozen on {event['freeze_datetime']}, after it was due on {self.due}")
        for key, value in event.items():
            if isinstance(value, str):
                event[key] = value.replace("{forecast_due_date}", self.due).replace("{resolution_date}", day)
        return event


def _components(question: Record, direction: Sequence | None) -> list[Record]:
    """The questions that it is made of; one without direction is made of itself."""
    components = [question] if direction is None else question["combination_of"]
    ids = [component["id"] for component in components]
    if ids != (question["id"] if isinstance(question["id"], list) else [question["id"]]):
        raise ValueError(f"question {question['id']} is made of {ids}")
    return components


def _told(events: list[dict], direction: Sequence | None) -> dict[str, Any]:
    """The part of a state that tells of its one event, or of all with the outcome that is asked for."""
    if direction is None:
        return {"event": events[0]}
    outcomes = ("yes" if sign == 1 else "no" for sign in direction)
    return {
        "component_events": [
            {"name": f"event_{number}", "event": event, "required_outcome": outcome}
            for number, (event, outcome) in enumerate(zip(events, outcomes), start=1)
        ]
    }


def _load(files: Mapping[str, Path], path: str) -> tuple[dict[str, Any], str, str]:
    """Content of a source file, the path that rows give for it and its sha256."""
    if path not in files:
        raise ValueError(f"{path} is not among the source files")
    data = files[path].read_bytes()
    folder = pinned(CATALOG_ID, RESOLUTIONS).row_path.removesuffix(RESOLUTIONS)
    with naming(path):
        return json.loads(data), folder + path, hashlib.sha256(data).hexdigest()
