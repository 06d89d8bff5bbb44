"""NLI4CT 2024: whether sections of one or two clinical trial reports entail a statement or contradict it."""

import json
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.records import naming, typed
from suite_builder.sources import pinned, sources

CATALOG_ID = 42
STYLE = PLAIN

STATEMENTS, LABELS, TRIALS = "test.json", "gold_test.json", "training_data.zip"
TRIAL_FIELDS = ("Primary_id", "Secondary_id")  # comparisons alone have the second
INSTRUCTIONS = "Classify the statement against the supplied clinical trial evidence:\n{statement}"
CRITERIA = {
    "Entailment": "The clinical trial evidence entails the statement.",
    "Contradiction": "The clinical trial evidence contradicts the statement.",
}


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per statement, in the order of the statements file.

    Raises:
        ValueError: statement and label do not belong together, or a trial or its section is missing; names the item.
    """
    items, labelled = _load(STATEMENTS, files), _load(LABELS, files)
    if items.keys() != labelled.keys():
        raise ValueError(f"{STATEMENTS} and {LABELS} do not hold the same items")
    with ZipFile(files[TRIALS]) as archive:
        trial = cache(partial(_trial, archive))
        for uuid, item in items.items():
            with naming(f"{STATEMENTS}, item {uuid}"):
                label = _label(item, labelled[uuid])
                fields = TRIAL_FIELDS if "Secondary_id" in item else TRIAL_FIELDS[:1]
                evidence = [_evidence(trial(item[field]), item[field], item["Section_id"]) for field in fields]
                row = _row(uuid, *typed(str, item["Statement"]), evidence, label)
            yield "NLI4CT-2024", row


def _load(path: str, files: Mapping[str, Path]) -> dict[str, dict]:
    with naming(path):
        return json.loads(files[path].read_bytes())


def _trial(archive: ZipFile, trial_id: str) -> dict[str, Any]:
    """The document of a trial."""
    try:
        return json.loads(archive.read(f"CT json/{trial_id}.json"))
    except KeyError as error:
        raise ValueError(f"{TRIALS}: {error.args[0]}") from None


def _evidence(trial: Mapping[str, Any], trial_id: str, section: str) -> dict[str, Any]:
    """A whole section of a trial, as a list of lines."""
    (lines,) = typed(list, trial[section])
    return {"id": trial_id, "section": section, "text": lines}


def _label(item: Mapping[str, str], labelled: Mapping[str, str]) -> str:
    """The label of an item, if the labels file means the same item."""
    if any(item.get(field) != labelled.get(field) for field in ("Statement", "Section_id", *TRIAL_FIELDS)):
        raise ValueError(f"{LABELS} has another statement, section or trial")
    if labelled["Label"] not in CRITERIA:
        raise ValueError(f"label {labelled['Label']!r} is none of {', '.join(CRITERIA)}")
    return labelled["Label"]


def _row(uuid: str, statement: str, evidence: list[dict[str, Any]], label: str) -> dict[str, Any]:
    files = [pinned(CATALOG_ID, path) for path in (STATEMENTS, LABELS, TRIALS)]
    return {
        "id": f"NLI4CT-2024:test:{uuid}",
        "family": "NLI4CT-2024",
        "split": "test",
        "state": dict(zip(("primary_trial", "secondary_trial"), evidence)),
        "questions": {"answer": choice(INSTRUCTIONS.format(statement=statement), CRITERIA)},
        "expected": {"answer": label},
        "metadata": {
            "benchmark_number": CATALOG_ID,
            "source": "https://github.com/ai-systems/Task-2-SemEval-2024",
            "source_revision": sources()[CATALOG_ID][0].revision,
            "source_file": files[0].row_path,
            "source_sha256": files[0].sha256,
            "gold_sha256": files[1].sha256,
            "trial_archive_sha256": files[2].sha256,
            "primary_metric": "entailment F1; original consistency/faithfulness metrics require upstream grouping",
            "context_rule": "complete indicated clinical-trial section, no gold evidence selection",
            "archive_note": (
                "training_data.zip also contains the trial documents used by test; no training statements emitted"
            ),
            "source_id": uuid,
            "trial_ids": [trial["id"] for trial in evidence],
        },
    }
