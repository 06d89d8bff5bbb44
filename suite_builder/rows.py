"""The row types of a suite: a `Request` is what an engine answers, a `Label` is what scoring needs of it."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import orjson

from suite_builder.errors import SuiteError

REFERENCE_MODEL = "jev-1.13.0"


def frozen_json(value: Any) -> str:
    """JSON text as the frozen files have it: compact, non-ASCII raw, floats as Python prints them, no NaN."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def payload_text(state: Any, questions: dict) -> str:
    """The text whose sha256 is a row's `payload_sha256`."""
    return frozen_json({"model": REFERENCE_MODEL, "state": state, "questions": questions})


def sha256_text(text: str) -> str:
    """Lower-case hex sha256 of the UTF-8 bytes of `text`."""
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Request:
    """One row: state and questions, with everything else of the row in `row`."""

    run_id: str
    catalog_id: int
    dataset: str
    track: str
    group_id: str
    payload_sha256: str
    proxy_tokens: int
    state: Any
    questions: dict[str, dict]
    row: dict[str, Any]

    @classmethod
    def from_line(cls, line: bytes) -> "Request":
        """Parse one line of a row file.

        Raises:
            ValueError: the line is not a JSON object, or lacks a key that a row has; the message says which.
        """
        row = orjson.loads(line)
        if not isinstance(row, dict):
            raise ValueError("not a JSON object")
        try:
            facts = row["_evaluation"]
            return cls(
                run_id=facts["run_id"],
                catalog_id=facts["catalog_id"],
                dataset=facts["dataset"],
                track=facts["track"],
                group_id=facts["group_id"],
                payload_sha256=facts["payload_sha256"],
                proxy_tokens=facts["proxy_tokens"],
                state=row["state"],
                questions=row["questions"],
                row=row,
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a suite row: {error} is missing or has the wrong type") from None

    @property
    def evaluation(self) -> dict[str, Any]:
        """The `_evaluation` block, which every result row starts with."""
        return self.row["_evaluation"]

    @property
    def scoring(self) -> dict | None:
        return self.row.get("scoring")

    def payload_matches(self) -> bool:
        """Whether state and questions still have the sha256 that the row claims."""
        return sha256_text(payload_text(self.state, self.questions)) == self.payload_sha256


# What scoring groups or reports by, out of a row's `metadata` and `provenance`.
GROUPING_FACTS = (
    "subject", "variant", "song_id", "user_id", "gold_class", "question_roles", "direction", "domain", "locale",
)


@dataclass(frozen=True, slots=True)
class Label:
    """What scoring needs of a row, without its texts. The four JSON fields are parsed when read.

    options: question key -> {option key -> label text}; the label text is the JSON text of the option's description
        (keys sorted, non-ASCII raw) or the key itself when there is none; a noul has the options `false` and `true`.
    gold: question key -> gold answer, as in the row's `expected`.
    scoring: the row's `scoring` block or None.
    facts: the entries of `metadata` and `provenance` named in GROUPING_FACTS that the row has.
    """

    run_id: str
    catalog_id: int
    dataset: str
    track: str
    group_id: str
    payload_sha256: str
    proxy_tokens: int
    options_json: str
    gold_json: str
    scoring_json: str
    facts_json: str

    @classmethod
    def from_request(cls, request: Request) -> "Label":
        row = request.row
        sources = (row.get("provenance") or {}, row.get("metadata") or {})
        facts = {key: source[key] for source in sources for key in GROUPING_FACTS if key in source}
        options = {key: option_labels(question) for key, question in request.questions.items()}
        return cls(
            run_id=request.run_id,
            catalog_id=request.catalog_id,
            dataset=request.dataset,
            track=request.track,
            group_id=request.group_id,
            payload_sha256=request.payload_sha256,
            proxy_tokens=request.proxy_tokens,
            options_json=frozen_json(options),
            gold_json=frozen_json(row.get("expected")),
            scoring_json=frozen_json(row.get("scoring")),
            facts_json=frozen_json(facts),
        )

    @property
    def options(self) -> dict[str, dict[str, str]]:
        return _parse_repeated(self.options_json)

    @property
    def gold(self) -> dict[str, Any]:
        return orjson.loads(self.gold_json)

    @property
    def scoring(self) -> dict | None:
        return orjson.loads(self.scoring_json)

    @property
    def facts(self) -> dict[str, Any]:
        return orjson.loads(self.facts_json)


@lru_cache(maxsize=256)
def _parse_repeated(text: str) -> dict:
    """Benchmarks with one fixed set of options repeat the same text thousands of times; the result is read only."""
    return orjson.loads(text)


def option_labels(question: dict) -> dict[str, str]:
    """Option key -> label text of one question, as F1 metrics count labels."""
    criteria = question.get("criteria")
    if question["type"] == "choice":
        return {key: _label_text(key, description) for key, description in criteria.items()}
    if question["type"] == "noul":
        return {"false": "false", "true": "true"}
    return {str(level): _label_text(str(level), description) for level, description in enumerate(criteria)}


def _label_text(key: str, description: Any) -> str:
    if description is None:
        return key
    return json.dumps(description, ensure_ascii=False, sort_keys=True)


def parse_lines(lines: Iterator[bytes], name: str) -> Iterator[tuple[bytes, Request]]:
    """Yield (line, request) of a row file.

    Raises:
        SuiteError: a line is malformed; the message names the file and the line number.
    """
    for number, line in enumerate(lines, start=1):
        try:
            yield line, Request.from_line(line)
        except ValueError as error:
            raise SuiteError(f"{name}, line {number}: {error}") from None
