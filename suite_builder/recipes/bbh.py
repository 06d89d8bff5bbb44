"""BIG-Bench Hard: the 23 of its 27 tasks whose answer is one of given options."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import added_row, choice
from suite_builder.sources import pinned

CATALOG_ID = 58

FREE_FORM = {"dyck_languages", "multistep_arithmetic_two", "object_counting", "word_sorting"}
FIXED_OPTIONS = {
    "boolean_expressions": ("True", "False"),
    "sports_understanding": ("yes", "no"),
    "web_of_lies": ("Yes", "No"),
}
SIZE_SUFFIX = re.compile("_(three|five|seven)_objects$")
LETTERED = re.compile(r"(\([A-Z]\)) (.*)")
INSTRUCTIONS = "Which option is the correct answer?"


def rows(files: Mapping[str, Path]) -> Iterator[dict]:
    """One row per example whose target is one of at least two options; tasks in name order.

    Raises:
        ValueError: an option line that fits neither form; names task and position.
    """
    for path in sorted(files):
        task = Path(path).stem
        if task in FREE_FORM:
            continue
        family, source_file = SIZE_SUFFIX.sub("", task), pinned(CATALOG_ID, path).row_path
        for position, example in enumerate(json.loads(files[path].read_text("utf-8"))["examples"]):
            text, target = example["input"], example["target"]
            try:
                options = _options(task, text)
            except ValueError as error:
                raise ValueError(f"{path}, example {position}: {error}") from None
            if target in options and len(options) > 1:
                yield added_row(
                    CATALOG_ID, f"{task}:{position}", task, text, choice(INSTRUCTIONS, options), target,
                    task_family=family, source_file=source_file,
                )


def _options(task: str, text: str) -> dict[str, str]:
    """Option key -> description. A dashed option describes itself; a lettered one keeps its text as it is."""
    if task in FIXED_OPTIONS:
        return {key: key for key in FIXED_OPTIONS[task]}
    lines = text.rpartition("\nOptions:\n")[2].split("\n")
    if all(line.startswith("- ") for line in lines):
        return {key: key for key in (line[2:].strip() for line in lines)}
    options = {}
    for place, line in enumerate(lines):
        match, key = LETTERED.fullmatch(line), f"({chr(ord('A') + place)})"
        if not match or match[1] != key:
            raise ValueError(f"expected option {key}, found {line!r}")
        options[match[1]] = match[2]
    return options
