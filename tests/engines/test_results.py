import gzip
import math
import resource
from datetime import UTC, datetime

import numpy
import orjson
import pytest
from suites import make_row, row_line

from engines import results
from engines.base import Abstained, Answered, Unsupported
from engines.results import (
    Checkpoint,
    ResultsError,
    Timing,
    encode,
    read_results,
    result_blocks,
    result_lines,
    result_parts,
    result_row,
)
from suite_builder.rows import Request

REQUEST = Request.from_line(row_line(make_row(44, 1)))
TIMING = Timing(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC), 12.5)
RESPONSE = {"model": "m", "answers": {"q1": {"type": "choice"}}, "usage": {"input_tokens": 3}}


def line(run_id="a", status="ok", **more):
    return encode({"run_id": run_id, "status": status, **more})


def test_a_result_has_the_published_keys_in_order():
    row = result_row(REQUEST, "mine", Answered(RESPONSE, {"logits": [1]}, http_ms=9.0), TIMING)
    assert list(row) == [
        "run_id", "catalog_id", "dataset", "group_id", "track", "source_path", "payload_sha256", "proxy_tokens",
        "benchmark_origin", "started_utc", "engine", "payload", "status", "response", "raw_output", "completed_utc",
        "total_wall_ms", "model_request_wall_ms", "http_wall_ms",
    ]
    assert row["payload"] == {"state": REQUEST.state, "questions": REQUEST.questions}
    assert row["started_utc"] == "2026-01-01T00:00:00+00:00"
    assert (row["status"], row["total_wall_ms"], row["model_request_wall_ms"]) == ("ok", 12.5, 12.5)


def test_compact_results_have_neither_payload_nor_raw_output():
    row = result_row(REQUEST, "mine", Answered(RESPONSE, "raw"), TIMING, compact=True)
    assert "payload" not in row and "raw_output" not in row
    assert "raw_output" not in result_row(REQUEST, "mine", Abstained("why", "raw"), TIMING, compact=True)


@pytest.mark.parametrize(
    ("outcome", "status", "keys"),
    [
        (Unsupported("too long"), "unsupported", {"error": "too long"}),
        (Abstained("no idea", raw_output=[1]), "abstained", {"error": "no idea", "raw_output": [1]}),
        (ValueError("oops"), "error", {"error": "oops", "exception": "ValueError"}),
        (ValueError(), "error", {"error": "ValueError"}),
    ],
)
def test_what_is_not_an_answer_says_why(outcome, status, keys):
    row = result_row(REQUEST, "mine", outcome, TIMING)
    assert row["status"] == status
    assert keys.items() <= row.items()
    assert "response" not in row
    assert ("traceback" in row) == (status == "error")


def test_batch_size_is_told_only_when_requests_shared_a_call():
    shared = Timing(TIMING.started, TIMING.completed, 1.0, batch_size=8)
    assert result_row(REQUEST, "e", Answered(RESPONSE), shared)["batch_size"] == 8
    assert "batch_size" not in result_row(REQUEST, "e", Answered(RESPONSE), TIMING)


def test_lines_are_compact_raw_unicode_and_take_numpy_values():
    assert encode({"é": numpy.float64(0.5), 1: [numpy.int64(2)]}) == '{"é":0.5,"1":[2]}\n'.encode()


