"""How much a device can take at once, from its free memory: tokens of a batch and requests of a window."""

from typing import Any

import psutil

# Above this many tokens in a pass a device is no faster; measured on CPUs, taken from the shapes of its matrix products on GPUs.
MOST_TOKENS = {"cpu": 1024, "cuda": 8192}
FEWEST_TOKENS = 128
# A part of the free memory, the rest is for what lives longer than a pass.
MEMORY_SHARE = 0.4
# Layers hand on hidden states, and hold several copies of them and of the wider states inside while they compute.
HIDDEN_COPIES, WIDE_COPIES = 16, 4
# Logits and their exponentials, in float32, and the logits as the model gives them.
LOGIT_BYTES = 12
TOKENS_PER_REQUEST, SMALLEST_WINDOW, LARGEST_WINDOW = 4, 64, 2048


def default_batch_tokens(config: Any, device: Any, dtype: Any) -> int:
    """Tokens of a batch whose passes fit into the free memory of a device.

    Args:
        config: of a `transformers` model that is loaded already.
    """
    text = config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    states = 2 * text.num_hidden_layers * heads * size
    wide = getattr(text, "intermediate_size", None) or 4 * text.hidden_size
    numbers = states + HIDDEN_COPIES * text.hidden_size + WIDE_COPIES * wide
    token_bytes = numbers * dtype.itemsize + LOGIT_BYTES * text.vocab_size
    fitting = int(MEMORY_SHARE * _free_bytes(device)) // token_bytes
    return max(FEWEST_TOKENS, min(fitting, MOST_TOKENS.get(device.type, MOST_TOKENS["cuda"])))


def default_window(batch_tokens: int) -> int:
    """Requests from which batches of so many tokens can be formed well."""
    return max(SMALLEST_WINDOW, min(batch_tokens // TOKENS_PER_REQUEST, LARGEST_WINDOW))


def _free_bytes(device: Any) -> int:
    import torch

    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else psutil.virtual_memory().available
