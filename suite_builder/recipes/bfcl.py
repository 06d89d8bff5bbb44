"""BFCL: which of the tools offered in a conversation should be called, one yes or no per tool."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice
from suite_builder.recipes.records import json_lines, naming, typed
from suite_builder.sources import pinned

CATALOG_ID = 1
STYLE = PLAIN

TRACK = "BFCL-tool-selection"
CATEGORIES = ("simple", "live_simple", "live_multiple")
DATA_FILE = "berkeley-function-call-leaderboard/data/BFCL_v3_{}.json"
GOLD_FILE = "berkeley-function-call-leaderboard/data/possible_answer/BFCL_v3_{}.json"
CRITERIA = {"yes": "Invoke this tool.", "no": "Do not invoke this tool."}
INSTRUCTIONS = (
    "Given the complete user conversation and the published function schemas in state, mark each candidate tool yes if"
    " it should be invoked to answer the request, or no otherwise. This evaluates tool-name selection only; do not"
    " produce arguments or call ordering.\n\n\n\nCandidate tool: {}"
)
NOT_IN_KEYS = re.compile("[^A-Za-z0-9_]+")


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per record whose gold tools, at least one, are all among its candidates.

    Raises:
        ValueError: a malformed record; names file and record.
    """
    for category in CATEGORIES:
        path, gold_path = DATA_FILE.format(category), GOLD_FILE.format(category)
        gold_of = _gold_tools(gold_path, files[gold_path])
        for place, record in json_lines(path, files[path]):
            with naming(place):
                gold, candidates = gold_of.get(record["id"], set()), _candidates(record["function"])
                if gold and gold <= set(candidates):
                    yield TRACK, _row(category, record, candidates, gold)


def _gold_tools(path: str, file: Path) -> dict[str, set[str]]:
    """Record id -> names of the tools that its answer calls."""
    gold_of = {}
    for place, record in json_lines(path, file):
        with naming(place):
            gold_of[record["id"]] = {name for call in typed(dict, *record["ground_truth"]) for name in call}
    return gold_of


def _candidates(functions: Any) -> list[str]:
    """Names of the tools on offer, in order; without a list of tools there are none."""
    if not isinstance(functions, list):
        return []
    return [tool["name"] for tool in functions if tool.get("name")]


def _row(category: str, record: Mapping[str, Any], candidates: list[str], gold: set[str]) -> dict[str, Any]:
    key_of = _tool_keys(candidates)
    return {
        "id": f"{TRACK}:{category}:{record['id']}",
        "family": TRACK,
        "split": "test",
        "state": {
            "conversation": record["question"],
            "functions": record["function"],
            "task": "BFCL tool-name selection",
        },
        "questions": {key: choice(INSTRUCTIONS.format(name), CRITERIA) for name, key in key_of.items()},
        "expected": {key: "yes" if name in gold else "no" for name, key in key_of.items()},
        "metadata": {
            "provenance": _provenance(category, record["id"]),
            "adaptation_scope": "Tool-name selection projection; arguments, ordering, and execution are not claimed.",
            "category": category,
            "candidate_tools": candidates,
            "selected_gold_tools": sorted(gold),
        },
    }


def _tool_keys(names: list[str]) -> dict[str, str]:
    """Tool name -> question key."""
    key_of = {name: f"tool_{NOT_IN_KEYS.sub('_', name).strip('_')}" for name in names}
    if len(set(key_of.values())) < len(names):
        raise ValueError(f"two of the tools {names} would have the same question key")
    return key_of


def _provenance(category: str, source_id: str) -> dict[str, str]:
    data, gold = (pinned(CATALOG_ID, path.format(category)) for path in (DATA_FILE, GOLD_FILE))
    return {
        "source": data.row_path,
        "sha256": data.sha256,
        "gold_source": gold.row_path,
        "gold_sha256": gold.sha256,
        "revision": "source snapshot 2026-09-18",
        "source_id": source_id,
    }
