"""Token counts as the suite publishes them: the `cl100k_base` tokenizer from its own rank file, without the network."""

import base64
from collections.abc import Callable
from pathlib import Path

from suite_builder.sources import pinned

RANK_FILE = pinned(2, "cl100k_base.tiktoken")

# How cl100k_base splits text before merging; part of the tokenizer's definition, beside its ranks.
SPLIT = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)


def cl100k_counter(rank_file: Path) -> Callable[[str], int]:
    """A function that counts the tokens of a text; the texts of special tokens count as plain text."""
    import tiktoken

    pairs = (line.split() for line in rank_file.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in pairs}
    encoding = tiktoken.Encoding("cl100k_base", pat_str=SPLIT, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))
