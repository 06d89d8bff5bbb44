"""Ask a server: the connection that engines behind one share, and the engine for servers that speak `/v1/systemone`.

It transports: whether an answer fits its questions is for wire.py to say. The bearer token comes from the environment,
credentials of the server's URL go into its Authorization header; neither is ever part of a message, of `identity` or of `info`.
"""

import itertools
import os
import random
import re
import threading
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import orjson

from engines import wire
from engines.base import Answered, Engine, EngineError, Outcome, Unsupported
from engines.redact import redact

TOKEN_VARIABLE = "DECISION_INDEX_API_KEY"
KEPT = ("model", "answers", "usage")
DROPPED = "evaluation_trace"

# What servers say when a request is beyond their capacity, in lower case, and the statuses they say it with.
CAPACITY_STATUSES = (400, 413, 422)
CAPACITY_LIMITS = (
    "options per choice",
    "a choice needs at least two options",
    "a score takes 2 to 10 levels",
    "the canvas holds",
    "maximum context length",
    "maximum model length",
    "context window",
    "too many tokens",
    "too_many_options",
    "input_too_long",
    "state_truncated",
)
# Fields of an error body in which servers repeat the request, whose text may well speak of a context window.
ECHOES = ("body", "input", "loc", "url")

FIRST_WAIT = 0.5
LONGEST_WAIT = 60.0
LONGEST_MESSAGE = 200


class RequestFailed(Exception):
    """The server gave nothing that could be an answer; one line says what it did and, where known, what to do."""


class ServerEngine(Engine):
    """An engine behind an HTTP server that may be busy, broken or out of reach for a while.

    name: what messages call it. token_variable: where its bearer token comes from. concurrency: requests on the wire at
    once. timeout: seconds to wait for the connection and for each part of an answer. retries: further tries after 429, 5xx
    and connection errors.
    """

    name: str
    token_variable: str

    def __init__(self, base_url: str, concurrency: int, timeout: float, retries: int):
        if concurrency < 1 or not timeout > 0:
            raise EngineError(f"engine {self.name!r}: concurrency must be at least 1 and timeout above 0")
        url = self._parse(base_url)
        token = self._token()
        self.concurrency = concurrency
        self.timeout = timeout
        self.retries = retries
        self.address = str(url.copy_with(userinfo=b"")).rstrip("/")
        self._secrets = [secret for secret in (token, url.username, url.password) if secret]
        self._stopped = threading.Event()
        self._slots = threading.Semaphore(concurrency)
        authorization = {"Authorization": f"Bearer {token}"} if token else {}
        self._client = httpx.Client(
            headers={"Content-Type": "application/json", **authorization},
            auth=(url.username, url.password) if url.userinfo and not token else None,
            timeout=timeout,
            limits=httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency),
        )

    def _post(self, path: str, request: Mapping[str, Any]) -> tuple[dict[str, Any], float]:
        """The JSON object that the server answers, and the wall ms of the exchange that brought it.

        Raises:
            Unsupported: the server names a capacity limit.
            RequestFailed: anything else that is not an answer.
        """
        response, wall_ms = self._exchange(path, wire.compact_json(request).encode())
        if not response.is_success:
            raise self._refusal(response)
        try:
            body = orjson.loads(response.content)
        except ValueError:
            said = shortened(self._said(response))
            raise RequestFailed(f"{self.address} answered with something that is not JSON: {said}") from None
        if not isinstance(body, dict):
            raise RequestFailed(f"{self.address} answered with JSON that is not an object")
        return body, wall_ms

    def _exchange(self, path: str, body: bytes) -> tuple[httpx.Response, float]:
        """Post until the server takes or refuses the request; the response and the wall ms of its exchange alone."""
        for attempt in itertools.count():
            wait = backoff(attempt)
            try:
                with self._slots:
                    started = time.perf_counter()
                    response = self._client.post(f"{self.address}{path}", content=body)
                    wall_ms = (time.perf_counter() - started) * 1000
            except httpx.RequestError as error:
                failure = self._broken(error)
            else:
                if response.status_code != 429 and response.status_code < 500:
                    return response, wall_ms
                failure = self._refusal(response)
                wait = retry_after(response.headers.get("Retry-After", ""), wait)
            if attempt >= self.retries or self.pause(wait):
                raise failure

    def pause(self, seconds: float) -> bool:
        """Wait before the next try; True as soon as the engine is stopped."""
        return self._stopped.wait(seconds)

    def _broken(self, error: httpx.RequestError) -> RequestFailed:
        reason = re.sub(r"^\[.*?\]\s*", "", str(error)) or type(error).__name__
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
            return RequestFailed(f"cannot reach {self.address}: {reason[0].lower()}{reason[1:]}; is the server up?")
        if isinstance(error, httpx.TimeoutException):
            advice = "if it needs longer, raise --option timeout=SECONDS"
            return RequestFailed(f"{self.address} gave no answer within {self.timeout:g} s; {advice}")
        return RequestFailed(f"{self.address} broke off: {reason}")

    def _refusal(self, response: httpx.Response) -> Exception:
        said = self._said(response)
        if response.status_code in CAPACITY_STATUSES and any(limit in said.lower() for limit in CAPACITY_LIMITS):
            return Unsupported(shortened(said))
        advice = f"; check {self.token_variable}" if response.status_code in (401, 403) else ""
        reason = shortened(said) or response.reason_phrase
        return RequestFailed(f"{self.address} answered {response.status_code}: {reason}{advice}")

    def _said(self, response: httpx.Response) -> str:
        """What a body says, in one line and without our secrets."""
        try:
            text = "; ".join(_texts(orjson.loads(response.content))) or response.text
        except ValueError:
            text = response.text
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return " ".join(text.split())

    def warm_up(self) -> None:
        try:
            super().warm_up()
        except RequestFailed as error:
            raise EngineError(str(error)) from error

    def info(self) -> dict[str, Any]:
        return {
            "kind": self.name,
            "base_url": self.address,
            "concurrency": self.concurrency,
            "timeout": self.timeout,
            "retries": self.retries,
        }

    def stop(self) -> None:
        """End all waiting for another try at once."""
        self._stopped.set()

    def close(self) -> None:
        """Stop, let exchanges in flight finish, then close the connections."""
        self.stop()
        for _ in range(self.concurrency):
            self._slots.acquire()
        self._client.close()
        self._slots.release(self.concurrency)

    def _parse(self, base_url: str) -> httpx.URL:
        # The message leaves the URL out: what cannot be parsed cannot be cleared of its credentials.
        try:
            url = httpx.URL(base_url.strip())
        except httpx.InvalidURL:
            url = httpx.URL()
        if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
            raise EngineError(f"engine {self.name!r}: base_url must look like http://HOST:PORT or https://HOST/PATH")
        return url

    def _token(self) -> str:
        token = os.environ.get(self.token_variable, "").strip()
        if not (token.isascii() and token.isprintable()):
            raise EngineError(f"{self.token_variable} holds characters that an HTTP header cannot carry")
        return token


