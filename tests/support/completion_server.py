"""A completion server on loopback as the `openai` engine expects one: it echoes prompts with log-probabilities."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tiny_models import token_log_probabilities
from transformers import AutoModelForCausalLM, AutoTokenizer

Reply = tuple[int, dict[str, str], Any]


class CompletionServer(ThreadingHTTPServer):
    """Serves a saved tiny model. `faults` are calls (handler, body) -> reply or None; the first of them is used up by a
    request each, None lets the model answer.

    requests: (path, headers, body) of each request.
    """

    daemon_threads = True

    def __init__(self, model: Path, *faults: Callable[[Any, dict], Reply | None]):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.tokenizer = AutoTokenizer.from_pretrained(model)
        self.model = AutoModelForCausalLM.from_pretrained(model).eval()
        self.faults = list(faults)
        self.requests: list[tuple[str, dict, dict]] = []
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def complete(self, body: dict) -> dict:
        choices = [self._choice(index, prompt, body) for index, prompt in enumerate(body["prompt"])]
        return {"object": "text_completion", "choices": choices[::-1]}

    def _choice(self, index: int, prompt: list[int] | str, body: dict) -> dict:
        ids = self.tokenizer(prompt)["input_ids"] if isinstance(prompt, str) else prompt
        values = token_log_probabilities(self.model, ids)
        tokens = [self.tokenizer.decode([token]) for token in ids]
        generated = body["max_tokens"]
        if not body.get("echo"):
            values, tokens = [], []
        block = {"tokens": [*tokens, *["!"] * generated], "token_logprobs": [*values, *[-0.5] * generated]}
        return {"index": index, "text": "", "logprobs": block if body.get("logprobs") is not None else None}

    def handle_error(self, request, client_address):
        """A client that hung up is no news here."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers), body))
            fault = self.server.faults.pop(0) if self.server.faults else None
            reply = fault and fault(self, body)
            status, headers, content = reply or (200, {}, self.server.complete(body))
        content = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments):
        pass
