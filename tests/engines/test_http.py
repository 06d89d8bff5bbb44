"""The http engine over real sockets: a small server of our own for each rule, then jevcompat's mock server."""

import json
import socket
import threading
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from engines import wire
from engines.base import Answered, EngineError, Unsupported, load_engine
from engines.http import LONGEST_WAIT, TOKEN_VARIABLE, HttpEngine, RequestFailed, backoff, retry_after

QUESTIONS = {"q": {"type": "noul", "instructions": "Is the kettle on?"}}
ANSWERS = {"q": {"type": "noul", "noul": 0.75}}
BODY = {"model": "m-1", "answers": ANSWERS, "usage": {"input_tokens": 7}}
TOKEN = "sesame-open-4711"
CRASH_GUARD = 20  # seconds until a thread that should have ended counts as hanging


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.delenv(TOKEN_VARIABLE, raising=False)


class Server(ThreadingHTTPServer):
    """Gives the n-th request the n-th reply, then the last one; a reply is (status, headers, body) or a call."""

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, *replies):
        super().__init__(("127.0.0.1", 0), Handler)
        self.replies = replies
        self.requests = []
        self.released = threading.Event()
        self.lock = threading.Lock()

    @property
    def host(self):
        return f"127.0.0.1:{self.server_port}"

    @property
    def url(self):
        return f"http://{self.host}"

    def handle_error(self, request, client_address):
        """A client that hung up is no news here."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append((self.path, self.headers, body))
            reply = self.server.replies[min(len(self.server.requests), len(self.server.replies)) - 1]
        status, headers, content = reply(self) if callable(reply) else reply
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        pass


OK = (200, {}, BODY)


def busy(status=503, **headers):
    return status, {name.replace("_", "-"): value for name, value in headers.items()}, {"error": "busy"}


def refusal(status, body):
    return status, {}, body


def hang_up(handler):
    """Close the connection without a word."""
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True
    return OK


def after_release(handler):
    """Answer once the test says so."""
    handler.server.released.wait(CRASH_GUARD)
    return OK


@pytest.fixture
def serve():
    servers = []

    def start(*replies):
        server = Server(*replies)
        servers.append(server)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return server

    yield start
    for server in servers:
        server.released.set()
        server.shutdown()
        server.server_close()


class Hasty(HttpEngine):
    """Notes how long it should wait and does not."""

    def pause(self, seconds):
        self.pauses = [*getattr(self, "pauses", []), seconds]
        return super().pause(0)


@pytest.fixture
def engine_for():
    engines = []

    def build(server_or_url, engine_class=Hasty, **options):
        url = server_or_url if isinstance(server_or_url, str) else server_or_url.url
        engines.append(engine_class(url, **options))
        return engines[-1]

    yield build
    for engine in engines:
        engine.close()


@pytest.fixture
def free_port():
    """A port of loopback that nobody listens on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


# What is sent, what comes back.


def test_request_is_posted_with_model_and_extra_fields(serve, engine_for):
    server = serve(OK)
    engine_for(f"{server.url}/", model="m-1", extra={"depth": [1, 2]})({"hörbar": None}, QUESTIONS)
    path, headers, body = server.requests[0]
    assert path == "/v1/systemone"
    assert headers["Content-Type"] == "application/json"
    assert body == {"model": "m-1", "state": {"hörbar": None}, "questions": QUESTIONS, "depth": [1, 2]}
    assert list(body) == ["model", "state", "questions", "depth"]


def test_request_without_model_leaves_the_field_out(serve, engine_for):
    server = serve(OK)
    engine_for(f"{server.url}/prefix")("", QUESTIONS)
    path, _, body = server.requests[0]
    assert (path, body) == ("/prefix/v1/systemone", {"state": "", "questions": QUESTIONS})


def test_response_keeps_answers_verbatim_and_further_fields_go_to_raw(serve, engine_for):
    answers = {"q": {"type": "noul", "noul": 1, "confidence": 0.3, "x_note": ["ä"]}}
    more = {"evaluation_trace": {"long": True}, "latency_ms": 3, "x_route": "a"}
    response, raw = engine_for(serve((200, {}, {**BODY, "answers": answers, **more})))("s", QUESTIONS)
    assert response == {"model": "m-1", "answers": answers, "usage": {"input_tokens": 7}}
    assert raw == {"latency_ms": 3, "x_route": "a"}


