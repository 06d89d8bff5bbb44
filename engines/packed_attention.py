"""Attention over a packed row (packing.py): every block of tokens reads its own keys and no others.

Takes the place of a model's attention through the interface that `transformers` has for it, so every other part of the model
computes one unpadded row. Knows nothing of questions or tokens.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from engines.packing import Block

NAME = "di_packed"
# Key counts are rounded up to this; kernels want masks aligned.
ALIGNMENT = 8
# Blocks share a call when the longest reads at most this many times the keys of the shortest.
SPREAD = 1.25


class Group:
    """Blocks that attend in one call. Short blocks repeat their last query, missing keys are masked.

    queries: (blocks * rows), indices into the row of this pass; keys: (blocks * columns), indices into all tokens so far.
    """

    def __init__(self, members: Sequence[Block], offset: int):
        rows = max(block.stop - block.start for block in members)
        columns = -(-max(len(block.keys) for block in members) // ALIGNMENT) * ALIGNMENT
        self.count = len(members)
        self.rows = rows
        queries = np.stack([np.minimum(np.arange(block.start, block.start + rows), block.stop - 1) for block in members])
        keys = np.full((len(members), columns), -1)
        for place, block in enumerate(members):
            keys[place, : len(block.keys)] = block.keys
        self._absolute = (queries, keys)
        self.queries = (queries - offset).ravel()
        self.keys = keys.clip(0).ravel()

    def seen(self, positions: np.ndarray, ends: np.ndarray, window: int | None) -> np.ndarray:
        """Whether a query reads a key: (blocks, rows, columns) of bool."""
        queries, keys = (indices[..., None] if place == 0 else indices[:, None] for place, indices in enumerate(self._absolute))
        seen = (keys >= 0) & (keys <= queries) & (queries < ends[keys])
        if window is not None:
            seen &= positions[queries] - positions[keys] < window
        return seen


class Pack:
    """What the attention of one forward pass needs: the groups of its blocks, and their masks.

    Args:
        members: the blocks of the pass.
        offset: index of the first token of the pass.
        at_once: how many blocks may share a call.
        positions, ends: of all tokens so far.
    """

    def __init__(
        self,
        members: Sequence[Block],
        offset: int,
        positions: np.ndarray,
        ends: np.ndarray,
        at_once: int,
        device: torch.device,
        dtype: torch.dtype,
    ):
        self._facts = (positions, ends)
        self._device, self._dtype = device, dtype
        self._groups = [Group(group, offset) for group in _alike(members, at_once)]
        self._indices = [
            (torch.from_numpy(group.queries).to(device), torch.from_numpy(group.keys).to(device)) for group in self._groups
        ]
        self._masks: dict[tuple[int | None, int], list[torch.Tensor]] = {}

    def attend(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        scaling: float | None,
        window: int | None,
        softcap: float | None,
    ) -> torch.Tensor:
        """Args:
            query: (1, heads, tokens of the pass, size); key, value: (1, key heads, all tokens so far, size).
            window: how far back a token sees, itself included; None for all the way.
            softcap: bound of the attention scores before the mask, for models that have one.

        Returns:
            (1, tokens of the pass, heads, size).
        """
        _, heads, tokens, size = query.shape
        key_heads = key.shape[1]
        shared_by = heads // key_heads
        # Queries that share a key head stand below each other, so that keys need not be repeated.
        query = query[0].view(key_heads, shared_by, tokens, size)
        output = query.new_empty(tokens, heads, value.shape[-1])
        for group, (queries, keys), mask in zip(self._groups, self._indices, self._mask(window, shared_by), strict=True):
            shape = (key_heads, shared_by, group.count, group.rows, size)
            asked = query.index_select(2, queries).view(shape).permute(2, 0, 1, 3, 4).reshape(group.count, key_heads, -1, size)
            read = [
                states[0].index_select(1, keys).view(key_heads, group.count, -1, states.shape[-1]).transpose(0, 1)
                for states in (key, value)
            ]
            answer = _attention(asked, *read, mask, scaling, softcap)
            answer = answer.view(group.count, key_heads, shared_by, group.rows, -1).permute(0, 3, 1, 2, 4)
            output.index_copy_(0, queries, answer.reshape(group.count * group.rows, heads, -1))
        return output[None]

    def _mask(self, window: int | None, shared_by: int) -> list[torch.Tensor]:
        """What is added to the attention scores of each group: (blocks, 1, shared_by * rows, columns)."""
        if (window, shared_by) not in self._masks:
            self._masks[window, shared_by] = [
                self._additive(group.seen(*self._facts, window), shared_by) for group in self._groups
            ]
        return self._masks[window, shared_by]

    def _additive(self, seen: np.ndarray, shared_by: int) -> torch.Tensor:
        mask = torch.zeros(seen.shape, dtype=self._dtype, device=self._device)
        mask.masked_fill_(torch.from_numpy(~seen).to(self._device), float("-inf"))
        return mask.repeat(1, shared_by, 1)[:, None]


def _attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor,
    scaling: float | None,
    softcap: float | None,
) -> torch.Tensor:
    if softcap is None:
        return scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scaling)
    scores = (query @ key.transpose(2, 3)).float() * (scaling or query.shape[-1] ** -0.5)
    scores = softcap * torch.tanh(scores / softcap) + mask
    return scores.softmax(-1).to(value.dtype) @ value


def _alike(members: Sequence[Block], at_once: int) -> list[list[Block]]:
    """Blocks in groups of at most `at_once` that read about as many keys."""
    groups: list[list[Block]] = []
    for block in sorted(members, key=lambda block: len(block.keys)):
        if groups and len(groups[-1]) < at_once and len(block.keys) <= SPREAD * len(groups[-1][0].keys):
            groups[-1].append(block)
        else:
            groups.append([block])
    return groups


@torch.compiler.disable  # its shapes follow the blocks of each pass; what is around it compiles
def packed_attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    pack: Pack | None = None,
    **_unused: Any,
) -> tuple[torch.Tensor, None]:
    """The attention function of `transformers` models under the name NAME; `pack` comes with the call of the model."""
    return pack.attend(query, key, value, scaling, sliding_window, softcap), None


AttentionInterface.register(NAME, packed_attention)
