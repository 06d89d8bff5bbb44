"""Hold the `transformers` engine to its definition on a real model: `python bench/equality.py --rows FILE --model DIR`.

Takes requests of all benchmarks in turn, scores every question with the engine in float32 and with naive.py, and prints
a Markdown table of the largest difference of a summed log-probability and of the times. The naive passes run in float64
unless told otherwise: in float32 they are off by more than 1e-4 themselves where hidden states reach 25,000, as in
SmolLM2. Times compare like with like under `--naive-dtype float32`.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

HEADER = "| benchmark | requests | options | naive tokens | largest difference | naive s | engine s | ratio |"


def in_turn(requests: list) -> list:
    """One request of each benchmark, then the next of each."""
    turns = defaultdict(count)
    return sorted(requests, key=lambda request: (next(turns[request.catalog_id]), request.catalog_id))


def small_enough(requests: list, rendering, budget: int) -> Iterator[tuple]:
    """(request, its tokenised questions) of the requests that cost the naive way at most `budget` tokens."""
    import naive

    for request in requests:
        questions = [(question, rendering.tokenize(request.state, question)) for question in request.questions.values()]
        if sum(naive.token_count(tokens) for _, tokens in questions) <= budget:
            yield request, questions


def table(rows: dict[str, list[float]]) -> str:
    """Markdown of name -> [requests, options, naive tokens, largest difference, naive s, engine s], and of all."""
    columns = list(zip(*rows.values(), strict=True))
    rows["all"] = [max(column) if index == 3 else sum(column) for index, column in enumerate(columns)]
    lines = [HEADER, "|---|" + "---:|" * 7]
    for name, (requests, options, tokens, difference, naive_s, engine_s) in rows.items():
        figures = f"{requests} | {options} | {tokens:,} | {difference:.1e} | {naive_s:.2f} | {engine_s:.2f}"
        lines.append(f"| {name} | {figures} | {naive_s / engine_s:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, required=True, help="rows file, plain or gzip")
    parser.add_argument("--model", required=True, help="model directory")
    parser.add_argument("--requests", type=int, default=30)
    parser.add_argument("--max-naive-tokens", type=int, default=15000, help="per request")
    parser.add_argument("--naive-dtype", default="float64", choices=("float64", "float32"))
    given = parser.parse_args()

    import naive
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from engines.base import load_engine
    from engines.rendering import Rendering
    from suite_builder.suite import Suite

    engine = load_engine("transformers", given.model, {"dtype": "float32"})
    engine.warm_up()
    model = AutoModelForCausalLM.from_pretrained(given.model, dtype=given.naive_dtype).eval()
    rendering = Rendering(AutoTokenizer.from_pretrained(given.model))
    requests = in_turn(list(Suite.from_rows_file(given.rows).rows()))
    rows: dict[str, list[float]] = {}
    for request, questions in islice(small_enough(requests, rendering, given.max_naive_tokens), given.requests):
        row = rows.setdefault(f"{request.catalog_id} {request.dataset}", [0, 0, 0, 0.0, 0.0, 0.0])
        row[0] += 1
        for question, tokens in questions:
            start = time.perf_counter()
            expected = naive.log_probabilities(model, tokens)
            between = time.perf_counter()
            scores = engine.log_probabilities(request.state, question)
            end = time.perf_counter()
            row[1] += len(scores)
            row[2] += naive.token_count(tokens)
            row[3] = max(row[3], *(abs(a - b) for a, b in zip(expected, scores, strict=True)))
            row[4] += between - start
            row[5] += end - between
    print(table(rows))


if __name__ == "__main__":
    main()