def test_raw_is_none_when_a_trace_is_all_there_was_beside_the_answers(serve, engine_for):
    response, raw = engine_for(serve((200, {}, {**BODY, "evaluation_trace": 1})))("s", QUESTIONS)
    assert (response, raw) == (BODY, None)


def test_answer_many_gives_an_outcome_per_request_with_the_time_of_its_exchange(serve, engine_for):
    server = serve(OK, refusal(422, {"code": "INPUT_TOO_LONG"}), refusal(404, {}), OK)
    outcomes = engine_for(server).answer_many([("s", QUESTIONS)] * 4)
    assert [type(outcome) for outcome in outcomes] == [Answered, Unsupported, RequestFailed, Answered]
    assert outcomes[0].response == BODY and outcomes[0].http_ms > 0 and outcomes[0].model_ms is None


def test_http_time_is_that_of_the_successful_exchange_alone(serve, engine_for, monkeypatch):
    clock = iter([0.0, 100.0, 100.25])  # start of a failed try, then start and end of the good one
    monkeypatch.setattr("engines.http.time", SimpleNamespace(perf_counter=lambda: next(clock)))
    [outcome] = engine_for(serve(hang_up, OK)).answer_many([("s", QUESTIONS)])
    assert outcome.http_ms == 250.0


def test_threads_share_one_engine(serve, engine_for):
    together = threading.Barrier(3)

    def at_once(handler):
        together.wait(CRASH_GUARD)  # breaks unless three requests are on the wire at the same time
        return OK

    engine = engine_for(serve(at_once), concurrency=3)
    outcomes = []
    threads = [
        threading.Thread(target=lambda: outcomes.extend(engine.answer_many([("s", QUESTIONS)] * 2))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(CRASH_GUARD)
    assert [outcome.response for outcome in outcomes] == [BODY] * 6


# Refusals.


@pytest.mark.parametrize("status", [400, 413, 422])
@pytest.mark.parametrize(
    "body",
    [
        {"error": "255 options per choice at most"},
        {"detail": [{"loc": ["body"], "msg": "A choice needs at least two options", "type": "value_error"}]},
        {"error": {"type": "invalid", "message": "a score takes 2 to 10 levels", "param": "q"}},
        b"the canvas holds 4096 cells",
        {"message": "This model's Maximum Context Length is 8192 tokens"},
        {"message": "longer than the maximum model length"},
        {"detail": "exceeds the context window"},
        {"detail": {"error_type": "usage", "message": "Too many tokens"}},
        {"error": "no", "code": "TOO_MANY_OPTIONS"},
        {"error": "no", "code": "INPUT_TOO_LONG"},
        {"error": "no", "code": "STATE_TRUNCATED"},
    ],
)
def test_refusal_that_names_a_capacity_limit_is_unsupported(serve, engine_for, status, body):
    server = serve(refusal(status, body))
    with pytest.raises(Unsupported) as refused:
        engine_for(server)("s", QUESTIONS)
    assert 0 < len(str(refused.value)) < 250 and "\n" not in str(refused.value)
    assert len(server.requests) == 1


def test_reason_of_an_unsupported_request_is_short(serve, engine_for):
    with pytest.raises(Unsupported) as refused:
        engine_for(serve(refusal(413, {"error": "x " * 500 + "context window"})))("s", QUESTIONS)
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize("field", ["input", "loc", "body"])
def test_repeated_request_in_a_refusal_does_not_count_as_a_named_limit(serve, engine_for, field):
    body = {"detail": [{"msg": "Input should be a valid string", field: ["a text about the context window"]}]}
    with pytest.raises(RequestFailed, match="answered 422: Input should be a valid string$"):
        engine_for(serve(refusal(422, body)))("s", QUESTIONS)


@pytest.mark.parametrize("status", [301, 402, 404, 405, 422])
def test_other_refusal_is_an_error_with_status_and_beginning_of_the_body(serve, engine_for, status):
    server = serve(refusal(status, {"error": "no such\nthing " + "x" * 1000}))
    with pytest.raises(RequestFailed) as failed:
        engine_for(server)("s", QUESTIONS)
    message = str(failed.value)
    assert message.startswith(f"{server.url} answered {status}: no such thing xxx") and message.endswith("…")
    assert len(message) < 300
    assert len(server.requests) == 1


def test_refusal_without_a_body_is_named_by_its_phrase(serve, engine_for):
    with pytest.raises(RequestFailed, match="answered 404: Not Found$"):
        engine_for(serve(refusal(404, b"")))("s", QUESTIONS)


@pytest.mark.parametrize("status", [404, 429, 500])
def test_capacity_words_with_another_status_are_not_unsupported(serve, engine_for, status):
    with pytest.raises(RequestFailed):
        engine_for(serve(refusal(status, {"error": "context window"})), retries=0)("s", QUESTIONS)


@pytest.mark.parametrize("status", [401, 403])
def test_missing_or_wrong_token_names_the_variable(serve, engine_for, status):
    with pytest.raises(RequestFailed, match=f"answered {status}: who are you.*; check {TOKEN_VARIABLE}$"):
        engine_for(serve(refusal(status, {"error": "who are you?"})))("s", QUESTIONS)


@pytest.mark.parametrize("content", [b")]}'\n{}", b"<html>hello</html>", b"", b'{"answers": NaN}', b"\xff\xfe"])
def test_response_that_is_not_json_is_an_error(serve, engine_for, content):
    with pytest.raises(RequestFailed, match="something that is not JSON"):
        engine_for(serve((200, {}, content)))("s", QUESTIONS)


@pytest.mark.parametrize("content", [[BODY], "text", 1, None])
def test_response_that_is_not_an_object_is_an_error(serve, engine_for, content):
    with pytest.raises(RequestFailed, match="not an object"):
        engine_for(serve((200, {}, content)))("s", QUESTIONS)


# Retries.


@pytest.mark.parametrize("failure", [busy(429), busy(500), busy(503), busy(529), hang_up])
def test_failed_try_is_repeated_after_a_growing_wait(serve, engine_for, failure):
    server = serve(failure, failure, failure, OK)
    engine = engine_for(server)
    assert engine("s", QUESTIONS) == (BODY, None)
    assert [0.25 <= pause <= 0.5 for pause in engine.pauses[:1]] == [True]
    assert 0.5 <= engine.pauses[1] <= 1 <= engine.pauses[2] <= 2
    assert [body for _, _, body in server.requests] == [server.requests[0][2]] * 4


def test_retries_end_with_the_last_failure(serve, engine_for):
    server = serve(busy())
    with pytest.raises(RequestFailed, match=f"^{server.url} answered 503: busy$"):
        engine_for(server, retries=2)("s", QUESTIONS)
    assert len(server.requests) == 3


def test_no_retries_means_one_try(serve, engine_for):
    server = serve(busy(429))
    engine = engine_for(server, retries=0)
    with pytest.raises(RequestFailed):
        engine("s", QUESTIONS)
    assert len(server.requests) == 1 and not hasattr(engine, "pauses")


def test_retry_after_decides_the_wait(serve, engine_for):
    engine = engine_for(serve(busy(429, Retry_After="7"), busy(503, Retry_After="3600"), OK))
    engine("s", QUESTIONS)
    assert engine.pauses == [7, LONGEST_WAIT]


def test_retry_after_reads_seconds_dates_and_nonsense():
    now = datetime.now(timezone.utc)
    assert retry_after("0", 9) == 0
    assert retry_after("2.5", 9) == 2.5
    assert [retry_after(text, 9) for text in ("", "soon", "Mon, 99 Foo 2026")] == [9, 9, 9]
    assert [retry_after(text, 9) for text in ("-4", "nan", "inf")] == [0, 0, LONGEST_WAIT]
    assert retry_after(format_datetime(now - timedelta(hours=1), usegmt=True), 9) == 0
    assert retry_after(format_datetime(now + timedelta(hours=1), usegmt=True), 9) == LONGEST_WAIT
    assert 0 < retry_after(format_datetime(now + timedelta(seconds=50), usegmt=True), 99) <= 50


def test_backoff_doubles_and_stays_under_a_minute():
    for attempt, top in enumerate([0.5, 1, 2, 4, 8, 16, 32, 60, 60]):
        assert all(top / 2 <= backoff(attempt) <= top for _ in range(50))
    assert backoff(5000) <= LONGEST_WAIT


def test_silent_server_ends_in_a_timeout_message(serve, engine_for):
    server = serve(after_release)
    with pytest.raises(RequestFailed, match=rf"^{server.url} gave no answer within 0\.05 s; .*timeout=SECONDS$"):
        engine_for(server, timeout=0.05, retries=1)("s", QUESTIONS)
    assert len(server.requests) == 2


def test_connection_that_breaks_off_is_named(serve, engine_for):
    server = serve(hang_up)
    with pytest.raises(RequestFailed, match=f"^{server.url} broke off: "):
        engine_for(server, retries=0)("s", QUESTIONS)


def test_dead_server_is_named_without_the_credentials_of_its_url(free_port, engine_for):
    engine = engine_for(f"http://anna:{TOKEN}@127.0.0.1:{free_port}", retries=1)
    with pytest.raises(RequestFailed) as failed:
        engine("s", QUESTIONS)
    assert str(failed.value) == f"cannot reach http://127.0.0.1:{free_port}: connection refused; is the server up?"


def test_warm_up_with_a_dead_server_is_an_engine_error(free_port, engine_for):
    with pytest.raises(EngineError, match="cannot reach http://127.0.0.1:.*is the server up"):
        engine_for(f"http://127.0.0.1:{free_port}", retries=0).warm_up()


def test_warm_up_asks_two_small_questions(serve, engine_for):
    server = serve(OK)
    engine_for(server).warm_up()
    assert [[question["type"] for question in body["questions"].values()] for _, _, body in server.requests] == [
        ["choice"],
        ["noul"],
    ]


# Closing.


def test_close_ends_a_long_wait_for_the_next_try(serve):
    waiting = threading.Event()

    class Watched(HttpEngine):
        def pause(self, seconds):
            waiting.set()
            return super().pause(seconds)

    server = serve(busy(503, Retry_After="60"))
    engine = Watched(server.url)
    outcomes = []
    asking = threading.Thread(target=lambda: outcomes.extend(engine.answer_many([("s", QUESTIONS)])), daemon=True)
    asking.start()
    assert waiting.wait(CRASH_GUARD)
    engine.close()
    asking.join(CRASH_GUARD)
    assert str(outcomes[0]) == f"{server.url} answered 503: busy"
    assert len(server.requests) == 1


def test_close_lets_an_exchange_in_flight_finish(serve):
    arrived = threading.Event()

    def held(handler):
        arrived.set()
        return after_release(handler)

    server = serve(held)
    engine = HttpEngine(server.url)
    outcomes = []
    asking = threading.Thread(target=lambda: outcomes.extend(engine.answer_many([("s", QUESTIONS)])), daemon=True)
    asking.start()
    assert arrived.wait(CRASH_GUARD)
    closing = threading.Thread(target=engine.close, daemon=True)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    server.released.set()
    asking.join(CRASH_GUARD)
    closing.join(CRASH_GUARD)
    assert outcomes[0].response == BODY and not closing.is_alive()


def test_closed_engine_refuses_and_closes_twice(serve):
    engine = HttpEngine(serve(OK).url)
    engine.close()
    engine.close()
    [outcome] = engine.answer_many([("s", QUESTIONS)])
    assert isinstance(outcome, Exception) and "closed" in str(outcome)


# Options, secrets, identity.


def test_token_of_the_environment_is_sent_as_bearer(serve, engine_for, monkeypatch):
    monkeypatch.setenv(TOKEN_VARIABLE, f" {TOKEN}\n")
    server = serve(OK)
    engine_for(f"http://anna:other@{server.host}")("s", QUESTIONS)
    assert server.requests[0][1]["Authorization"] == f"Bearer {TOKEN}"


def test_credentials_of_the_url_are_sent_when_there_is_no_token(serve, engine_for):
    server = serve(OK)
    engine_for(f"http://anna:secret@{server.host}")("s", QUESTIONS)
    assert server.requests[0][1]["Authorization"] == "Basic YW5uYTpzZWNyZXQ="


def test_nothing_is_sent_when_there_is_neither(serve, engine_for):
    server = serve(OK)
    engine_for(server)("s", QUESTIONS)
    assert "Authorization" not in server.requests[0][1]


@pytest.mark.parametrize(
    "reply", [refusal(401, {"error": f"bad key {TOKEN}, password hunter2"}), (200, {}, TOKEN.encode())]
)
def test_token_and_credentials_are_in_no_message_identity_or_info(serve, engine_for, monkeypatch, reply):
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    server = serve(reply)
    engine = engine_for(f"http://anna:hunter2@{server.host}/x", model="m", extra={"api_key": TOKEN})
    with pytest.raises(RequestFailed) as failed:
        engine("s", QUESTIONS)
    with pytest.raises(EngineError) as not_warm:
        engine.warm_up()
    shown = f"{failed.value} {not_warm.value} {engine.identity()} {engine.info()} {engine!r}"
    assert server.host in shown
    assert not [secret for secret in (TOKEN, "hunter2", "anna") if secret in shown]


def test_token_that_no_header_can_carry_is_refused_without_showing_it(monkeypatch):
    for token in ("ab\ncd", "schlüssel"):
        monkeypatch.setenv(TOKEN_VARIABLE, token)
        with pytest.raises(EngineError, match=TOKEN_VARIABLE) as refused:
            HttpEngine("http://127.0.0.1:1")
        assert token not in str(refused.value)


def test_identity_is_model_and_extra_and_not_the_address(engine_for):
    one = engine_for("http://127.0.0.1:1", model="m", extra={"depth": 3, "api_key": TOKEN}, timeout=1.0)
    other = engine_for("http://127.0.0.1:2/v", model="m", extra={"depth": 3, "api_key": "other"}, concurrency=9)
    assert one.identity() == other.identity() == {"model": "m", "extra": {"depth": 3, "api_key": "***"}}
    assert engine_for("http://127.0.0.1:1").identity() == {"model": None, "extra": {}}


def test_info_says_how_the_server_is_asked(engine_for):
    engine = engine_for("https://host.example:8443/api/", model="m", concurrency=2, timeout=9.0, retries=1)
    assert engine.info() == {
        "kind": "http",
        "base_url": "https://host.example:8443/api",
        "model": "m",
        "concurrency": 2,
        "timeout": 9.0,
        "retries": 1,
    }


@pytest.mark.parametrize(
    "url",
    ["localhost:8000", "127.0.0.1", "ftp://h", "http://", "", "http://u:pw@h:port", "http://h/?key=pw", "http://h/#pw"],
)
def test_base_url_must_be_one_and_the_message_does_not_repeat_it(url):
    with pytest.raises(EngineError, match="base_url must look like http://HOST:PORT") as refused:
        HttpEngine(url)
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    ("option", "value"), [("concurrency", 0), ("timeout", 0.0), ("timeout", float("nan")), ("extra", {"state": 1})]
)
def test_option_out_of_range_is_refused(option, value):
    with pytest.raises(EngineError, match=option):
        HttpEngine("http://127.0.0.1:1", **{option: value})


def test_command_line_options_become_their_types():
    numbers = {"concurrency": "8", "timeout": "2", "retries": "0"}
    engine = load_engine("http", "m", {"base_url": "http://127.0.0.1:1", "extra": '{"a": [1]}', **numbers})
    engine.close()
    assert engine.identity() == {"model": "m", "extra": {"a": [1]}}
    assert (engine.concurrency, engine.timeout, engine.retries) == (8, 2.0, 0)


def test_missing_base_url_is_named():
    with pytest.raises(EngineError, match="needs --option base_url=VALUE"):
        load_engine("http", "m")


# A server of somebody else.


# One request that meets every fault: all types, odd ids and keys, structured texts, null descriptions, many options.
RICH_STATE = ["Der Kessel läuft.", {"minutes": 3}]
RICH_QUESTIONS = {
    "kettle.on?": {"type": "noul"},
    "half": {"type": "noul", "instructions": {"ask": "Is it hot?"}, "criteria": {"true": "It steams."}},
    "odd": {"type": "choice", "instructions": ["Pick"], "criteria": {"Café": "a place", "TEA": None, "x y": {"n": 1}}},
    "many": {"type": "choice", "instructions": "Pick", "criteria": {f"Option_{n}": f"number {n}" for n in range(70)}},
    "level": {"type": "score", "instructions": "How hot?", "criteria": [f"level {n}" for n in range(7)]},
}

# Faults -> how it must end: "answered" (they break nothing that we need), "invalid" (wire.validate refuses the answer),
# or the message of the error.
FAULTS = {
    "wrong-route": "answered 404: .*No route /v1/systemone",
    "xssi-200": "not JSON",
    "plain-content-type": "answered",
    "models-404": "answered",
    "reject-array-state": "answered 422: Input should be a valid string",
    "strict-ids": "answered 422: Question id must match",
    "first-question-only": "invalid",
    "nfd-keys": "invalid",
    "forbid-extra": "answered 422: Extra inputs are not permitted",
    "string-only-text": "answered 422: Input should be a valid string",
    "noul-two-sided": "answered 422: Both 'true' and 'false' are required",
    "noul-needs-instructions": "answered 422: Field required",
    "no-null-description": "answered 422: Input should be a valid string",
    "cap-64": "answered 422: Dictionary should have at most 64 items",
    "cap-5-levels": "answered 422: List should have at most 5 items",
    "cap-64+validation-400": "answered 400: Dictionary should have at most 64 items",
    "cap-64+text-errors": "answered 422: Dictionary should have at most 64 items",
    "no-usage": "answered",
    "float-usage": "answered",
    "extra-answer": "invalid",
    "boolean-type": "invalid",
    "nan": "not JSON",
    "unprefixed-extra": "answered",
    "noul-range": "invalid",
    "choice-no-confidence": "answered",
    "choice-key-case": "invalid",
    "choice-sum": "invalid",
    "choice-second": "answered",
    "score-no-legend": "answered",
    "legend-1-based": "answered",
    "score-keys-1-based": "invalid",
    "score-sum": "invalid",
    "score-argmax": "answered",
    "confidence-over": "answered",
    "confidence-margin": "answered",
    "id-leaks": "answered",
    "order-leaks": "answered",
}


def test_mock_answers_every_type_validly(mock, engine_for):
    engine = engine_for(mock(), HttpEngine, model="jev-latest", extra={"x_seed": 1})
    engine.warm_up()
    first, again = engine.answer_many([(RICH_STATE, RICH_QUESTIONS)] * 2)
    wire.validate(RICH_QUESTIONS, first.response)
    assert first.response == again.response
    assert first.response["model"] == "jevcompat-mock-0.1" and first.response["usage"]["input_tokens"] > 0
    assert 0 <= first.response["answers"]["odd"]["confidence"] <= 1


@pytest.mark.parametrize(("faults", "ending"), FAULTS.items(), ids=FAULTS)
def test_mock_with_faults_is_answered_refused_or_named(mock, engine_for, faults, ending):
    server = mock(*(f"--fault={fault}" for fault in faults.split("+")))
    engine = engine_for(server, model="jev-latest", extra={"x_seed": 1})
    [outcome] = engine.answer_many([(RICH_STATE, RICH_QUESTIONS)])
    if ending == "answered":
        wire.validate(RICH_QUESTIONS, outcome.response)
    elif ending == "invalid":
        with pytest.raises(wire.InvalidResponse, match="question '"):
            wire.validate(RICH_QUESTIONS, outcome.response)
    else:
        with pytest.raises(RequestFailed, match=ending):
            raise outcome


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("error-flat", "answered 400: Unknown model: nobody$"),
        ("text-errors", "answered 400: Unknown model: nobody$"),
        ("reject-jev-latest", "answered 400: api_usage_error; Unknown model: nobody$"),
    ],
)
def test_mock_that_does_not_know_the_model_is_quoted(mock, engine_for, fault, message):
    with pytest.raises(EngineError, match=message):
        engine_for(mock("--fault", fault), model="nobody").warm_up()


