"""A made-up suite of the real one's size and a run over it, for bench/scoring.py: random words, nothing of the real texts.

Rows are those of tests/fixtures/golden, repeated and stretched until every benchmark has its published number of rows and
about the characters and fields a row that the real one has.
"""

import gzip
import random
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import orjson

from engines import wire
from suite_builder.assemble import write_row_file, write_suite_facts
from suite_builder.data_files import load_lines
from suite_builder.editions import edition
from suite_builder.rows import sha256_text
from suite_builder.suite import Suite

GOLDEN = Path(__file__).parents[1] / "tests" / "fixtures" / "golden" / "suite-0.2"
WORDS = "amber basil candle delta ember garden harbor iris jungle kelp lantern maple north olive pearl quartz".split()

# Catalog id -> rows, characters a row, fields a row.
SHAPES = {
    1: (1694, 10330, 3), 2: (1328, 36671, 32), 3: (508, 26427, 1), 4: (3080, 2913, 1), 5: (5500, 4348, 1),
    6: (10000, 8833, 2), 9: (160, 7739, 18), 10: (2500, 5115, 1), 11: (123, 25829, 17), 12: (3200, 562, 1),
    20: (5000, 656, 1), 21: (2628, 353, 1), 22: (2000, 16407, 1), 23: (5000, 972, 1), 24: (14042, 702, 1),
    25: (198, 496, 1), 26: (2376, 340, 1), 27: (1172, 453, 1), 28: (1267, 280, 1), 29: (10042, 790, 1),
    30: (2638, 841, 1), 31: (5000, 2107, 1), 32: (756, 4881, 1), 33: (1650, 13626, 9), 34: (10, 780, 1),
    36: (637, 72519, 32), 37: (5000, 2944, 1), 38: (5479, 29227, 58), 39: (979, 978, 2), 40: (4600, 428, 2),
    41: (3006, 786, 1), 42: (5500, 4615, 1), 43: (570, 742, 1), 44: (5000, 640, 1), 45: (513, 1840, 1),
    48: (10139, 5020, 1), 50: (1676, 5011, 1), 56: (2000, 2744, 9), 57: (12032, 970, 1), 58: (5507, 684, 1),
    59: (2700, 3704, 1), 61: (4000, 1573, 1), 62: (3652, 4121, 1), 64: (528, 744, 1),
}  # fmt: skip
ADDED = (56, 57, 58, 59, 61, 62, 64)
# Benchmarks whose options, or whose option keys, are other ones in every row.
OWN_TEXTS = (3, 6, 10, 20, 21, 23, 24, 25, 26, 27, 28, 29, 30, 32, 34, 43, 45, 50, 57, 58, 62, 64)
OWN_KEYS = (31,)


def make_suite(directory: Path, share: float = 1.0) -> Suite:
    """Write a suite directory with `share` of the real number of rows."""
    templates = _templates()
    files = {}
    for stem, wanted in (("selected-rows", set(SHAPES) - set(ADDED)), ("added-rows", set(ADDED))):
        lines = (line for key in sorted(wanted) for line in _lines(key, templates[key], share))
        files[stem] = write_row_file(directory, stem, lines)
    write_suite_facts(directory, edition("0.2.1"), files, partial=True)
    return Suite.open(directory)


def make_results(suite: Suite, path: Path, seed: int = 1) -> int:
    """Write a run that answers about two thirds of the rows right, with payloads; returns the number of results."""
    chance = random.Random(seed)
    count = 0
    with path.open("wb") as file:
        for request in suite.rows():
            expected = request.row.get("expected") or {}
            answers = {
                name: _answer(question, expected.get(name), chance) for name, question in request.questions.items()
            }
            response = {"model": "made-up", "answers": answers, "usage": {"input_tokens": request.proxy_tokens}}
            row = {
                **request.evaluation,
                "started_utc": "2026-01-01T00:00:00+00:00",
                "engine": "made-up",
                "payload": {"state": request.state, "questions": request.questions},
                "status": "ok",
                "response": response,
                "raw_output": None,
                "completed_utc": "2026-01-01T00:00:01+00:00",
                "total_wall_ms": round(chance.uniform(20, 200), 3),
                "model_request_wall_ms": 1.0,
            }
            file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            count += 1
    return count


