"""Log-probabilities of token sequences that may follow one prompt.

The prompt is computed once, and nothing again of the beginning that it shares with the prompt before it. The sequences are
packed behind its KV cache as prefix trees, chunk by chunk, in one row with a tree attention mask. No cache is ever
copied per sequence. Knows a model's forward pass, nothing of questions.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import torch
from transformers import DynamicCache

from engines.base import EngineError

FULL, SLIDING = "full_attention", "sliding_attention"
NEEDED_ARGUMENTS = {"attention_mask", "position_ids", "logits_to_keep"}


class PrefixTree:
    """Numbered token sequences with every common beginning stored once.

    tokens: token of each node, parents before their children.
    lineages: for each node the nodes on its path, itself last.
    ends: number of a sequence -> its last node.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.lineages: list[list[int]] = []
        self.ends: dict[int, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, number: int, sequence: Sequence[int]) -> None:
        node, lineage = -1, []
        for token in sequence:
            node = self._nodes.setdefault((node, token), len(self))
            if node == len(self):
                self.tokens.append(token)
                self.lineages.append([*lineage, node])
            lineage = self.lineages[node]
        self.ends[number] = node


def prefix_trees(sequences: Mapping[int, Sequence[int]], budget: int) -> Iterator[PrefixTree]:
    """Split numbered sequences into trees of at most `budget` nodes; a longer sequence gets a tree of its own."""
    tree = PrefixTree()
    for number in sorted(sequences, key=sequences.__getitem__):
        if tree and len(tree) + len(sequences[number]) > budget:
            yield tree
            tree = PrefixTree()
        tree.add(number, sequences[number])
    if tree:
        yield tree


def shared_length(first: Sequence[int], second: Sequence[int]) -> int:
    """How many leading tokens two sequences have in common."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(first), len(second)))


class OptionScorer:
    """Scores what may follow a prompt under a causal language model.

    Args:
        model: a `transformers` causal language model whose layers are full or sliding-window attention and that takes a
            position for every token.
        chunk_tokens: how many option tokens one forward pass takes at most; it bounds memory for masks and logits.

    Raises:
        EngineError: the tree mask does not fit the model.
    """

    def __init__(self, model: Any, chunk_tokens: int):
        config = model.config.get_text_config()
        arguments = inspect.signature(model.forward).parameters.keys()
        self._window = getattr(config, "sliding_window", None)
        self._layer_kinds = set(getattr(config, "layer_types", None) or [SLIDING if self._window else FULL])
        obstacles = self._layer_kinds - {FULL, SLIDING}
        obstacles |= {f"no {name}" for name in NEEDED_ARGUMENTS - arguments}
        obstacles |= {"alibi"} if getattr(config, "alibi", False) else set()
        if obstacles:
            raise EngineError(
                f"{config.model_type} models cannot score options behind a shared prompt "
                f"({', '.join(sorted(obstacles))}); take a model with full or sliding-window attention"
            )
        self._model = model
        self._device = model.device
        self._chunk_tokens = chunk_tokens
        self._cache_argument = "cache" if "cache" in arguments else "past_key_values"
        self.forget()

    def forget(self) -> None:
        """Start anew: what comes next owes nothing to earlier prompts, not even in the last digit."""
        self._cache = DynamicCache()
        self._cached: list[int] = []

    @torch.inference_mode()
    def __call__(self, prompt: Sequence[int], sequences: Sequence[Sequence[int]]) -> list[float]:
        """Summed log-probability (natural) of each sequence's tokens after the prompt; waits for the device.

        Args:
            prompt: at least one token id.
            sequences: at least one token id each.
        """
        logits = self._read_prompt(prompt)
        # The last token of a sequence is predicted and never read: one-token sequences need the prompt alone.
        read = {number: sequence[:-1] for number, sequence in enumerate(sequences) if len(sequence) > 1}
        totals = self._pick(logits, [0] * len(sequences), [sequence[0] for sequence in sequences])
        for tree in prefix_trees(read, self._chunk_tokens):
            logits = self._forward(tree.tokens, **self._tree_arguments(tree, len(prompt)))
            paths = {number: tree.lineages[end] for number, end in tree.ends.items()}
            next_tokens = chain.from_iterable(sequences[number][1:] for number in paths)
            picked = self._pick(logits, list(chain.from_iterable(paths.values())), list(next_tokens))
            totals.index_add_(0, self._tensor([number for number, path in paths.items() for _ in path]), picked)
            self._cache.crop(-len(tree))
        self._cached = list(prompt)
        return totals.tolist()

    def _read_prompt(self, prompt: Sequence[int]) -> torch.Tensor:
        """Logits (1, vocabulary) after the prompt; afterwards the cache holds the prompt and nothing else."""
        kept = min(shared_length(self._cached, prompt), len(prompt) - 1)
        surplus = len(self._cached) - kept
        if not kept:
            self.forget()
        elif surplus:
            self._cache.crop(-surplus)
        # Until all has gone well: a pass that fails halfway leaves the cache in no known state.
        self._cached = []
        return self._forward(prompt[kept:], logits_to_keep=1)

    def _forward(self, tokens: Sequence[int], **arguments: Any) -> torch.Tensor:
        """Logits (tokens or logits_to_keep, vocabulary) in float32; the cache grows by the tokens."""
        arguments[self._cache_argument] = self._cache
        output = self._model(input_ids=self._tensor([tokens]), use_cache=True, **arguments)
        return output.logits[0].float()

    def _pick(self, logits: torch.Tensor, rows: list[int], tokens: list[int]) -> torch.Tensor:
        """Log-probability of each token in its row of logits."""
        rows = self._tensor(rows)
        return logits[rows, self._tensor(tokens)] - logits.logsumexp(-1)[rows]

    def _tree_arguments(self, tree: PrefixTree, prompt_length: int) -> dict[str, Any]:
        """Positions that go on after the prompt on every path; a mask by which a node sees prompt and own path."""
        size = len(tree)
        positions = self._tensor([prompt_length + len(lineage) - 1 for lineage in tree.lineages])
        nodes = self._tensor([node for node, lineage in enumerate(tree.lineages) for _ in lineage])
        seen = torch.zeros(size, prompt_length + size, dtype=torch.bool, device=self._device)
        seen[:, :prompt_length] = True
        seen[nodes, prompt_length + self._tensor(list(chain.from_iterable(tree.lineages)))] = True
        masks = {kind: self._additive(seen, positions, kind) for kind in self._layer_kinds}
        # Models that mix both kinds of layers take a mask for each, the others a single one.
        mask = masks if len(masks) > 1 else masks.popitem()[1]
        return {"attention_mask": mask, "position_ids": positions[None]}

    def _additive(self, seen: torch.Tensor, positions: torch.Tensor, kind: str) -> torch.Tensor:
        """What is added to attention scores for a boolean mask (nodes, prompt + nodes), cut to a sliding window."""
        if kind == SLIDING:
            prompt = torch.arange(seen.shape[1] - len(positions), device=seen.device)
            seen = seen & (positions[:, None] - torch.cat([prompt, positions]) < self._window)
        mask = torch.zeros(seen.shape, dtype=self._model.dtype, device=seen.device)
        return mask.masked_fill_(~seen, torch.finfo(mask.dtype).min)[None, None]

    def _tensor(self, values: list) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.long, device=self._device)
