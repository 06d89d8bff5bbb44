"""The definition that option scores are held to: for every option a plain forward pass over prompt and option."""

from typing import Any

import torch

from engines.rendering import TokenizedQuestion


@torch.inference_mode()
def log_probabilities(model: Any, tokens: TokenizedQuestion) -> list[float]:
    """Summed log-probability (natural) of every option's tokens after the prompt."""
    totals = []
    for option in tokens.options:
        input_ids = torch.tensor([tokens.prompt + option], device=model.device)
        # Position i predicts token i + 1; the last position predicts nothing that is asked for.
        logits = model(input_ids=input_ids, use_cache=False, logits_to_keep=len(option) + 1).logits[0, :-1]
        predicted = logits.double().log_softmax(-1)
        totals.append(sum(predicted[row, token].item() for row, token in enumerate(option)))
    return totals


def token_count(tokens: TokenizedQuestion) -> int:
    """How many tokens the naive passes over one question compute."""
    return sum(len(tokens.prompt) + len(option) for option in tokens.options)
