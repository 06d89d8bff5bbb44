"""How fast `suite_builder.retrieval` indexes a corpus and ranks it: `python bench/retrieval_index.py`.

Makes documents of random words, as frequent as words are in texts (Zipf), and prints a Markdown table. Making the
documents is not part of the times. Queries are beginnings of documents: the first ones pay for words that later ones
find scored.
"""

import argparse
import resource
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from suite_builder.retrieval import Corpus  # noqa: E402

SEED = 20260919
VOCABULARY = 60_000
WORDS = (50, 350)  # of a document, at least and less than
QUERY_WORDS = 60
AT_ONCE = 1000


def texts(count: int) -> Iterator[str]:
    """Random documents."""
    draw = np.random.default_rng(SEED)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    vocabulary = np.array(["".join(draw.choice(letters, draw.integers(2, 11))) for _ in range(VOCABULARY)])
    frequency = np.cumsum(1 / np.arange(2, VOCABULARY + 2))
    for done in range(0, count, AT_ONCE):
        lengths = draw.integers(*WORDS, min(AT_ONCE, count - done))
        places = np.searchsorted(frequency, draw.random(lengths.sum()) * frequency[-1])
        yield from map(" ".join, np.split(vocabulary[places], np.cumsum(lengths)[:-1]))


class Clock:
    """Seconds since it was made, without those that `outside` takes to bring its items."""

    def __init__(self):
        self.started = time.perf_counter()

    def outside(self, items: Iterable) -> Iterator:
        """The items, their making not counted."""
        iterator = iter(items)
        while True:
            before = time.perf_counter()
            item = next(iterator, None)
            self.started += time.perf_counter() - before
            if item is None:
                return
            yield item

    def seconds(self) -> float:
        return time.perf_counter() - self.started


def line(what: str, count: int, seconds: float) -> str:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return f"| {what} | {count:,} | {seconds:.1f} | {count / seconds:,.1f} | {peak:,.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100)
    given = parser.parse_args()

    print("| what | count | seconds | a second | peak memory, MiB |\n|---|" + "---:|" * 4)
    clock = Clock()
    corpus = Corpus((f"d{number}", text) for number, text in enumerate(clock.outside(texts(given.documents))))
    print(line("documents indexed", given.documents, clock.seconds()))
    numbers = np.random.default_rng(SEED).choice(given.documents, given.queries)
    queries = [" ".join(corpus.text(int(number)).split()[:QUERY_WORDS]) for number in numbers]
    clock = Clock()
    for query in queries:
        corpus.candidates(query)
    print(line(f"queries of {QUERY_WORDS} words ranked", given.queries, clock.seconds()))
    corpus.close()


if __name__ == "__main__":
    main()
