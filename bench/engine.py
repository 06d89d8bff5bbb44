"""Speed of the `transformers` engine: `python bench/engine.py --model DIR --suite DIR`; one Markdown table.

The same rows go through the model four ways: one plain pass for every option (naive.py), one question at a time with prefix
reuse (prefix_reuse.py), and the engine in latency and in throughput mode. The naive way is timed on the first passes only,
and its time taken in proportion to its tokens.

needed: tokens of all prompts and options with every common beginning counted once, over all requests of a row type.
padding: tokens computed that belong to no sequence; all ways compute one row at a time or pack, so there is none.
share: floating-point operations of the needed tokens (attention and the needed rows of logits included) a second, over those
of a large matrix product that is taken several times a second between the layers, as the speed of a machine moves within seconds;
its time is left out.
to prefix reuse: requests a second over those of prefix reuse, both at the speed of the matrix product, so the ratio of shares.
On a machine with other load, `--cpu-time` counts the process's time on one thread in place of the clock.
"""

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "bench")]

from prefix_reuse import PrefixReuse  # noqa: E402

from engines.rendering import TokenizedQuestion  # noqa: E402

HEADER = (
    "| rows | way | requests | requests/s | to prefix reuse | computed/needed | padding | share | peak MiB |\n"
    "|---|---|---:|---:|---:|---:|---:|---:|---:|"
)
MATRIX, EVERY_SECONDS = 2048, 0.2
HEAD_SIZE, LAYERS = 64, 16
KINDS = {"BBH": 58, "MuSR": 32, "BANKING77": 4, "ContractNLI": 11, "SATA": 33, "Home appliance": 9}


@dataclass(frozen=True)
class Work:
    """What one row type needs at least: tokens, and floating-point operations."""

    tokens: int
    operations: float


@dataclass(frozen=True)
class Taken:
    """What a way took in one round: seconds, the operations that matrix products would have made in them, tokens, and the
    memory of the process by then."""

    seconds: float
    possible: float
    tokens: int
    peak_mib: float


def needed(model, prefix: list[int], tokenized: list) -> Work:
    """2 operations a weight and token; 4 a channel, key and token in attention; the head only where something is predicted."""
    from engines.packing import Layout

    layout = Layout(prefix)
    for tokens in sorted(tokenized, key=lambda tokens: tokens.prompt):
        layout.add(tokens.prompt, tokens.options)
    config = model.config.get_text_config()
    head = model.get_output_embeddings().weight.numel()
    body = sum(weight.numel() for name, weight in model.named_parameters() if weight.ndim > 1 and "embed" not in name)
    body -= head if not config.tie_word_embeddings else 0
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    channels = config.num_hidden_layers * config.num_attention_heads * size
    keys = sum(position + 1 for position in layout.forest.positions[layout.forest.prefix_length :])
    predicted = len({reader.index for reader in layout.readers})
    operations = 2.0 * body * layout.new_tokens + 4.0 * channels * keys + 2.0 * head * predicted
    return Work(layout.new_tokens, operations)


class Yardstick:
    """What the device makes of one large matrix product, again and again between the layers of models.

    The product is that of two square matrices in the model's dtype. `clock` says the seconds without the products.
    """

    def __init__(self, model, clock: Callable[[], float]):
        import torch

        self._clock = clock
        self._side = MATRIX * (4 if model.device.type == "cuda" else 1)
        shape = (self._side, self._side)
        self._left, self._right = (torch.randn(shape, device=model.device, dtype=model.dtype) for _ in range(2))
        self._paused, self._rates, self._latest = 0.0, [], 0.0
        self.measure()

    def clock(self) -> float:
        return self._clock() - self._paused

    def watch(self, model) -> None:
        """A product before a layer of the model when the latest one was some time ago."""
        import torch

        for layer in next(module for module in model.modules() if isinstance(module, torch.nn.ModuleList)):
            layer.register_forward_pre_hook(self._before_layer)

    def _before_layer(self, *_) -> None:
        if self._clock() - self._latest >= EVERY_SECONDS:
            self.measure()

    def measure(self) -> None:
        (self._left[:1] @ self._right).sum().item()  # waits for what the device still has to do
        began = self._clock()
        (self._left @ self._right).sum().item()
        self._latest = self._clock()
        self._rates.append(2 * self._side**3 / (self._latest - began))
        self._paused += self._latest - began

    def rate(self) -> float:
        """Mean floating-point operations a second since the last call; a product more is taken for it."""
        self.measure()
        rates, self._rates = self._rates, self._rates[-1:]
        return sum(rates) / len(rates)


