"""One request at a time with prefix reuse, to measure against: what serving a model question by question costs.

The KV cache of a prompt is kept until the next prompt and cut back to what both begin with. The options of a question follow in
one row, each token seeing the prompt and its own option. Every question is a call of its own.
"""

from typing import Any

import torch
from transformers import DynamicCache

from engines.packing import shared_length
from engines.rendering import TokenizedQuestion


class PrefixReuse:
    """Scores questions one after the other; `computed` counts the tokens of all passes."""

    def __init__(self, model: Any):
        self._model = model
        self._cache, self._cached = DynamicCache(), []
        self.computed = 0

    @torch.inference_mode()
    def __call__(self, tokens: TokenizedQuestion) -> list[float]:
        """Summed log-probability (natural) of every option's tokens after the prompt."""
        kept = min(shared_length(self._cached, tokens.prompt), len(tokens.prompt) - 1)
        if kept < len(self._cached):
            self._cache.crop(kept - len(self._cached)) if kept else self._cache.reset()
        self._cached = tokens.prompt
        first = self._forward(tokens.prompt[kept:], logits_to_keep=1)[-1].log_softmax(-1)
        totals = first[[option[0] for option in tokens.options]]
        owner = torch.tensor([number for number, option in enumerate(tokens.options) for _ in option[:-1]], dtype=torch.long)
        if len(owner):
            place = torch.tensor([place for option in tokens.options for place in range(len(option) - 1)])
            own = (owner[:, None] == owner) & (place[:, None] >= place)
            seen = torch.cat([torch.ones(len(owner), len(tokens.prompt), dtype=torch.bool), own], 1)
            mask = torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min).to(self._model.dtype)
            logits = self._forward(
                [token for option in tokens.options for token in option[:-1]],
                position_ids=(len(tokens.prompt) + place)[None].to(self._model.device),
                attention_mask=mask[None, None].to(self._model.device),
            )
            following = torch.tensor([token for option in tokens.options for token in option[1:]])
            picked = logits.log_softmax(-1)[range(len(owner)), following]
            totals.index_add_(0, owner.to(totals.device), picked)
            self._cache.crop(-len(owner))
        return totals.tolist()

    def _forward(self, row: list[int], **more: Any) -> torch.Tensor:
        self.computed += len(row)
        input_ids = torch.tensor([row], device=self._model.device)
        return self._model(input_ids=input_ids, cache=self._cache, use_cache=True, **more).logits[0].float()