def test_mock_with_a_key_answers_those_who_have_it(mock, engine_for, monkeypatch):
    server = mock("--key", TOKEN)
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    response, _ = engine_for(server, model="mock")("s", QUESTIONS)
    wire.validate(QUESTIONS, response)


@pytest.mark.parametrize("token", ["", "wrong-token-99"])
@pytest.mark.parametrize("fault", [(), ("--fault=auth-plain",), ("--fault=auth-invalid-403-text",)])
def test_mock_with_a_key_turns_others_away_with_advice(mock, engine_for, monkeypatch, fault, token):
    monkeypatch.setenv(TOKEN_VARIABLE, token)
    with pytest.raises(EngineError, match=f"answered 40[13]: .*; check {TOKEN_VARIABLE}$"):
        engine_for(mock("--key", TOKEN, *fault), model="mock").warm_up()


@pytest.mark.parametrize("arguments", [("--fault=auth-rejects-header",), ("--key", TOKEN, "--fault=auth-x-api-key")])
def test_mock_that_does_not_want_the_token_leaves_advice_without_showing_it(mock, engine_for, monkeypatch, arguments):
    monkeypatch.setenv(TOKEN_VARIABLE, TOKEN)
    with pytest.raises(EngineError, match=f"answered 40[13]: .*; check {TOKEN_VARIABLE}$") as refused:
        engine_for(mock(*arguments), model="mock").warm_up()
    assert TOKEN not in str(refused.value)


def test_server_that_dies_midway_gives_an_error_for_each_later_request(mock, engine_for):
    server = mock()
    engine = engine_for(server, model="mock", retries=1)
    [before] = engine.answer_many([("s", QUESTIONS)])
    server.process.kill()
    server.process.wait()
    after = engine.answer_many([("s", QUESTIONS), ("t", QUESTIONS)])
    wire.validate(QUESTIONS, before.response)
    assert [str(outcome) for outcome in after] == [
        f"cannot reach {server.url}: connection refused; is the server up?"
    ] * 2
