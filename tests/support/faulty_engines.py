"""Engines that misbehave in one way each, loaded as `faulty_engines:Class`."""

import os
import time

from engines.base import Abstained, Answered, DeviceError, Engine, Unsupported
from engines.random import RandomEngine


class Steady(RandomEngine):
    """Answers like `random`, one request in `seconds`."""

    def __init__(self, seconds: float = 0.0, concurrency: int = 1):
        super().__init__()
        self.seconds = seconds
        self.concurrency = concurrency

    def __call__(self, state, questions):
        time.sleep(self.seconds)
        return super().__call__(state, questions)


class Telling(Steady):
    """As `Steady`, and tells how its batches go."""

    def live(self):
        return {"prompt_tokens_per_second": 12345.0, "padding_share": 0.04, "batch_size": 32}


class Moody(RandomEngine):
    """Every status: by the number in the state's first letter."""

    def __call__(self, state, questions):
        mood = sum(map(ord, state["text"])) % 5 if isinstance(state, dict) else 0
        if mood == 1:
            raise Unsupported("too long for me")
        if mood == 2:
            raise Abstained("no idea", raw_output={"seen": True})
        if mood == 3:
            raise ValueError("bad luck")
        response, raw = super().__call__(state, questions)
        if mood == 4:
            response["answers"] = {}
        return response, raw


class AlwaysFails(RandomEngine):
    def __call__(self, state, questions):
        if isinstance(state, dict):
            raise ConnectionError("nobody there")
        return super().__call__(state, questions)


class FailsAfter(RandomEngine):
    """Answers `good` requests, then raises what `kind` says: `error`, `device`, `cuda`, or ends the process (`abort`)."""

    def __init__(self, good: int = 3, kind: str = "error"):
        super().__init__()
        self.good = good
        self.kind = kind

    def __call__(self, state, questions):
        if not isinstance(state, dict):
            return super().__call__(state, questions)
        if self.good > 0:
            self.good -= 1
            return super().__call__(state, questions)
        if self.kind == "abort":
            os.abort()
        raise {
            "error": ValueError("worn out"),
            "device": DeviceError("the device is gone"),
            "cuda": RuntimeError("CUDA error: device-side assert triggered"),
        }[self.kind]

    def identity(self):
        return {"constant": True}


class Hangs(RandomEngine):
    def __call__(self, state, questions):
        if isinstance(state, dict):
            time.sleep(3600)
        return super().__call__(state, questions)


class FailsToLoad(Engine):
    def __init__(self):
        raise OSError("no weights here")

    def __call__(self, state, questions):
        raise AssertionError


class Batches(RandomEngine):
    """Overrides `answer_many`; the third request of every batch fails."""

    batch_size = 4

    def answer_many(self, requests):
        outcomes = [Answered(*self(state, questions)) for state, questions in requests]
        return [ValueError("third") if place == 2 else outcome for place, outcome in enumerate(outcomes)]


class PublicKit:
    """A class as written for the public kit: no base class, its own exceptions, options as texts."""

    class Unsupported(Exception):
        pass

    def __init__(self, model, max_options="255"):
        self.model = model
        self.max_options = int(max_options)

    def __call__(self, state, questions):
        for question in questions.values():
            if len(question.get("criteria") or ()) > self.max_options:
                raise PublicKit.Unsupported("too many options")
        return RandomEngine()(state, questions)
