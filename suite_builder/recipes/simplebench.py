"""SimpleBench: everyday trick questions with six options; only the ten public ones exist."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from suite_builder.recipes.common import PLAIN, choice, knowledge_row, lettered, provenance

CATALOG_ID = 34
STYLE = PLAIN

OPTION = re.compile(r"([A-Z])\.\s*(.*)")
FILE = "simple_bench_public.json"


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per entry; the lines of its prompt are body or, after a letter and a full stop, an option."""
    for entry in json.loads(files[FILE].read_text("utf-8"))["eval_data"]:
        lines = [(line, OPTION.fullmatch(line)) for line in entry["prompt"].split("\n")]
        body = "\n".join(line for line, option in lines if not option).strip()
        letters, texts = zip(*(option.groups() for _line, option in lines if option))
        options = lettered(texts)
        gold = list(options)[letters.index(entry["answer"])]
        source = provenance(CATALOG_ID, FILE, str(entry["question_id"]))
        yield "SimpleBench", knowledge_row("SimpleBench", "public", source, choice(body, options), gold)
