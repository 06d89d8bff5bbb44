"""The `transformers` engine on a device whose memory is short, loaded as `memory_engines:ShortOfMemory`."""

import time

from engines.causal_lm import CausalLmEngine


class ShortOfMemory(CausalLmEngine):
    """Runs out of memory in every pass over more than `most` tokens; every batch takes `seconds` longer."""

    def __init__(self, model: str, most: int = 400, seconds: float = 0.0, batch_tokens: int = 2000):
        super().__init__(model, device="cpu", batch_tokens=batch_tokens)
        scorer = self._scorer

        def limited(layout, pass_tokens):
            time.sleep(seconds)
            if min(layout.new_tokens, pass_tokens) > most:
                raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
            return scorer(layout, pass_tokens)

        limited.new_layout = scorer.new_layout
        self._scorer = limited