class Ways:
    """The ways to answer a list of requests; each gives how many tokens it computed, and how many it would for all of them."""

    def __init__(self, engine, model, naive_tokens: int, yardstick: Yardstick):
        self.engine, self.model, self.naive_tokens = engine, model, naive_tokens
        self.computed = 0
        yardstick.watch(model)
        yardstick.watch(engine._model)
        forward = engine._model.forward

        def counting(**given):
            self.computed += given["input_ids"].numel()
            return forward(**given)

        engine._model.forward = counting

    def naive(self, requests: list, tokenized: list) -> tuple[int, int]:
        """The first questions and options only, as far as `naive_tokens` go."""
        import naive

        computed = 0
        for tokens in tokenized:
            fitting = max((self.naive_tokens - computed) // (len(tokens.prompt) + 1), 0)
            part = TokenizedQuestion(tokens.prompt, tokens.options[: fitting or int(not computed)])
            naive.log_probabilities(self.model, part)
            computed += naive.token_count(part)
        return computed, sum(map(naive.token_count, tokenized))

    def reuse(self, requests: list, tokenized: list) -> tuple[int, int]:
        score = PrefixReuse(self.model)
        for tokens in tokenized:
            score(tokens)
        return score.computed, score.computed

    def latency(self, requests: list, tokenized: list) -> tuple[int, int]:
        return self._windows(requests, 1)

    def throughput(self, requests: list, tokenized: list) -> tuple[int, int]:
        return self._windows(requests, self.engine.window)

    def _windows(self, requests: list, size: int) -> tuple[int, int]:
        self.computed = 0
        for start in range(0, len(requests), size):
            window = [(request.state, request.questions) for request in requests[start : start + size]]
            for group in self.engine.answer_window(window):
                for outcome in group.outcomes:
                    if isinstance(outcome, Exception):
                        raise outcome
        return self.computed, self.computed


def save_wide(model: str, width: int, layers: int, folder: Path) -> None:
    """A Llama of this hidden size with random weights, in the proportions of its family's small models, and the tokenizer of
    a saved model."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(model)
    heads = width // HEAD_SIZE
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        intermediate_size=4 * width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=heads // 4,
        max_position_embeddings=1 << 16,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def peak_mib(model) -> float:
    import torch

    if model.device.type == "cuda":
        return torch.cuda.max_memory_allocated() / 2**20
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def choose(suites: list, engine, number: int, budget: int) -> Iterator[tuple[str, list]]:
    """(row type, requests): up to `number` from the middle of each benchmark and as many of the longest states, within a
    budget of tokens."""
    rows: dict[str, list] = {kind: [] for kind in KINDS}
    for suite in suites:
        for request in suite.rows():
            for kind, catalog_id in KINDS.items():
                if request.catalog_id == catalog_id:
                    rows[kind].append(request)
    longest = sorted((one for own in rows.values() for one in own), key=lambda one: -one.evaluation["proxy_tokens"])
    rows["long state"] = [one for one in longest if len(one.questions) == 1][:number]
    for kind, own in rows.items():
        chosen, tokens, first = [], 0, max(len(own) - number, 0) // 2
        for request in own[first : first + number]:
            chosen.append(request)
            tokens += request.evaluation["proxy_tokens"]
            if tokens > budget:
                break
        if chosen:
            yield kind, chosen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", required=True, help="model directory")
    parser.add_argument("--suite", type=Path, required=True, action="append", help="suite directory; repeat for more")
    parser.add_argument("--requests", type=int, default=64, help="of each row type, at most")
    parser.add_argument("--tokens", type=int, default=20_000, help="proxy tokens of each row type, about")
    parser.add_argument("--rounds", type=int, default=1, help="how often every way answers them, in turn; means are printed")
    parser.add_argument("--ways", nargs="*", default=["naive", "reuse", "latency", "throughput"])
    parser.add_argument("--kinds", nargs="*", help="only these row types")
    parser.add_argument("--naive-tokens", type=int, default=8_000, help="after how many tokens the naive way is stopped")
    parser.add_argument("--width", type=int, help="in place of the model a random one of this hidden size, with its tokenizer")
    parser.add_argument("--layers", type=int, help="so many layers of a random model; keep only so many of a given one")
    parser.add_argument("--cpu-time", action="store_true", help="one thread, and the process's time in place of the clock")
    parser.add_argument("--option", action="append", default=[], help="engine option NAME=VALUE")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.width:
            save_wide(given.model, given.width, given.layers or LAYERS, Path(folder))
            given.model = folder
        compare(given)


def compare(given: argparse.Namespace) -> None:
    """Print the table."""
    import torch
    from transformers import AutoModelForCausalLM

    from engines.base import load_engine
    from suite_builder.suite import Suite

    if given.cpu_time:
        torch.set_num_threads(1)
    clock = time.process_time if given.cpu_time else time.perf_counter
    engine = load_engine("transformers", given.model, dict(option.split("=", 1) for option in given.option))
    model = AutoModelForCausalLM.from_pretrained(given.model, dtype=engine._dtype, device_map=str(engine._device)).eval()
    for one in (model, engine._model):
        if given.layers:
            one.model.layers = one.model.layers[: given.layers]
            one.config.num_hidden_layers = given.layers
    prefix = engine._rendering.beginning()
    engine._scorer.keep(prefix)
    engine.warm_up()
    yardstick = Yardstick(model, clock)
    ways = Ways(engine, model, given.naive_tokens, yardstick)
    print(HEADER)
    for kind, requests in choose([Suite.open(path) for path in given.suite], engine, given.requests, given.tokens):
        if given.kinds and kind not in given.kinds:
            continue
        tokenized = [
            engine._rendering.tokenize(request.state, question) for request in requests for question in request.questions.values()
        ]
        work = needed(model, prefix, tokenized)
        taken: dict[str, list[Taken]] = {way: [] for way in given.ways}
        for _round in range(given.rounds):
            for way, own in taken.items():
                yardstick.rate()
                began = yardstick.clock()
                computed, in_all = getattr(ways, way)(requests, tokenized)
                seconds = (yardstick.clock() - began) * in_all / computed
                own.append(Taken(seconds, seconds * yardstick.rate(), in_all, peak_mib(model)))
        shares = {way: work.operations * len(own) / sum(one.possible for one in own) for way, own in taken.items()}
        for way, own in taken.items():
            rate = len(requests) * len(own) / sum(one.seconds for one in own)
            ratio = f"{shares[way] / shares['reuse']:.2f}" if "reuse" in shares else ""
            print(
                f"| {kind} | {way} | {len(requests)} | {rate:.3g} | {ratio} | {own[0].tokens / work.tokens:.2f} "
                f"| 0 % | {shares[way]:.0%} | {max(one.peak_mib for one in own):,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
