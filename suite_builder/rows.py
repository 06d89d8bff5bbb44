"""The row types of a suite: a `Request` is what an engine answers, a `Label` is what scoring needs of it."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import orjson
from msgspec import MsgspecError, Raw, Struct, field
from msgspec.json import Decoder, encode

from suite_builder.errors import SuiteError

Parsed = TypeVar("Parsed")

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
GROUPING_FACTS = frozenset(
    ("subject", "variant", "song_id", "user_id", "gold_class", "question_roles", "direction", "domain", "locale")
)


@dataclass(frozen=True, slots=True)
class Label:
    """What scoring needs of a row, without its texts. The JSON fields are parsed when read.

    questions: question key -> [type, option keys], in the order of the row; a noul has the options `false` and `true`,
        a score its levels from 0.
    texts: question key -> label texts of its options; the label text is the JSON text of the option's description
        (keys sorted, non-ASCII raw) or the key itself when there is none.
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
    questions_json: str
    texts_json: str
    gold_json: str
    scoring_json: str
    facts_json: str

    @property
    def questions(self) -> dict[str, list]:
        return orjson.loads(self.questions_json)

    @property
    def texts(self) -> dict[str, list[str]]:
        return orjson.loads(self.texts_json)

    @property
    def gold(self) -> dict[str, Any]:
        return orjson.loads(self.gold_json)

    @property
    def scoring(self) -> dict | None:
        return orjson.loads(self.scoring_json)

    @property
    def facts(self) -> dict[str, Any]:
        return orjson.loads(self.facts_json)


class _Evaluation(Struct):
    run_id: str
    catalog_id: int
    dataset: str
    track: str
    group_id: str
    payload_sha256: str
    proxy_tokens: int


class _Question(Struct):
    type: str
    criteria: dict[str, Raw] | list[Raw] | None = None

    @property
    def descriptions(self) -> Iterable[bytes]:
        """JSON texts of what is said of each option."""
        criteria = self.criteria or ()
        return map(bytes, criteria.values() if isinstance(criteria, dict) else criteria)


# Many rows ask the same questions: their key, their type and their option keys.
@lru_cache(maxsize=4096)
def _questions_text(asked: tuple[tuple[str, ...], ...]) -> str:
    return _text({name: [kind, keys] for name, kind, *keys in asked})


@lru_cache(maxsize=4096)
def _labels_text(kind: str, keys: tuple[str, ...], descriptions: tuple[bytes, ...]) -> str:
    """JSON text of the label texts of a question."""
    if kind == "noul":
        return _text(keys)
    return _text([_label_text(key, orjson.loads(text)) for key, text in zip(keys, descriptions, strict=True)])


class RawRow(Struct):
    """A row as far as cuts and labels need it. Its texts make no objects, and are only checked to be JSON."""

    evaluation: _Evaluation = field(name="_evaluation")
    state: Raw
    questions: dict[str, _Question]
    expected: Raw = Raw(b"null")
    scoring_raw: Raw = field(name="scoring", default=Raw(b"null"))
    metadata: dict[str, Raw] | None = None
    provenance: dict[str, Raw] | None = None

    @classmethod
    def from_line(cls, line: bytes) -> "RawRow":
        """Parse one line of a row file.

        Raises:
            ValueError: the line is not a JSON object, or lacks a key that a row has; the message says which.
        """
        try:
            return _decode(line)
        except MsgspecError as error:
            Request.from_line(line)
            raise ValueError(f"not a suite row: {error}") from None

    @property
    def run_id(self) -> str:
        return self.evaluation.run_id

    @property
    def catalog_id(self) -> int:
        return self.evaluation.catalog_id

    @property
    def group_id(self) -> str:
        return self.evaluation.group_id

    @property
    def scoring(self) -> dict | None:
        return orjson.loads(bytes(self.scoring_raw))

    def label(self) -> Label:
        """What scoring needs of the row."""
        return Label(*self.label_fields())

    def label_fields(self, with_texts: bool = True) -> tuple[Any, ...]:
        """The fields of its label, in order; `texts` stays empty when nobody counts by label texts."""
        facts = self.evaluation
        asked = tuple([(name, own.type, *option_keys(own.type, own.criteria)) for name, own in self.questions.items()])
        grouping = {key: own[key] for own in (self.provenance, self.metadata) if own for key in own if key in GROUPING_FACTS}
        return (
            facts.run_id,
            facts.catalog_id,
            facts.dataset,
            facts.track,
            facts.group_id,
            facts.payload_sha256,
            facts.proxy_tokens,
            _questions_text(asked),
            self._texts_text(asked) if with_texts else "{}",
            bytes(self.expected).decode(),
            bytes(self.scoring_raw).decode(),
            encode(grouping).decode(),
        )

    def _texts_text(self, asked: tuple[tuple[str, ...], ...]) -> str:
        """JSON text of the label texts of every question."""
        described = zip(asked, self.questions.values(), strict=True)
        texts = ((name, _labels_text(kind, tuple(keys), tuple(own.descriptions))) for (name, kind, *keys), own in described)
        return "{" + ",".join([f"{_text(name)}:{text}" for name, text in texts]) + "}"


_decode = Decoder(RawRow).decode


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()


def option_keys(kind: str, criteria: dict | list | None) -> Iterable[str]:
    """Keys of the options of a question."""
    if kind == "noul":
        return "false", "true"
    return criteria if kind == "choice" else [str(level) for level in range(len(criteria))]


_TEXT = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


def _label_text(key: str, description: Any) -> str:
    return key if description is None else _TEXT.encode(description)


def parse_lines(
    lines: Iterable[bytes], name: str, parse: Callable[[bytes], Parsed] = Request.from_line, first: int = 1
) -> Iterator[tuple[bytes, Parsed]]:
    """Yield (line, what `parse` makes of it) of a row file, or of a part of it that starts with line number `first`.

    Raises:
        SuiteError: a line is malformed; the message names the file and the line number.
    """
    for number, line in enumerate(lines, start=first):
        try:
            yield line, parse(line)
        except ValueError as error:
            raise SuiteError(f"{name}, line {number}: {error}") from None
