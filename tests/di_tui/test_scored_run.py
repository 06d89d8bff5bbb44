"""What the screens read of a run, over the golden runs: scored where that is due, and nothing of others' is replaced."""

import shutil
import time

import orjson
import pytest
from golden import GOLDEN, golden_lines, results_of, write_lines
from golden_runs import golden_run, golden_suite, scored_golden_run

from di_tui.scored_run import ScoredRun
from engines.results import ResultsError
from engines.run_dir import RunError
from scoring.errors import ScoreError
from suite_builder.errors import SuiteError

SCORES, CASES = "scores.json", "cases.parquet"


@pytest.fixture
def suite(tmp_path):
    return shutil.copytree(golden_suite(), tmp_path / "suite-0.2")


@pytest.fixture
def run(tmp_path):
    """A run without scores."""
    return shutil.copytree(golden_run("middling"), tmp_path / "runs" / "middling")


@pytest.fixture
def scored_run(tmp_path):
    return shutil.copytree(scored_golden_run("middling"), tmp_path / "runs" / "middling")


@pytest.fixture
def opened():
    runs = []

    def open_run(*arguments, **more):
        runs.append(ScoredRun.open(*arguments, **more))
        return runs[-1]

    yield open_run
    for run in runs:
        run.close()


def expected(edition, model="middling"):
    return orjson.loads((GOLDEN / "expected" / edition / model / SCORES).read_bytes())


def test_a_run_without_scores_is_scored_beside_its_results(run, suite, opened):
    scored = opened(run, suite)
    assert (scored.name, scored.edition.id) == ("middling", "0.2.1")
    assert scored.scores["decision_index"] == expected("0.2.1")["decision_index"]
    assert (run / SCORES).is_file() and (run / CASES).is_file()
    assert "interval" in scored.scores


def test_scores_that_are_there_are_not_made_again(scored_run, suite, opened):
    before = (scored_run / SCORES).stat().st_mtime_ns
    opened(scored_run, suite)
    assert (scored_run / SCORES).stat().st_mtime_ns == before


def test_results_that_changed_since_the_scores_are_scored_anew(scored_run, suite, opened):
    write_lines(scored_run / "results.jsonl", golden_lines(results_of("middling"))[:500])
    scored = opened(scored_run, suite).scores
    assert scored["completed"] < expected("0.2.1")["completed"]
    assert orjson.loads((scored_run / SCORES).read_bytes()) == scored


def test_another_edition_leaves_the_score_files_as_they_are(scored_run, suite, opened):
    run = scored_run
    before = (run / SCORES).read_bytes()
    scored = opened(run, suite, "0.2")
    assert (scored.edition.id, scored.scores["engine"]) == ("0.2", "middling")
    assert scored.scores["decision_index"] == expected("0.2")["decision_index"]
    assert len(scored.cases.gold) > len(opened(run, suite).cases.gold)
    assert (run / SCORES).read_bytes() == before
    scored.close()
    assert not scored.results.exists()


def test_scores_of_the_public_kit_are_not_replaced(run, suite, opened):
    (run / SCORES).write_bytes(orjson.dumps(expected("0.2.1")))
    before = (run / SCORES).read_bytes()
    assert "interval" in opened(run, suite).scores
    assert (run / SCORES).read_bytes() == before and not (run / CASES).exists()


def test_a_packed_results_file_opens_as_a_run_does(tmp_path, suite, opened):
    shutil.copy(results_of("middling"), tmp_path)
    scored = opened(tmp_path / "results.jsonl.gz", suite)
    run_id = scored.cases.gold.run_ids[-1]
    assert scored.result(run_id)["run_id"] == run_id


def test_cases_rows_and_results_of_every_benchmark_belong_together(scored_run, suite, opened):
    scored = opened(scored_run, suite)
    scored.prepare()
    for catalog_id, sheet in scored.sheets.items():
        run_id = scored.cases.gold.run_ids[sheet.positions[0]]
        request, result = scored.row(run_id), scored.result(run_id)
        assert request.catalog_id == catalog_id
        assert result is None or result["catalog_id"] == catalog_id
    with pytest.raises(KeyError):
        scored.row("no such request")
    assert scored.result("no such request") is None


def test_the_last_result_of_a_request_counts_also_when_it_holds_nan(run, suite, opened):
    rows = golden_lines(results_of("middling"))
    ok = next(row for row in rows if row["status"] == "ok")
    again = orjson.dumps({**ok, "total_wall_ms": "LATER"}).replace(b'"LATER"', b"NaN")
    with (run / "results.jsonl").open("ab") as file:
        file.write(again + b"\n" + b'{"run_id": "torn')
    assert opened(run, suite).result(ok["run_id"])["total_wall_ms"] != ok["total_wall_ms"]


def test_the_suite_is_found_from_the_environment_of_the_run(run, suite, opened):
    (run / "environment.json").write_bytes(orjson.dumps({"rows_path": str(suite), "edition": "0.2", "engine": "lexical"}))
    scored = opened(run)
    assert (scored.suite.directory, scored.edition.id, scored.scores["engine"]) == (suite, "0.2", "lexical")


def test_what_is_no_run_is_said_in_one_line(tmp_path, suite, run):
    with pytest.raises(RunError, match="no results in .*nothing; give a run directory"):
        ScoredRun.open(tmp_path / "nothing", suite)
    with pytest.raises(SuiteError, match="no suite in"):
        ScoredRun.open(run, tmp_path)
    with pytest.raises(SuiteError, match="holds the files of edition 0.2; edition 0.1 reads other files"):
        ScoredRun.open(run, suite, "0.1")
    with pytest.raises(SuiteError, match="unknown edition"):
        ScoredRun.open(run, suite, "9")


def test_results_that_cannot_be_scored_are_an_error_with_its_reason(run, suite):
    (run / "results.jsonl").write_text("no JSON\n{}\n")
    with pytest.raises(ScoreError, match=r"line 1: not valid JSON.*mend or delete that line"):
        ScoredRun.open(run, suite)
    (run / "results.jsonl").write_bytes(orjson.dumps({"run_id": "1:other", "status": "ok"}) + b"\n")
    with pytest.raises(ScoreError, match="none of the 1 results"):
        ScoredRun.open(run, suite)


def test_scoring_that_is_no_longer_wanted_ends_at_once(run, suite):
    began = time.monotonic()
    with pytest.raises(ScoreError, match="given up"):
        ScoredRun.open(run, suite, wanted=lambda: time.monotonic() - began < 0.1)
    assert not (run / SCORES).exists()


def test_a_malformed_result_is_named_when_results_are_indexed(scored_run, suite, opened):
    scored = opened(scored_run, suite)
    with (scored_run / "results.jsonl").open("ab") as file:
        file.write(b"broken\n")
    with pytest.raises(ResultsError, match="not valid JSON"):
        scored.result("any")


def test_the_80_percent_latency_is_one_that_occurs(scored_run, suite, opened):
    scored = opened(scored_run, suite)
    answered = [row["total_wall_ms"] for row in map(scored.result, scored.cases.gold.run_ids) if row and row["status"] == "ok"]
    assert scored.p80_ms == sorted(answered)[int(0.8 * (len(answered) - 1))]
