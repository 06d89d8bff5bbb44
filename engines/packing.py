"""Token sequences laid out in one row, every shared beginning once.

The sequences form a forest. Its tokens stand in depth-first order, so the descendants of a token are the tokens right
behind it, up to an end: token j is read by token i when `j <= i < ends[j]`. This one rule is the attention mask of everything
that lies in the row: prompts, the questions of one state, the options of one question. Knows nothing of models.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

NEVER = np.iinfo(np.int64).max


def shared_length(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading tokens two sequences have in common."""
    size = min(len(first), len(second))
    differing = np.flatnonzero(np.asarray(first[:size]) != np.asarray(second[:size]))
    return int(differing[0]) if len(differing) else size


class Forest:
    """Sequences in one row, added one after the other; each may go on from any beginning of the one before it.

    tokens, positions, ends: of each token its id, its place in its sequence, and the index behind its last descendant.
    prefix: tokens that every sequence may go on from; they come first, and what is computed of them may be kept.
    """

    def __init__(self, prefix: Sequence[int] = ()):
        self.tokens: list[int] = []
        self.positions: list[int] = []
        self.ends: list[int] = []
        self._path: list[int] = []
        self.extend(0, prefix)
        self.prefix_length = len(self.tokens)

    def __len__(self) -> int:
        return len(self.tokens)

    def extend(self, depth: int, tokens: Sequence[int]) -> list[int]:
        """Go back to the first `depth` tokens of the latest sequence and on with `tokens`.

        Returns:
            The index of every token of the sequence that this makes.
        """
        start, stop = len(self.tokens), len(self.tokens) + len(tokens)
        for index in self._path[depth:]:
            self.ends[index] = start
        self.tokens += tokens
        self.positions += range(depth, depth + len(tokens))
        self.ends += [NEVER] * len(tokens)
        self._path = [*self._path[:depth], *range(start, stop)]
        return self._path


@dataclass(frozen=True, slots=True)
class Reader:
    """One token that is to be predicted: its id, the index of the token that predicts it, and the score that it counts to."""

    index: int
    token: int
    score: int


class Layout:
    """The questions of one batch in a forest, and what has to be read off it.

    readers: the predictions whose log-probabilities make up the scores. scores: how many scores there are in all.
    sizes: how many of them each question has, in order.
    """

    def __init__(self, prefix: Sequence[int] = ()):
        self.forest = Forest(prefix)
        self.readers: list[Reader] = []
        self.sizes: list[int] = []
        self.scores = 0
        self._prompt = list(prefix)

    @property
    def new_tokens(self) -> int:
        """Tokens to compute: all but the prefix."""
        return len(self.forest) - self.forest.prefix_length

    def cost(self, prompt: Sequence[int]) -> int:
        """How many tokens a prompt would add."""
        return len(prompt) - shared_length(self._prompt, prompt)

    def add(self, prompt: Sequence[int], options: Sequence[Sequence[int]]) -> None:
        """Lay out a question: its prompt once, then its options (at least one token each) as a tree behind it.

        The last token of an option is predicted and never read.
        """
        depth = shared_length(self._prompt, prompt)
        path = self.forest.extend(depth, prompt[depth:])
        here = path
        before: Sequence[int] = ()
        for number in sorted(range(len(options)), key=options.__getitem__):
            option = options[number]
            if len(option) > 1:
                kept = shared_length(before, option[:-1])
                here = self.forest.extend(len(prompt) + kept, option[kept:-1])
                before = option[:-1]
            places = here[len(prompt) - 1 : len(prompt) - 1 + len(option)]
            self.readers += [Reader(*pair, self.scores + number) for pair in zip(places, option, strict=True)]
        self.scores += len(options)
        self.sizes.append(len(options))
        self._prompt = list(prompt)


@dataclass(frozen=True, slots=True)
class Block:
    """Neighbouring tokens that read together: indices `start` to `stop`, and indices that they read.

    read_by_all: every token of the block reads every key; each is then in a smaller block too, with the other keys that it reads.
    """

    start: int
    stop: int
    keys: np.ndarray
    read_by_all: bool = False


def blocks(ends: np.ndarray, start: int, stop: int, size: int, fewest: float = math.inf) -> Iterator[Block]:
    """Cut the tokens from start to stop into blocks of at most `size`, in order.

    What a block reads outside itself are the ancestors of its first token: whatever is an ancestor of a later one from
    further left encloses the first one too. Ancestors of a longer stretch are a block of their own where there are `fewest`.
    """
    return _halved(ends, start, stop, np.flatnonzero(ends[:start] > start), size, fewest)


def _halved(ends: np.ndarray, start: int, stop: int, ancestors: np.ndarray, size: int, fewest: float) -> Iterator[Block]:
    read_by_all = ends[ancestors] >= stop
    if np.count_nonzero(read_by_all) >= fewest:
        yield Block(start, stop, ancestors[read_by_all], read_by_all=True)
        ancestors = ancestors[~read_by_all]
    count = -(-(stop - start) // size)
    if count <= 1:
        yield Block(start, stop, np.concatenate([ancestors, np.arange(start, stop)]))
        return
    middle = start + (count + 1) // 2 * size
    yield from _halved(ends, start, middle, ancestors, size, fewest)
    before = np.concatenate([ancestors, np.arange(start, middle)])
    yield from _halved(ends, middle, stop, before[ends[before] > middle], size, fewest)


def passes(start: int, stop: int, size: int) -> list[tuple[int, int]]:
    """Cut start to stop into the fewest ranges of at most `size`, as even as can be."""
    count = max(-(-(stop - start) // size), 1)
    edges = [start + (stop - start) * number // count for number in range(count + 1)]
    return list(zip(edges[:-1], edges[1:], strict=True))
