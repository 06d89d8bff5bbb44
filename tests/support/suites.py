"""Rows of random words and results read back, for tests of every package."""

import os
import random
import sys
from pathlib import Path

import orjson

from suite_builder.rows import frozen_json, payload_text, sha256_text

WORDS = "amber basil candle delta ember garden harbor iris jungle kelp lantern maple north olive pearl quartz".split()
ROOT = Path(__file__).parents[2]
# Lets a process of its own import the packages from the checkout, and the engines beside this file.
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(Path(__file__).parent)])}
DI_TUI = (sys.executable, "-m", "di_tui")
DATASETS = {41: "VAST", 44: "CLadder", 45: "HLE"}


def make_row(catalog_id: int, number: int, group_id: str | None = None, options: int = 3) -> dict:
    """One frozen row of random words with a choice of `options` options; the same for the same arguments."""
    words = random.Random(f"{catalog_id}:{number}")
    dataset = DATASETS[catalog_id]
    row_id = f"{dataset}:test:{number}"
    state = {"text": " ".join(words.choices(WORDS, k=12))}
    criteria = {f"option_{place}": " ".join(words.choices(WORDS, k=3)) for place in range(options)}
    questions = {"q1": {"type": "choice", "instructions": " ".join(words.choices(WORDS, k=6)), "criteria": criteria}}
    text = payload_text(state, questions)
    return {
        "id": row_id,
        "state": state,
        "questions": questions,
        "expected": {"q1": words.choice(list(criteria))},
        "provenance": {"subject": words.choice(WORDS)},
        "_evaluation": {
            "run_id": f"{catalog_id}:{dataset}:{row_id}",
            "catalog_id": catalog_id,
            "dataset": dataset,
            "group_id": group_id or row_id,
            "track": dataset,
            "source_path": f"artifacts/benchmark-suite/active/release-v1/{dataset}.jsonl",
            "payload_sha256": sha256_text(text),
            "proxy_tokens": max(1, len(text) // 4),
            "benchmark_origin": "Original-task benchmarks",
        },
    }


def row_line(row: dict) -> bytes:
    return frozen_json(row).encode() + b"\n"


def read_final_results(path: Path) -> dict[str, dict]:
    """Run id -> its last result row; every line must parse."""
    rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    return {row["run_id"]: row for row in rows}
