"""Hold the `transformers` engine to its definition: `python bench/equality.py --suite DIR [--model DIR]`.

Takes requests of all benchmarks of a suite in turn, answers them in throughput mode in float32, once in the suite's order and
once in reverse with small batches, and compares every summed log-probability with naive.py: one plain pass per option.
Without --model the models are tiny random ones, Llama and Qwen2, with and without chat template. Prints a Markdown table.

Naive passes of a tiny model run in float32; those of a given model in float64, as in float32 they are off by more than
1e-4 themselves where hidden states are large (25,000 in SmolLM2).
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench"), str(ROOT / "tests" / "support")]

HEADER = "| model | benchmark | requests | options | naive tokens | largest difference |\n|---|---|---:|---:|---:|---:|"
SMALL_BATCH = 256


def in_turn(requests: Iterator) -> list:
    """One request of each benchmark, then the next of each."""
    turns = defaultdict(count)
    return sorted(requests, key=lambda request: (next(turns[request.catalog_id]), request.catalog_id))


def small_enough(requests: list, rendering, budget: int) -> Iterator[tuple]:
    """(request, its tokenised questions by name) of the requests that cost the naive way at most `budget` tokens."""
    import naive

    for request in requests:
        tokens = {name: rendering.tokenize(request.state, question) for name, question in request.questions.items()}
        if sum(map(naive.token_count, tokens.values())) <= budget:
            yield request, tokens


def engine_scores(directory: Path, chosen: list[tuple], reverse: bool, **options) -> list[dict[str, list[float]]]:
    """Log-probabilities by question of every request, through the engine's windows."""
    from engines.causal_lm import CausalLmEngine

    engine = CausalLmEngine(str(directory), device="cpu", dtype="float32", **options)
    found: list[dict[str, list[float]]] = [{} for _ in chosen]
    order = list(reversed(range(len(chosen)))) if reverse else list(range(len(chosen)))
    keep = engine._outcome_of

    def keeping(one, scores):
        found[order[one.position]] = {name: scores[one.position, name] for name in one.tokens}
        return keep(one, scores)

    engine._outcome_of = keeping
    for _group in engine.answer_window([(chosen[place][0].state, chosen[place][0].questions) for place in order]):
        pass
    return found


def compare(directory: Path, requests: list, number: int, budget: int, naive_dtype: str) -> dict[str, list[float]]:
    """Benchmark -> [requests, options, naive tokens, largest difference]."""
    import naive
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from engines.rendering import Rendering

    rendering = Rendering(AutoTokenizer.from_pretrained(directory))
    chosen = list(islice(small_enough(requests, rendering, budget), number))
    ways = [engine_scores(directory, chosen, False), engine_scores(directory, chosen, True, batch_tokens=SMALL_BATCH)]
    model = AutoModelForCausalLM.from_pretrained(directory, dtype=naive_dtype).eval()
    rows: dict[str, list[float]] = {}
    for place, (request, questions) in enumerate(chosen):
        row = rows.setdefault(f"{request.catalog_id} {request.dataset}", [0, 0, 0, 0.0])
        row[0] += 1
        for name, tokens in questions.items():
            if len(tokens.options) > 1:
                expected = naive.log_probabilities(model, tokens)
                row[1] += len(expected)
                row[2] += naive.token_count(tokens)
                row[3] = max(row[3], *(abs(a - b) for way in ways for a, b in zip(expected, way[place][name], strict=True)))
    return rows


def models(given_model: Path | None, requests: list, folder: Path) -> Iterator[tuple[str, Path, str]]:
    """(name, directory, dtype of the naive passes) of the models to compare."""
    import tiny_models

    from engines import rendering

    if given_model:
        yield given_model.resolve().name, given_model, "float64"
        return
    texts = [rendering.plain_text(one.state, question) for one in requests[:500] for question in one.questions.values()]
    for kind, template in (("chat", tiny_models.CHAT_TEMPLATE), ("plain", None)):
        tokenizer = tiny_models.train_tokenizer(texts, template, 2000)
        for name in tiny_models.ARCHITECTURES:
            yield f"{name}, {kind}", tiny_models.save_model(folder / f"{name}-{kind}", name, tokenizer), "float32"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", type=Path, required=True, help="suite directory")
    parser.add_argument("--model", type=Path, help="model directory; by default tiny random models")
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--max-naive-tokens", type=int, default=20_000, help="per request")
    given = parser.parse_args()

    from suite_builder.suite import Suite

    requests = in_turn(Suite.open(given.suite).rows())
    print(HEADER)
    with tempfile.TemporaryDirectory() as folder:
        for name, directory, dtype in models(given.model, requests, Path(folder)):
            rows = compare(directory, requests, given.requests, given.max_naive_tokens, dtype)
            columns = list(zip(*rows.values(), strict=True))
            rows["all"] = [*map(sum, columns[:3]), max(columns[3])]
            for benchmark, (asked, options, tokens, difference) in rows.items():
                print(f"| {name} | {benchmark} | {asked} | {options} | {tokens:,} | {difference:.1e} |", flush=True)


if __name__ == "__main__":
    main()
