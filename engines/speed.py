"""How fast an engine is at the moment: written by the thread that computes, read by any other."""

import time
from collections import deque
from collections.abc import Sequence

from engines.base import Answered, Outcome

SECONDS_REMEMBERED = 60.0


class Speedometer:
    """Rates over the batches of the last minute."""

    def __init__(self) -> None:
        self._batches: deque[tuple[float, float, int, int, int]] = deque()

    def add(self, outcomes: Sequence[Outcome], seconds: float, computed: int) -> None:
        """Note a batch that is done: its outcomes, its time, and how many tokens were computed for it."""
        answered = [outcome for outcome in outcomes if isinstance(outcome, Answered)]
        prompt_tokens = sum(outcome.response["usage"]["input_tokens"] for outcome in answered)
        now = time.monotonic()
        self._batches.append((now, seconds, len(outcomes), prompt_tokens, computed))
        while self._batches[0][0] < now - SECONDS_REMEMBERED:
            self._batches.popleft()

    def read(self) -> dict[str, float]:
        """Prompt tokens answered and tokens computed a second of computing, and the mean batch size in requests.

        Rows are packed without padding, so `padding_share` is 0.
        """
        batches = list(self._batches)
        seconds = sum(batch[1] for batch in batches)
        if not seconds:
            return {}
        _, _, requests, prompt_tokens, computed = map(sum, zip(*batches, strict=True))
        return {
            "prompt_tokens_per_second": round(prompt_tokens / seconds, 1),
            "computed_tokens_per_second": round(computed / seconds, 1),
            "batch_size": round(requests / len(batches), 1),
            "padding_share": 0.0,
        }