class HttpEngine(ServerEngine):
    """`POST {base_url}/v1/systemone`. extra: further fields of every request body; the rest as in `ServerEngine`."""

    name = "http"
    token_variable = TOKEN_VARIABLE

    def __init__(
        self,
        base_url: str,
        model: str | None = None,
        extra: dict | None = None,
        concurrency: int = 4,
        timeout: float = 120.0,
        retries: int = 4,
    ):
        if extra and extra.keys() & {"model", "state", "questions"}:
            raise EngineError("engine 'http': extra cannot set model, state or questions")
        super().__init__(base_url, concurrency, timeout, retries)
        self.model = model
        self.extra = extra or {}

    def __call__(self, state: Any, questions: Mapping[str, Mapping]) -> tuple[dict, Any]:
        """Answer one request; raw holds the further fields of the server's response. Raises as `_post`."""
        answered = self._ask(state, questions)
        return answered.response, answered.raw_output

    def _outcome(self, state: Any, questions: Mapping[str, Mapping]) -> Outcome:
        try:
            return self._ask(state, questions)
        except Exception as error:
            return error

    def _ask(self, state: Any, questions: Mapping[str, Mapping]) -> Answered:
        model = {} if self.model is None else {"model": self.model}
        body, wall_ms = self._post("/v1/systemone", {**model, "state": state, "questions": questions, **self.extra})
        kept = {key: body[key] for key in KEPT if key in body}
        rest = {key: value for key, value in body.items() if key not in (*KEPT, DROPPED)}
        return Answered(kept, rest or None, http_ms=wall_ms)

    def identity(self) -> dict[str, Any]:
        """The server's address is left out: a server may move without its answers changing."""
        return {"model": self.model, "extra": redact(self.extra)}

    def info(self) -> dict[str, Any]:
        return {**super().info(), "model": self.model}


def backoff(attempt: int) -> float:
    """Seconds to wait after try `attempt` (from 0): doubling from half a second to a minute, half of it by chance."""
    return random.uniform(0.5, 1) * min(LONGEST_WAIT, FIRST_WAIT * 2 ** min(attempt, 10))


def retry_after(header: str, otherwise: float) -> float:
    """Seconds that a Retry-After header asks for (RFC 9110 section 10.2.3: seconds or a date), 0 to 60.

    `otherwise` where it is missing or says neither.
    """
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except (ValueError, OverflowError):
            return otherwise
    return min(max(0.0, seconds), LONGEST_WAIT)


def shortened(text: str) -> str:
    """The beginning of a text, of a length that fits a message."""
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}…"


def _texts(value: Any) -> Iterator[str]:
    """The texts of an error body, in order, but not those that repeat the request."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in ECHOES:
                yield from _texts(inner)
