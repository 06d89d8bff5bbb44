"""iSarcasmEval: whether a text is sarcastic (A), in which ways (B), and which of two is (C); English and Arabic."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.csv_records import csv_records
from suite_builder.recipes.records import naming
from suite_builder.sources import pinned, sources

CATALOG_ID = 40
STYLE = PLAIN

LABELS = ("sarcasm", "irony", "satire", "understatement", "overstatement", "rhetorical_question")
HEADERS = {
    "A-Ar": ["text", "dialect", "sarcastic"],
    "A-En": ["text", "sarcastic"],
    "B-En": ["text", *LABELS],
    "C-Ar": ["text_0", "text_1", "dialect", "sarcastic_id"],
    "C-En": ["text_0", "text_1", "sarcastic_id"],
}
METRICS = {"A": "sarcastic-class F1", "B": "macro-F1 across labels", "C": "accuracy"}
NO_YES = {"no": "No", "yes": "Yes"}
ANSWERS = {"0": "no", "1": "yes"}
TEXTS = {"0": "text_0", "1": "text_1"}


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per record, track after track.

    Raises:
        ValueError: another header, or a record that does not fit it; names the record.
    """
    for track, header in HEADERS.items():
        path = f"test/task_{track.replace('-', '_')}_test.csv"
        for index, (place, record) in enumerate(csv_records(path, files[path], header)):
            with naming(place):
                row = _row(track, path, index, record)
            yield f"iSarcasmEval-{track}", row


def _row(track: str, path: str, index: int, record: Mapping[str, str]) -> dict[str, Any]:
    family, (task, language), source = f"iSarcasmEval-{track}", track.split("-"), pinned(CATALOG_ID, path)
    state, questions, expected = TASKS[task](record)
    return {
        "id": f"{family}:test:{index}",
        "family": family,
        "split": "test",
        "state": state,
        "questions": questions,
        "expected": expected,
        "metadata": {
            "benchmark_number": CATALOG_ID,
            "source_file": source.row_path,
            "source_sha256": source.sha256,
            "source_revision": sources()[CATALOG_ID][0].revision,
            "source_id": index,
            "source": "https://github.com/iabufarha/iSarcasmEval",
            "task": task,
            "language": language,
            "mapping": "native binary/pairwise decisions; B uses one binary question per label",
            "primary_metric": METRICS[task],
        },
    }


def _sarcastic(record: Mapping[str, str]) -> tuple[str, dict, dict]:
    """State, questions and expected answers of task A."""
    question = choice("Is this text intended to be sarcastic?", NO_YES)
    return record["text"], {"sarcastic": question}, {"sarcastic": _one_of(ANSWERS, record, "sarcastic")}


def _ways(record: Mapping[str, str]) -> tuple[str, dict, dict]:
    """The same of task B."""
    instructions = "Does this text exhibit {}? Evaluate this category independently."
    questions = {label: choice(instructions.format(label.replace("_", " ")), NO_YES) for label in LABELS}
    return record["text"], questions, {label: _one_of(ANSWERS, record, label) for label in LABELS}


def _pair(record: Mapping[str, str]) -> tuple[str, dict, dict]:
    """The same of task C."""
    question = choice("Which of these two texts is the sarcastic one?", {key: record[key] for key in TEXTS.values()})
    return "", {"answer": question}, {"answer": _one_of(TEXTS, record, "sarcastic_id")}


def _one_of(answers: Mapping[str, str], record: Mapping[str, str], column: str) -> str:
    """The answer that a cell, 0 or 1, stands for."""
    if record[column] not in answers:
        raise ValueError(f"{column} is {record[column]!r}, neither 0 nor 1")
    return answers[record[column]]


TASKS = {"A": _sarcastic, "B": _ways, "C": _pair}
