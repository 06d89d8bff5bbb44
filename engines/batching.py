"""From the requests of a window to batches: neighbours share the beginning of their prompts, each batch is worth a forward pass.

Knows tokens and requests, nothing of models. Batches are made while earlier ones are computed (`ahead`).
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeVar

from engines import wire
from engines.base import Unsupported
from engines.packing import Layout, shared_length
from engines.rendering import Rendering, TokenizedQuestion

TOKENIZED_AT_ONCE = 32
# Requests stay together when parting them would compute this share of a batch again,
WORTH_SHARING = 0.02
# until the batch is this many times its size: all of it is kept until it is done.
LARGEST = 8

Item = TypeVar("Item")
_DONE = object()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request of a window: its position there, its questions, and the tokens of those that need a model, by name.

    refusal: why it is not answered at all.
    """

    position: int
    questions: Mapping[str, Mapping]
    tokens: Mapping[str, TokenizedQuestion]
    refusal: Exception | None = None

    def in_order(self) -> list[tuple[str, TokenizedQuestion]]:
        """Names and tokens, prompts that share much next to each other."""
        return sorted(self.tokens.items(), key=lambda pair: pair[1].prompt)


def tokenized(
    requests: Sequence[tuple[Any, Mapping[str, Mapping]]], rendering: Rendering, limit: int
) -> Iterator[Asked]:
    """All (state, questions) pairs, those whose states begin alike next to each other; what has no answer is refused.

    Args:
        limit: tokens that the model has positions for.
    """
    order = sorted(range(len(requests)), key=lambda position: wire.compact_json(requests[position][0]))
    for start in range(0, len(order), TOKENIZED_AT_ONCE):
        texts = {position: _prompts(rendering, *requests[position]) for position in order[start : start + TOKENIZED_AT_ONCE]}
        readable = [text for own in texts.values() if isinstance(own, dict) for text in own.values()]
        prompts = iter(rendering.encode_prompts(readable))
        for position, own in texts.items():
            questions = requests[position][1]
            if isinstance(own, dict):
                yield _asked(position, questions, {name: next(prompts) for name in own}, rendering, limit)
            else:
                yield Asked(position, questions, {}, own)


def _prompts(rendering: Rendering, state: Any, questions: Mapping[str, Mapping]) -> dict[str, str] | Exception:
    """The prompt of every question that needs a model; one with a single option needs none."""
    try:
        return {
            name: rendering.prompt(state, question) for name, question in questions.items() if len(wire.options(question)) > 1
        }
    except Exception as error:
        return error


def _asked(
    position: int, questions: Mapping[str, Mapping], prompts: dict[str, list[int]], rendering: Rendering, limit: int
) -> Asked:
    """All questions are looked at first: a request with one that is too long costs no computation."""
    try:
        tokens = {name: TokenizedQuestion(prompt, rendering.options(questions[name])) for name, prompt in prompts.items()}
        for question in tokens.values():
            check_length(question, limit)
    except Exception as error:
        return Asked(position, questions, {}, error)
    return Asked(position, questions, tokens)


def check_length(tokens: TokenizedQuestion, limit: int) -> None:
    """Raises:
    Unsupported: prompt and longest option exceed the limit.
    """
    prompt, longest = len(tokens.prompt), max(map(len, tokens.options))
    if prompt + longest > limit:
        raise Unsupported(
            f"prompt of {prompt:,} tokens and longest option of {longest:,} exceed the context limit of {limit:,} tokens"
        )


def lay_out(batch: Iterable[Asked], layout: Layout) -> list[tuple[int, str]]:
    """Add all questions of a batch to a layout; returns position and name of each, in the layout's order."""
    added = []
    for one in batch:
        for name, tokens in one.in_order():
            layout.add(tokens.prompt, tokens.options)
            added.append((one.position, name))
    return added


def batches(asked: Iterable[Asked], new_layout: Callable[[], Layout], tokens: int) -> Iterator[list[Asked]]:
    """Requests in batches of at most `tokens` tokens to compute, or one request that has more.

    Requests that share more than the layout's own beginning stay in one batch for longer.
    """
    batch: list[Asked] = []
    layout = new_layout()
    for one in asked:
        if batch and not _belongs(one, layout, tokens):
            yield batch
            batch, layout = [], new_layout()
        lay_out([one], layout)
        batch.append(one)
    if batch:
        yield batch


def _belongs(one: Asked, layout: Layout, tokens: int) -> bool:
    ordered = [question for _, question in one.in_order()]
    if not ordered:
        return True
    prompts = [question.prompt for question in ordered]
    first = layout.cost(prompts[0])
    shared = len(prompts[0]) - first - layout.forest.prefix_length
    others = sum(len(prompt) - shared_length(before, prompt) for before, prompt in pairwise(prompts))
    options = sum(len(option) - 1 for question in ordered for option in question.options)
    most = LARGEST * tokens if shared > WORTH_SHARING * tokens else tokens
    return layout.new_tokens + first + others + options <= most


def ahead(items: Iterator[Item], count: int) -> Iterator[Item]:
    """The same items, up to `count` of them made in a thread of its own while earlier ones are used."""
    maker = ThreadPoolExecutor(1, "prepare-batches")
    try:
        coming = deque(maker.submit(next, items, _DONE) for _ in range(count))
        while (item := coming.popleft().result()) is not _DONE:
            coming.append(maker.submit(next, items, _DONE))
            yield item
    finally:
        maker.shutdown(cancel_futures=True)
