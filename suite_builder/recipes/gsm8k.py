"""GSM8K: grade-school arithmetic; the right number among 4 or 10, the wrong ones derived from it by fixed steps."""

import random
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice, numbered
from suite_builder.recipes.records import json_lines, naming, parquet_records, typed
from suite_builder.sources import pinned

CATALOG_ID = 30
STYLE = PLAIN

FILE = "main/test-00000-of-00001.parquet"
EQUAL_FILE = "grade_school_math/data/test.jsonl"
SEED = 20260917
COUNTS = (4, 10)
STEPS = (-10, -5, -2, -1, 1, 2, 5, 10)

INSTRUCTIONS = (
    "Choose the numeric answer to the problem in state. Do not provide reasoning. "
    "This is a named multiple-choice adaptation of GSM8K."
)
SCOPE = "Deterministic numeric multiple-choice selection; native GSM8K exact-answer score is not claimed."


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """The problems with 4 options, then with 10.

    Raises:
        ValueError: other columns, or an answer that ends in no number; names the record.
    """
    problems = list(_problems(files))
    for count in COUNTS:
        for index, (question, gold, wrong) in enumerate(problems):
            options = [number_text(number) for number in (gold, *wrong[: count - 1])]
            order = list(range(count))
            random.Random(f"{SEED}:GSM:{index}:{count}").shuffle(order)
            yield f"GSM8K-{count}choice", _row(index, question, options[0], [options[place] for place in order])


def _problems(files: Mapping[str, Path]) -> Iterator[tuple[str, Decimal, list[Decimal]]]:
    """(question, right number, wrong numbers) of every record of whichever release is at hand."""
    if FILE in files:
        records = parquet_records(FILE, files[FILE], ("question", "answer"))
    else:
        records = json_lines(EQUAL_FILE, files[EQUAL_FILE])
    for index, (place, record) in enumerate(records):
        with naming(place):
            question, answer = typed(str, record["question"], record["answer"])
            gold = _number(answer)
            wrong = _wrong(index, gold)
        yield question, gold, wrong


def _number(answer: str) -> Decimal:
    """The number that an answer ends in, after its last ####."""
    _reasoning, mark, text = answer.rpartition("####")
    try:
        return Decimal(text.strip().replace(",", "") if mark else "")
    except InvalidOperation:
        raise ValueError(f"expected an answer that ends in #### and a number, found {answer[-40:]!r}") from None


def _wrong(index: int, gold: Decimal) -> list[Decimal]:
    """The wrong numbers of a problem in the order in which they become options."""
    wrong = sorted(({gold + step for step in STEPS} | {2 * gold, 10 * gold, gold // 2}) - {gold})
    if len(wrong) < max(COUNTS) - 1:
        raise ValueError(f"the answer {gold} leaves only {len(wrong)} wrong options")
    random.Random(f"{SEED}:GSM:{index}").shuffle(wrong)
    return wrong


def number_text(number: Decimal) -> str:
    """Plain notation without exponent or trailing zeros."""
    return format(number.normalize(), "f")


def _row(index: int, question: str, gold: str, texts: list[str]) -> dict[str, Any]:
    source, family = pinned(CATALOG_ID, FILE), f"GSM8K-{len(texts)}"
    return {
        "id": f"{family}:test:{index}",
        "family": family,
        "split": "test",
        "state": {
            "question": question,
            "task": f"GSM8K deterministic {len(texts)}-choice numeric selection",
        },
        "questions": {"answer": choice(INSTRUCTIONS, numbered(texts))},
        "expected": {"answer": f"option_{texts.index(gold)}"},
        "metadata": {
            "group_id": f"GSM8K:{index}",
            "provenance": {
                "source": source.row_path,
                "source_sha256": source.sha256,
                "source_id": index,
                "seed": SEED,
            },
            "adaptation_scope": SCOPE,
            "gold_numeric": gold,
        },
    }