def _answer(question: dict, gold, chance: random.Random) -> dict:
    keys = [option.key for option in wire.options(question)]
    weights = [chance.random() for _ in keys]
    best = _key(gold) if chance.random() < 0.6 else None
    if best in keys:
        weights[keys.index(best)] += 1.5
    total = sum(weights)
    return wire.answer(question, [weight / total for weight in weights])


def _key(gold) -> str | None:
    """The option key of a gold answer."""
    return str(gold).lower() if isinstance(gold, bool) else gold


def _templates() -> dict[int, list[list[dict]]]:
    """Catalog id -> groups of golden rows."""
    groups = defaultdict(lambda: defaultdict(list))
    for name in ("selected-rows", "added-rows"):
        with gzip.open(GOLDEN / f"{name}.jsonl.gz") as stream:
            for line in stream:
                row = orjson.loads(line)
                facts = row["_evaluation"]
                groups[facts["catalog_id"]][facts["group_id"]].append(row)
    return {catalog_id: list(members.values()) for catalog_id, members in groups.items()}


def _lines(catalog_id: int, groups: list[list[dict]], share: float) -> Iterator[bytes]:
    rows, characters, fields = SHAPES[catalog_id]
    wanted = max(round(rows * share), 1)
    text = random.Random(catalog_id)
    listed_groups = iter(load_lines("acos-groups.txt") if catalog_id == 38 else ())
    listed_ids = iter(load_lines("home-appliance-run-ids.txt") if catalog_id == 9 else ())
    written = copy = 0
    while written < wanted:
        group = groups[copy % len(groups)]
        name = next(listed_groups, None) or f"{group[0]['_evaluation']['group_id']}:{copy}"
        for row in group:
            yield _line(row, copy, name, next(listed_ids, None), characters, fields, text)
            written += 1
        copy += 1


def _line(row: dict, copy: int, group: str, run_id: str | None, characters: int, fields: int, text: random.Random) -> bytes:
    row = orjson.loads(orjson.dumps(row))
    facts = row["_evaluation"]
    facts["run_id"] = run_id or f"{facts['run_id']}:{copy}"
    facts["group_id"] = group
    _repeat_questions(row, round(fields / len(row["questions"])))
    missing = characters - len(orjson.dumps([row["state"], row["questions"]]))
    padding = " ".join(text.choices(WORDS, k=max(missing // 6, 0)))
    row["state"] = {"task": row["state"], "context": padding}
    facts["payload_sha256"] = sha256_text(facts["run_id"])
    if facts["catalog_id"] in OWN_TEXTS:
        _rename_texts(row, copy)
    if facts["catalog_id"] in OWN_KEYS:
        _rename_keys(row, copy)
    return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)


def _rename_texts(row: dict, copy: int) -> None:
    for question in row["questions"].values():
        if question["type"] == "choice":
            question["criteria"] = {key: f"{text} {copy}" for key, text in question["criteria"].items()}


def _rename_keys(row: dict, copy: int) -> None:
    """Give the options of the one question of a chess row keys of their own."""
    ((name, question),) = row["questions"].items()
    block = row["scoring"]
    question["criteria"] = {f"{key}{copy}": text for key, text in question["criteria"].items()}
    block["values"] = {f"{key}{copy}": value for key, value in block["values"].items()}
    block["accepted"] = [f"{key}{copy}" for key in block["accepted"]]
    row["expected"][name] += str(copy)


def _repeat_questions(row: dict, times: int) -> None:
    """Ask every question several times under names of their own, and rank as many documents."""
    block = row.get("scoring") or {}
    documents = {key: list(block.get(key, ())) for key in ("scorable_ids", "retrieved_ids")}
    for number in range(1, times):
        for key in list(row["questions"]):
            if "~" not in key:
                name = f"{key}~{number}"
                row["questions"][name] = row["questions"][key]
                if key in row["expected"]:
                    row["expected"][name] = row["expected"][key]
                if key in block.get("field_to_document", ()):
                    block["field_to_document"][name] = f"{block['field_to_document'][key]}~{number}"
        for key, ids in documents.items():
            if ids:
                block[key] += [f"{document}~{number}" for document in ids]