def test_reading_skips_blank_lines_and_a_torn_last_line(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(line("a") + b"\n" + line("b") + line("c")[:-5])
    assert [row["run_id"] for row in read_results(path)] == ["a", "b"]
    packed = tmp_path / "results.jsonl.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert [row["run_id"] for row in read_results(packed)] == ["a", "b"]


@pytest.mark.parametrize("broken", [b"{oops\n", b'{"status":"ok"}\n', b'{"run_id":"x","status":"maybe"}\n', b"[]\n"])
def test_a_malformed_line_is_named(tmp_path, broken):
    path = tmp_path / "results.jsonl"
    path.write_bytes(line("a") + broken + line("b"))
    with pytest.raises(ResultsError, match="results.jsonl, line 2: "):
        list(read_results(path))
    with pytest.raises(ResultsError, match="results.jsonl, line 2: "):
        Checkpoint(path)
    assert path.read_bytes() == line("a") + broken + line("b")


def test_missing_and_truncated_files_are_named(tmp_path):
    with pytest.raises(ResultsError, match="no results in"):
        list(read_results(tmp_path / "none.jsonl"))
    packed = tmp_path / "cut.jsonl.gz"
    packed.write_bytes(gzip.compress(line("a") * 100)[:-8])
    with pytest.raises(ResultsError, match="cannot read .*cut.jsonl.gz"):
        list(read_results(packed))


@pytest.mark.parametrize("torn", [b'{"run_id":"c","sta', b"\x00" * 40, b'{"run_id":"c"}\n', b""])
def test_a_checkpoint_cuts_a_torn_end_and_goes_on(tmp_path, torn):
    path = tmp_path / "results.jsonl"
    path.write_bytes(line("a", payload_sha256="1") + line("b", "error") + torn)
    checkpoint = Checkpoint(path)
    assert (checkpoint.finished, checkpoint.failed) == ({"a": "1"}, {"b"})
    checkpoint.append([line("b"), line("c")])
    checkpoint.close()
    assert path.read_bytes() == line("a", payload_sha256="1") + line("b", "error") + line("b") + line("c")


def test_the_last_result_of_a_run_id_decides_what_is_asked_again(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(line("a", "error") + line("a") + line("b") + line("b", "error") + line("c", "unsupported"))
    checkpoint = Checkpoint(path)
    assert checkpoint.finished.keys() == {"a", "c"}
    assert checkpoint.failed == {"b"}
    checkpoint.close()


def test_a_full_disk_is_a_clear_error_and_leaves_whole_lines(tmp_path):
    path = tmp_path / "results.jsonl"
    checkpoint = Checkpoint(path)
    checkpoint.append([line("a")])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 10, hard))
    try:
        with pytest.raises(ResultsError, match="cannot write .*results so far are safe, free some space and run again"):
            checkpoint.append([line("b"), line("c")])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == line("a")
    checkpoint.append([line("b")])
    checkpoint.close()
    assert path.read_bytes() == line("a") + line("b")


def test_results_of_the_published_runner_are_read(shared):
    rows = list(read_results(shared / "golden" / "real-result-rows.jsonl"))
    assert len(rows) == 6
    assert {"ok"} <= {row["status"] for row in rows}


def test_every_line_survives_a_round_trip(tmp_path):
    path = tmp_path / "results.jsonl"
    row = result_row(REQUEST, "e", Answered(RESPONSE, None), TIMING)
    checkpoint = Checkpoint(path)
    checkpoint.append([encode(row)])
    checkpoint.close()
    assert list(read_results(path)) == [orjson.loads(orjson.dumps(row))]


def test_nan_in_a_line_is_read_as_a_number_and_still_refused_where_a_run_goes_on(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(line("a") + b'{"run_id":"b","status":"ok","response":{"p":NaN,"q":-Infinity}}\n' + line("c"))
    rows = list(read_results(path))
    assert [row["run_id"] for row in rows] == ["a", "b", "c"]
    assert math.isnan(rows[1]["response"]["p"]) and rows[1]["response"]["q"] == -math.inf
    with pytest.raises(ResultsError, match="results.jsonl, line 2: not valid JSON"):
        Checkpoint(path)


def test_lines_keep_their_places_however_long_they_are(tmp_path, monkeypatch):
    path = tmp_path / "results.jsonl"
    content = line("a") + b"\n" + line("b", text="x" * 500) + line("c") + b'{"run_id":"torn'
    path.write_bytes(content)
    for size in (1, 7, 100, 10_000):
        monkeypatch.setattr(results, "BLOCK", size)
        found = list(result_lines(path))
        assert [content[at : at + len(text)] for at, text in found] == [text for _at, text in found]
        assert [text for _at, text in found] == [line("a"), line("b", text="x" * 500), line("c")]


def test_parts_of_a_file_hold_whole_lines(tmp_path):
    path = tmp_path / "results.jsonl"
    content = line("a") + b"\n" + line("b", text="x" * 50) + line("c")
    path.write_bytes(content + b'{"run_id":"torn')
    for size in range(1, len(content) + 20):
        blocks = [bytes(block) for start, stop in result_parts(path, size) for _at, block in result_blocks(path, start, stop)]
        assert b"".join(blocks) == content


def test_a_malformed_line_is_numbered_in_packed_files_and_parts_too(tmp_path):
    packed = tmp_path / "results.jsonl.gz"
    packed.write_bytes(gzip.compress(line("a") + b"\n" + b"{oops\n" + line("b")))
    with pytest.raises(ResultsError, match="results.jsonl.gz, line 3: "):
        list(read_results(packed))
