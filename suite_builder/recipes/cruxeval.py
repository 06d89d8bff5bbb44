"""CRUXEval: what a short Python function returns; the wrong options are wrong answers of one code model."""

import ast
import json
import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from suite_builder.recipes.common import PLAIN, choice, numbered
from suite_builder.recipes.records import json_lines, naming, typed
from suite_builder.sources import pinned

CATALOG_ID = 43
STYLE = PLAIN

PROBLEMS = "data/cruxeval.jsonl"
GENERATIONS = "samples/model_generations/sample_codellama-7b_temp0.2_output/generations.json"
EVALUATION = "samples/evaluation_results/sample_scored_codellama-7b_temp0.2_output.json"
SEED = 20260917
MOST_OPTIONS = 10
INSTRUCTIONS = (
    "Choose the correct output of f called with the supplied input arguments. Candidates are Python literal values."
)


def rows(files: Mapping[str, Path]) -> Iterator[tuple[str, dict]]:
    """One row per problem with at least one wrong option, in the string order of their ids.

    Raises:
        ValueError: a problem without its fields, readable output, generations or verdicts; names the problem.
    """
    generations, verdicts = _load(GENERATIONS, files), _load(EVALUATION, files).get("raw_scored_generations", {})
    for problem in sorted(_problems(files), key=itemgetter("id")):
        name = problem["id"]
        with naming(f"{PROBLEMS}, {name}"):
            gold = _literal(problem["output"])
        with naming(f"{GENERATIONS} and {EVALUATION}, {name}"):
            values = _values(gold, generations[name], verdicts[name])
        if len(values) > 1:
            random.Random(f"{SEED}:CRUX:{name}").shuffle(values)
            yield "CRUXEval-output-choice", _row(problem, values, values.index(gold))


def _load(path: str, files: Mapping[str, Path]) -> dict[str, Any]:
    with naming(path):
        return json.loads(files[path].read_bytes())


def _problems(files: Mapping[str, Path]) -> Iterator[dict[str, str]]:
    for place, record in json_lines(PROBLEMS, files[PROBLEMS]):
        with naming(place):
            problem = {field: record[field] for field in ("id", "code", "input", "output")}
            typed(str, *problem.values())
        yield problem


def _values(gold: Any, generations: Sequence[str], verdicts: Sequence[bool]) -> list[Any]:
    """The right value and those of wrong generations that can be read; equal ones, as 1 and True are, count once."""
    values = [gold]
    for text, is_right in zip(generations, verdicts, strict=True):
        if not is_right:
            try:
                value = _literal(text)
            except ValueError:
                continue
            if value not in values:
                values.append(value)
    return values[:MOST_OPTIONS]


def _literal(text: str) -> Any:
    try:
        with warnings.catch_warnings(action="ignore"):  # of odd escapes in what the model wrote
            return ast.literal_eval(text)
    except (MemoryError, SyntaxError, TypeError, ValueError):
        raise ValueError(f"{text!r} is no Python literal") from None


def _row(problem: Mapping[str, str], values: Sequence[Any], place: int) -> dict[str, Any]:
    source, generations, evaluation = (pinned(CATALOG_ID, path) for path in (PROBLEMS, GENERATIONS, EVALUATION))
    return {
        "id": f"CRUXEval-output-choice:test:{problem['id']}",
        "family": "CRUXEval-output-choice",
        "split": "test",
        "state": {"code": problem["code"], "input": problem["input"], "task": "CRUXEval output selection"},
        "questions": {"answer": choice(INSTRUCTIONS, numbered([repr(value) for value in values]))},
        "expected": {"answer": f"option_{place}"},
        "metadata": {
            "group_id": problem["id"],
            "provenance": {
                "source": source.row_path,
                "source_sha256": source.sha256,
                "generations_source": generations.row_path,
                "generations_sha256": generations.sha256,
                "evaluation_source": evaluation.row_path,
                "evaluation_sha256": evaluation.sha256,
                "seed": SEED,
            },
            "adaptation_scope": "Frozen output selection; not pass@1 or code execution.",
            "candidate_count": len(values),
        },
    }
