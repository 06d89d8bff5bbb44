"""API-Bank: which of the catalogue's APIs is called next in a dialogue."""

import ast
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from suite_builder.recipes.common import PLAIN, choice, numbered
from suite_builder.recipes.records import naming
from suite_builder.sources import pinned

CATALOG_ID = 3
STYLE = PLAIN

TRACK = "API-Bank-tool-selection"
API_FILES = "api-bank/apis/*.py"
SAMPLE_FILES = "api-bank/lv1-lv2-samples/*/*.jsonl"
NO_APIS = {"__init__.py", "api.py"}
MISSING = {"description": "", "input_parameters": {}, "output_parameters": {}}
SEED = "20260918:{file}:{position}"
INSTRUCTIONS = (
    "Select the single API tool to invoke for the dialogue prefix in state. Use the published catalog in state. "
    "Do not infer arguments or use the current/future API result."
)


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per API call in the sample dialogues; its position counts the lines that are not blank.

    Raises:
        ValueError: an API file that is not Python, or a malformed line of a dialogue; names file and line.
    """
    tools = _catalogue(files)
    for path in _matching(files, SAMPLE_FILES):
        dialogue: list[dict] = []
        for number, text in enumerate(files[path].read_text("utf-8").split("\n"), start=1):
            if text.strip():
                with naming(f"{path}, line {number}"):
                    line = json.loads(text)
                    called = line["api_name"] if line["role"] == "API" else None
                if called in tools:
                    yield TRACK, _row(path, dialogue.copy(), called, tools)
                dialogue.append(line)


def _matching(files: Mapping[str, Path], pattern: str) -> list[str]:
    """Paths that match, sorted by their components."""
    return sorted((path for path in files if PurePosixPath(path).match(pattern)), key=lambda path: path.split("/"))


def _catalogue(files: Mapping[str, Path]) -> dict[str, dict[str, Any]]:
    """Name -> tool, in the order of names."""
    tools = {}
    for path in _matching(files, API_FILES):
        if PurePosixPath(path).name not in NO_APIS:
            tools |= _tool(path, files[path].read_bytes())
    return dict(sorted(tools.items()))


def _tool(path: str, source: bytes) -> dict[str, dict[str, Any]]:
    """Name -> tool of the first class of a Python source, which is read but never run; nothing when it has none."""
    try:
        module = ast.parse(source)
    except SyntaxError as error:
        raise ValueError(f"{path}, line {error.lineno}: {error.msg}") from None
    for node in module.body:
        if isinstance(node, ast.ClassDef):
            return {node.name: {"name": node.name, **MISSING, **dict(_described(node))}}
    return {}


def _described(api: ast.ClassDef) -> Iterator[tuple[str, Any]]:
    """(name, value) of the assignments that describe an API."""
    for statement in api.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in MISSING:
                yield name, _literal(value)


def _literal(value: ast.expr) -> Any:
    """The value of a literal, None for another expression."""
    try:
        return ast.literal_eval(value)
    except (TypeError, ValueError):
        return None


def _row(path: str, dialogue: list[dict], gold: str, tools: Mapping[str, dict]) -> dict[str, Any]:
    """The row of the call of `gold` after these lines of a dialogue."""
    file, source, position, names = PurePosixPath(path), pinned(CATALOG_ID, path), len(dialogue), list(tools)
    random.Random(SEED.format(file=file.name, position=position)).shuffle(names)
    return {
        "id": f"{TRACK}:{file.stem}:api-{position}",
        "family": TRACK,
        "split": "evaluation-only",
        "state": {
            "dialogue": dialogue,
            "available_tools": list(tools.values()),
            "task": "API-Bank current API tool selection",
        },
        "questions": {"tool": choice(INSTRUCTIONS, numbered(names))},
        "expected": {"tool": f"option_{names.index(gold)}"},
        "metadata": {
            "provenance": {"source": source.row_path, "source_sha256": source.sha256, "turn_index": position},
            "gold_tool": gold,
            "candidate_policy": (
                "full published API catalog; source available subset is not documented in this sample format"
            ),
            "adaptation_scope": "Tool-name selection only; arguments and execution are not claimed.",
        },
    }
