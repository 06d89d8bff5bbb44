"""A web server on loopback that answers as a test tells it to, and one that looks like the Hub to huggingface_hub."""

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Server:
    """Answers each request by the next of `answers`, the last one over and over; keeps what was asked for.

    requests: the headers of each request. paths: method and path of each.
    """

    def __init__(self, *answers: Callable[[BaseHTTPRequestHandler], None]):
        self.answers = list(answers)
        self.requests: list[dict[str, str]] = []
        self.paths: list[str] = []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.requests.append(dict(self.headers))
                server.paths.append(f"{self.command} {self.path}")
                answer = server.answers.pop(0) if len(server.answers) > 1 else server.answers[0]
                answer(self)
                self.close_connection = True

            do_HEAD = do_GET

            def log_message(self, *_arguments):
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,))
        self._thread.start()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_exception: object) -> None:
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


def reply(handler, status: int, body: bytes = b"", length: int | None = None, **headers: str) -> None:
    """Send a response; `length` is what it promises, by default the truth."""
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body) if length is None else length))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(body)


def serving(content: bytes) -> Callable:
    """The content, or the rest of it when a range is asked for."""

    def answer(handler):
        start = int(handler.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        if start >= len(content):
            reply(handler, 416)
        else:
            reply(handler, 206 if start else 200, content[start:])

    return answer


def failing(status: int, **headers: str) -> Callable:
    return lambda handler: reply(handler, status, **headers)


def tree(files: dict[str, bytes], routes: dict[str, dict] | None = None) -> Callable:
    """Files by their path; `routes` are JSON answers by path and query."""

    def answer(handler):
        if handler.path in (routes or {}):
            reply(handler, 200, json.dumps(routes[handler.path]).encode())
        elif handler.path.lstrip("/") in files:
            serving(files[handler.path.lstrip("/")])(handler)
        else:
            reply(handler, 404)

    return answer


def hub(repository: str, revision: str, files: dict[str, bytes], sha256: dict[str, str] | None = None) -> Callable:
    """One data set of a Hub; `sha256` are the checksums that its listing gives, as for large files."""
    resolve, listing = f"/datasets/{repository}/resolve/{revision}/", f"/api/datasets/{repository}/tree/{revision}"

    def entry(path: str) -> dict:
        size = len(files[path])
        facts = {"type": "file", "path": path, "size": size, "oid": "0" * 40}
        known = (sha256 or {}).get(path)
        return facts | ({"lfs": {"oid": known, "size": size, "pointerSize": 1}} if known else {})

    def answer(handler):
        path, _, _query = handler.path.partition("?")
        if path.startswith(listing):
            folder = path.removeprefix(listing).lstrip("/")
            reply(handler, 200, json.dumps([entry(path) for path in files if path.startswith(folder)]).encode())
        elif path.removeprefix(resolve) in files:
            reply(handler, 200, files[path.removeprefix(resolve)], X_Repo_Commit=revision, ETag='"0123"')
        else:
            reply(handler, 404, X_Error_Code="EntryNotFound")

    return answer
