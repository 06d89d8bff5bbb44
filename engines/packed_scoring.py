"""Scores of many questions in few forward passes over unpadded rows (packing.py).

Everything of a batch lies in one row: each prompt, what it shares with others once, and behind it the tree of its options.
Knows a model's forward pass, nothing of questions, tokenizers or requests.
"""

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import DynamicCache

from engines.base import EngineError
from engines.packed_attention import NAME, Pack
from engines.packing import Layout, passes

BLOCK_TOKENS = 128
# On a GPU a call costs more than the masked keys of blocks that share it; on a CPU the keys cost more.
BLOCKS_AT_ONCE = {"cpu": 1}
MANY_BLOCKS = 32
# Token ids that every vocabulary has; what follows them does not matter.
CHECK_PROMPTS = ([3, 4, 5, 6, 7, 8, 9, 10], [3, 4, 5, 6, 11, 12], [13, 14])
CHECK_OPTIONS = ([3], [4, 5], [4, 6, 7])
# How far packed log-probabilities may lie from those of plain passes, by how many bits a number has.
CHECK_TOLERANCE = {16: 0.5, 32: 0.01, 64: 0.01}


class PackedScorer:
    """Summed log-probabilities of what may follow prompts, a batch at a time.

    Args:
        model: a `transformers` causal language model.

    Raises:
        EngineError: the model's attention cannot be replaced, or it answers otherwise then.
    """

    def __init__(self, model: Any):
        self._model = model
        self._device = model.device
        self._at_once = BLOCKS_AT_ONCE.get(self._device.type, MANY_BLOCKS)
        arguments = inspect.signature(model.forward).parameters
        self._cache_argument = "cache" if "cache" in arguments else "past_key_values"
        self.keep(())
        if not (getattr(model, "_supports_attention_backend", False) and "position_ids" in arguments):
            raise EngineError(self._refusal("their attention is fixed"))
        self._take_over_attention()

    @torch.inference_mode()
    def _take_over_attention(self) -> None:
        """Replace the model's attention and hold a small batch to plain passes of the model as it came."""
        plain = [
            self._model(input_ids=self._tensor([prompt + option]), use_cache=False).logits[0, len(prompt) - 1 : -1].float()
            for prompt in CHECK_PROMPTS
            for option in CHECK_OPTIONS
        ]
        expected = [
            logits.log_softmax(-1).gather(1, self._tensor(option)[:, None]).sum()
            for logits, option in zip(plain, CHECK_OPTIONS * len(CHECK_PROMPTS), strict=True)
        ]
        self._model.set_attn_implementation(NAME)
        layout = self.new_layout()
        for prompt in CHECK_PROMPTS:
            layout.add(prompt, CHECK_OPTIONS)
        packed = torch.tensor(sum(self(layout, len(layout.forest)), []))
        difference = (packed - torch.stack(expected).cpu()).abs().max().item()
        if not difference <= CHECK_TOLERANCE[torch.finfo(self._model.dtype).bits]:
            raise EngineError(self._refusal(f"log-probabilities are off by {difference:.2g}"))

    def _refusal(self, reason: str) -> str:
        kind = self._model.config.get_text_config().model_type
        advice = "take a model with full or sliding-window attention"
        return f"{kind} models cannot score options behind a shared prompt ({reason}); {advice}"

    @torch.inference_mode()
    def keep(self, prefix: Sequence[int]) -> None:
        """Compute once what most prompts begin with; every layout begins with it from now on."""
        cache = DynamicCache()
        if prefix:
            layout = Layout()
            layout.add(prefix, [])
            self._forward(layout, 0, len(prefix), cache, logits_to_keep=1)
        self._prefix = list(prefix)
        self._prefix_states = [(layer.keys, layer.values) for layer in cache.layers]

    def new_layout(self) -> Layout:
        """An empty batch."""
        return Layout(self._prefix)

    @torch.inference_mode()
    def __call__(self, layout: Layout, pass_tokens: int) -> list[list[float]]:
        """Scores of every question of a layout (natural log), in order; waits for the device once, at the end.

        Args:
            layout: made by `new_layout`.
            pass_tokens: how many tokens one forward pass takes at most. Bounds memory, changes no score.
        """
        forest, readers = layout.forest, sorted(layout.readers, key=lambda reader: reader.index)
        index, token, score = np.array([(one.index, one.token, one.score) for one in readers], dtype=np.int64).reshape(-1, 3).T
        rows, row_of = np.unique(index, return_inverse=True)
        totals = torch.zeros(layout.scores, device=self._device)
        cache = DynamicCache(self._prefix_states)
        for start, stop in passes(forest.prefix_length, len(forest), pass_tokens):
            first_row, last_row = np.searchsorted(rows, (start, stop))
            first, last = np.searchsorted(index, (start, stop))
            kept = self._tensor(rows[first_row:last_row] - start)
            logits = self._forward(layout, start, stop, cache, logits_to_keep=kept)
            at = self._tensor(row_of[first:last] - first_row)
            picked = logits[at, self._tensor(token[first:last])] - logits.logsumexp(-1)[at]
            totals.index_add_(0, self._tensor(score[first:last]), picked)
        flat = iter(totals.tolist())
        return [[next(flat) for _ in range(size)] for size in layout.sizes]

    def _forward(self, layout: Layout, start: int, stop: int, cache: DynamicCache, logits_to_keep: Any) -> torch.Tensor:
        """Logits (kept tokens, vocabulary) in float32; the cache grows by the tokens from start to stop."""
        forest = layout.forest
        positions, ends = np.array(forest.positions[:stop]), np.array(forest.ends[:stop])
        pack = Pack(start, stop, positions, ends, BLOCK_TOKENS, self._at_once, self._device, self._model.dtype)
        output = self._model(
            input_ids=self._tensor(forest.tokens[start:stop])[None],
            position_ids=self._tensor(forest.positions[start:stop])[None],
            logits_to_keep=logits_to_keep,
            use_cache=True,
            pack=pack,
            **{self._cache_argument: cache},
        )
        return output.logits[0].float()

    def _tensor(self, values: Any) -> torch.Tensor:
        return torch.as_tensor(np.asarray(values, dtype=np.int64), device=self._device)
