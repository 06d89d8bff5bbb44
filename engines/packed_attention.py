"""Attention over a packed row (packing.py): every block of tokens reads its own keys and no others.

What a long stretch of tokens reads as a whole takes one call without a mask, where the kernel says how much its answer weighs (the
logarithm of the sum of its exponentials); the answers of a token over different keys add up by these weights.

Takes the place of a model's attention through the interface that `transformers` has for it, so every other part of the model
computes one unpadded row. Knows nothing of questions or tokens.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention
from transformers import AttentionInterface

from engines.packing import Block, blocks

NAME = "di_packed"
# Key counts are rounded up to this; kernels want masks aligned.
ALIGNMENT = 8
# Blocks share a call when the longest reads at most this many times the keys of the shortest.
SPREAD = 1.25
# From so many keys on, a call of their own costs less than their mask.
LONG_STRETCH = 256


class Group:
    """Blocks that attend in one call. Short blocks repeat their last query, missing keys are masked.

    queries: (blocks * rows), indices into the row of this pass, a slice of it for one block; keys: (blocks * columns), indices
    into all tokens so far.
    """

    def __init__(self, members: Sequence[Block], offset: int, device: torch.device):
        rows = max(block.stop - block.start for block in members)
        columns = -(-max(len(block.keys) for block in members) // ALIGNMENT) * ALIGNMENT
        self.count = len(members)
        self.rows = rows
        queries = np.stack([np.minimum(np.arange(block.start, block.start + rows), block.stop - 1) for block in members])
        keys = np.full((len(members), columns), -1)
        for place, block in enumerate(members):
            keys[place, : len(block.keys)] = block.keys
        self._absolute = (queries, keys)
        self.queries: slice | torch.Tensor = slice(members[0].start - offset, members[0].stop - offset)
        if len(members) > 1:
            self.queries = torch.from_numpy((queries - offset).ravel()).to(device)
        self.keys = torch.from_numpy(keys.clip(0).ravel()).to(device)

    def seen(self, positions: np.ndarray, ends: np.ndarray, window: int | None) -> np.ndarray:
        """Whether a query reads a key: (blocks, rows, columns) of bool."""
        queries, keys = (indices[..., None] if place == 0 else indices[:, None] for place, indices in enumerate(self._absolute))
        seen = (keys >= 0) & (keys <= queries) & (queries < ends[keys])
        if window is not None:
            seen &= positions[queries] - positions[keys] < window
        return seen


class Stretch:
    """A block whose tokens read all of its keys. queries: slice of the row of this pass; keys: slice or indices."""

    def __init__(self, block: Block, offset: int, device: torch.device):
        first, last = int(block.keys[0]), int(block.keys[-1])
        self.queries = slice(block.start - offset, block.stop - offset)
        self.keys: slice | torch.Tensor = slice(first, last + 1)
        if last - first >= len(block.keys):
            self.keys = torch.from_numpy(block.keys).to(device)


class Pack:
    """What the attention of one forward pass needs: its blocks, and their masks.

    Args:
        start, stop: indices of the tokens of the pass.
        positions, ends: of all tokens so far.
        block_tokens: tokens of a block at most.
        at_once: how many blocks may share a call.
    """

    def __init__(
        self,
        start: int,
        stop: int,
        positions: np.ndarray,
        ends: np.ndarray,
        block_tokens: int,
        at_once: int,
        device: torch.device,
        dtype: torch.dtype,
    ):
        self._row = (start, stop, block_tokens)
        self._at_once = at_once
        self._facts = (positions, ends)
        self._device, self._dtype = device, dtype
        self._cuts: dict[float, tuple[list[Group], list[Stretch]]] = {}
        self._masks: dict[tuple, torch.Tensor] = {}

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
        weighed = query.device.type == "cpu" and size == value.shape[-1] and window is None and softcap is None
        groups, stretches = self._cut(LONG_STRETCH if weighed else math.inf)
        # Queries that share a key head stand below each other, so that keys need not be repeated.
        query, key, value = query[0].view(key_heads, shared_by, tokens, size), key[0], value[0]
        output = query.new_empty(tokens, key_heads, shared_by, value.shape[-1])
        weights = query.new_empty(tokens, key_heads, shared_by, 1, dtype=torch.float32)
        for group in groups:
            asked = query[:, :, group.queries].unflatten(2, (group.count, group.rows)).permute(2, 0, 1, 3, 4)
            asked = asked.reshape(group.count, key_heads, -1, size)
            read = [
                states.index_select(1, group.keys).view(key_heads, group.count, -1, states.shape[-1]).transpose(0, 1)
                for states in (key, value)
            ]
            mask = self._mask(group, window, shared_by)
            if stretches:
                answer, weight = _weighed_attention(asked, *read, mask, scaling)
                weights[group.queries] = _by_token(weight[..., None], shared_by)
            else:
                answer = _attention(asked, *read, mask, scaling, softcap)
            output[group.queries] = _by_token(answer, shared_by)
        for stretch in stretches:
            asked = query[:, :, stretch.queries].reshape(1, key_heads, -1, size)
            answer, weight = _weighed_attention(asked, key[None, :, stretch.keys], value[None, :, stretch.keys], None, scaling)
            answer, weight = _by_token(answer, shared_by), _by_token(weight[..., None], shared_by)
            known, known_weight = output[stretch.queries], weights[stretch.queries]
            known.lerp_(answer, (weight - known_weight).sigmoid_().to(answer.dtype))
            torch.logaddexp(known_weight, weight, out=known_weight)
        return output.view(1, tokens, heads, -1)

    def _cut(self, fewest: float) -> tuple[list[Group], list[Stretch]]:
        if fewest not in self._cuts:
            start, stop, block_tokens = self._row
            found = list(blocks(self._facts[1], start, stop, block_tokens, fewest))
            groups = _alike([block for block in found if not block.read_by_all], self._at_once)
            self._cuts[fewest] = (
                [Group(group, start, self._device) for group in groups],
                [Stretch(block, start, self._device) for block in found if block.read_by_all],
            )
        return self._cuts[fewest]

    def _mask(self, group: Group, window: int | None, shared_by: int) -> torch.Tensor:
        """What is added to the attention scores of a group: (blocks, 1, shared_by * rows, columns)."""
        known = (group, window, shared_by)
        if known not in self._masks:
            seen = group.seen(*self._facts, window)
            mask = torch.zeros(seen.shape, dtype=self._dtype, device=self._device)
            mask.masked_fill_(torch.from_numpy(~seen).to(self._device), float("-inf"))
            self._masks[known] = mask.repeat(1, shared_by, 1)[:, None]
        return self._masks[known]


def _by_token(answer: torch.Tensor, shared_by: int) -> torch.Tensor:
    """From (blocks, key heads, shared_by * rows, size) to (blocks * rows, key heads, shared_by, size)."""
    return answer.unflatten(2, (shared_by, -1)).permute(0, 3, 1, 2, 4).flatten(0, 1)


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


def _weighed_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None, scaling: float | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Answers, and the logarithm of the sum of exponentials (blocks, key heads, shared_by * rows) in float32."""
    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(query, key, value, attn_mask=mask, scale=scaling)


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
