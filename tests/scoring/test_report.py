"""The score job beyond the golden numbers: partial suites, invalid results, odd files, and what is written."""

import gzip
import json
import shutil
from functools import cache
from pathlib import Path

import orjson
import pytest

from engines.results import ResultsError
from scoring.errors import ScoreError
from scoring.report import CASES, INDEX, SCORES, SUMMARY, Reading, Scoring, score
from suite_builder.row_index import FOLDER, RowIndex, build
from suite_builder.suite import Suite

GOLDEN = Path(__file__).parents[1] / "fixtures" / "golden"
RESULTS = GOLDEN / "results" / "near-perfect" / "results.jsonl.gz"


def golden_lines(path):
    with gzip.open(path) as stream:
        return [orjson.loads(line) for line in stream]


@pytest.fixture
def suite():
    return Suite.open(GOLDEN / "suite-0.2", "0.2.1")


@pytest.fixture(scope="module")
def results():
    """Result rows of the near-perfect model, which every test may copy and bend."""
    return golden_lines(RESULTS)


def write_lines(path, rows):
    path.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    return path


@cache
def scored_run_ids():
    return {label.run_id for label in Suite.open(GOLDEN / "suite-0.2", "0.2.1").labels()}


def bent(results, catalog_id, **changes):
    """The results with the first scored row of a benchmark changed; also that row's run id."""
    first = next(row for row in results if row["catalog_id"] == catalog_id and row["run_id"] in scored_run_ids())
    return [{**row, **changes} if row is first else row for row in results], first["run_id"]


def with_answer(results, catalog_id, **changes):
    """As `bent`, with the first answer of the row changed."""
    row = next(row for row in results if row["run_id"] == bent(results, catalog_id)[1])
    question, answer = next(iter(row["response"]["answers"].items()))
    answers = {**row["response"]["answers"], question: {**answer, **changes}}
    return bent(results, catalog_id, response={**row["response"], "answers": answers})


def score_rows(suite, rows, folder):
    return score(suite, write_lines(folder / "results.jsonl", rows), folder, "bent")


def entry(scored, catalog_id):
    return scored.scores["benchmarks"][str(catalog_id)]


def partial_suite(folder, *catalog_ids):
    """A loose rows file with some benchmarks only."""
    rows = golden_lines(GOLDEN / "suite-0.2" / "selected-rows.jsonl.gz")
    kept = [row for row in rows if row["_evaluation"]["catalog_id"] in catalog_ids]
    return Suite.from_rows_file(write_lines(folder / "rows.jsonl", kept), "0.2.1")


def test_writes_valid_json_with_indent_one_and_raw_text(suite, tmp_path):
    scored = score(suite, RESULTS, tmp_path / "new" / "folder", "größer")
    for name, document in ((SUMMARY, scored.summary), (INDEX, scored.index), (SCORES, scored.scores)):
        text = (tmp_path / "new" / "folder" / name).read_text("utf-8")
        assert json.loads(text) == document
        assert text.startswith('{\n "')
    assert "größer" in (tmp_path / "new" / "folder" / SCORES).read_text("utf-8")
    assert scored.scores["generated_utc"].endswith("+00:00")


def test_leaves_no_temporary_files(suite, tmp_path):
    score(suite, RESULTS, tmp_path, "x")
    assert {path.name for path in tmp_path.iterdir()} == {SUMMARY, INDEX, SCORES, CASES}


def test_a_whole_suite_is_not_marked_partial_and_has_no_invalid_results(suite, tmp_path):
    scored = score(suite, RESULTS, tmp_path, "x")
    assert not {"partial_suite", "invalid"} & scored.scores.keys()
    assert scored.invalid == []


def test_tells_how_far_it_is(suite, tmp_path):
    events = []
    score(suite, RESULTS, tmp_path, "x", emit=events.append)
    assert events[0] == Reading(1000)
    assert events[-1] == Scoring(44, 44)


@pytest.mark.parametrize("catalog_ids", [(9,), (2, 40), (6, 48, 30), (1,)])
def test_benchmarks_without_rows_count_as_zero(tmp_path, catalog_ids):
    scored = score(partial_suite(tmp_path, *catalog_ids), RESULTS, tmp_path, "x")
    assert scored.scores["partial_suite"] is True
    assert len(scored.summary["benchmarks"]) == len(catalog_ids)
    missing = scored.index["benchmarks"]["57"]
    assert missing == {
        "raw": 0.0, "skill": 0.0, "coverage": 0.0, "random": 0.1109, "rule": "chance", "in_index": True,
    }
    assert scored.scores["index_benchmarks"]["22"]["random"] == 0.0078
    assert entry(scored, 57) | {"requests": 0, "pending": 0, "score": None, "dataset": "MMLU-Pro"} == entry(scored, 57)
    assert any("have no rows in this suite" in warning for warning in scored.warnings)


def test_area_of_a_partial_suite_is_the_weighted_mean_with_zeros(tmp_path):
    scored = score(partial_suite(tmp_path, 9), RESULTS, tmp_path, "x")
    tools = next(area for area in scored.index["areas"] if area["id"] == "tools")
    raw = scored.index["benchmarks"]["9"]["raw"]
    assert raw > 0
    assert tools["raw"] == pytest.approx(raw / (1.2 + 1.0 + 1.2 + 1.0 + 1.0), abs=1e-4)


def test_headline_of_an_absent_track_falls_back_to_the_mean_over_tracks(tmp_path):
    rows = golden_lines(GOLDEN / "suite-0.2" / "selected-rows.jsonl.gz")
    kept = [row for row in rows if row["_evaluation"]["track"] in ("iSarcasmEval-C-En", "iSarcasmEval-C-Ar")]
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", kept), "0.2.1")
    value = score(suite, RESULTS, tmp_path, "x").index["benchmarks"]["40"]
    assert value["raw"] == pytest.approx(sum(track["score"] for track in value["tracks"]) / 2, abs=1e-4)
    assert value["random"] == 0.5


def test_benchmark_with_only_untracked_rows_counts_as_zero(tmp_path):
    rows = golden_lines(GOLDEN / "suite-0.2" / "selected-rows.jsonl.gz")
    kept = [row for row in rows if row["_evaluation"]["track"] == "iSarcasmEval-B-En"]
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", kept), "0.2.1")
    value = score(suite, RESULTS, tmp_path, "x").index["benchmarks"]["40"]
    assert (value["raw"], value["coverage"], value["random"]) == (0.0, 0.0, 0.2227)


def test_no_results_at_all_is_said_and_scores_zero(suite, tmp_path):
    scored = score_rows(suite, [], tmp_path)
    assert scored.scores["decision_index"] == 0.0
    assert scored.scores["latency_ms"] == {"median": None, "p95": None, "mean": None}
    assert scored.scores["benchmarks"]["4"]["pending"] == 30
    assert any("holds no results" in warning for warning in scored.warnings)


def test_results_of_another_suite_are_refused(suite, results, tmp_path):
    strangers = [{**row, "run_id": f"other:{row['run_id']}"} for row in results]
    with pytest.raises(ScoreError, match="none of the 1,112 results"):
        score_rows(suite, strangers, tmp_path)


def test_results_without_a_row_are_counted(suite, results, tmp_path):
    strangers = [row for row in results if row["run_id"] not in scored_run_ids() | suite.excluded]
    usual = score_rows(suite, results, tmp_path)
    scored = score_rows(suite, [*results, {**results[0], "run_id": "new"}], tmp_path)
    assert scored.index == usual.index
    assert any(warning.startswith(f"{len(strangers) + 1} results belong to no row") for warning in scored.warnings)


def test_the_last_result_of_a_run_id_counts(suite, results, tmp_path):
    later, run_id = bent(results, 3, status="unsupported", response=None)
    again = [*results, next(row for row in later if row["run_id"] == run_id)]
    assert entry(score_rows(suite, again, tmp_path), 3)["unsupported"] == 1
    assert entry(score_rows(suite, [*again, *results], tmp_path), 3)["unsupported"] == 0


def test_order_of_results_does_not_matter(suite, results, tmp_path):
    usual = score_rows(suite, results, tmp_path)
    assert score_rows(suite, results[::-1], tmp_path).index == usual.index


def test_missing_results_file_is_named(suite, tmp_path):
    with pytest.raises(ResultsError, match="nowhere.jsonl"):
        score(suite, tmp_path / "nowhere.jsonl", tmp_path, "x")


def test_malformed_line_is_named_by_number(suite, tmp_path):
    broken = tmp_path / "results.jsonl"
    broken.write_bytes(b'{"run_id": "a", "status": "ok"}\n{"run_id": \n{"run_id": "a", "status": "ok"}\n')
    with pytest.raises(ResultsError, match="line 2"):
        score(suite, broken, tmp_path, "x")


def test_row_without_its_scoring_block_is_named(tmp_path):
    rows = golden_lines(GOLDEN / "suite-0.2" / "selected-rows.jsonl.gz")
    row = next(row for row in rows if row["_evaluation"]["catalog_id"] == 6)
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", [{**row, "scoring": {"outcomes": {}}}]), "0.2.1")
    with pytest.raises(ScoreError, match=f"row {row['_evaluation']['run_id']}: .* lacks cost_penalty_per_usd"):
        score(suite, RESULTS, tmp_path, "x")


def test_unwritable_folder_is_one_line(suite, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ScoreError, match="cannot write the scores into"):
        score(suite, RESULTS, tmp_path / "file", "x")


def test_the_label_file_gives_the_same_scores_as_the_rows(suite, tmp_path):
    copy = Suite.open(shutil.copytree(GOLDEN / "suite-0.2", tmp_path / "suite"), "0.2.1")
    build(copy, copy.directory / FOLDER)
    assert RowIndex.of(copy)
    results = GOLDEN / "results" / "gappy" / "results.jsonl.gz"
    from_labels, from_rows = score(copy, results, tmp_path / "a", "x"), score(suite, results, tmp_path / "b", "x")
    assert (from_labels.summary, from_labels.index) == (from_rows.summary, from_rows.index)
    assert (tmp_path / "a" / CASES).read_bytes() == (tmp_path / "b" / CASES).read_bytes()


# Invalid answers


def test_base_benchmarks_are_scored_as_published_and_the_invalid_answer_is_listed(suite, results, tmp_path):
    usual = score_rows(suite, results, tmp_path)
    rows, run_id = with_answer(results, 3, probabilities={"option_0": 0.9, "option_1": 0.9})
    scored = score_rows(suite, rows, tmp_path)
    assert entry(scored, 3) == entry(usual, 3)
    assert [(problem["run_id"], problem["counted_as"]) for problem in scored.scores["invalid"]] == [(run_id, "ok")]
    assert any("1 results are invalid (0 of them counted as errors)" in warning for warning in scored.warnings)


def test_an_option_that_does_not_exist_is_wrong(suite, results, tmp_path):
    rows, _run_id = with_answer(results, 3, choice="option_999")
    scored = score_rows(suite, rows, tmp_path)
    assert entry(scored, 3)["answered"] == 18
    usual = score_rows(suite, results, tmp_path)
    assert entry(scored, 3)["score"] == pytest.approx(entry(usual, 3)["score"] - 1 / 18, abs=1e-4)


def test_invalid_answers_of_added_benchmarks_are_errors(suite, results, tmp_path):
    rows, _run_id = with_answer(results, 57, probabilities={"A": 0.3})
    scored = score_rows(suite, rows, tmp_path)
    assert (entry(scored, 57)["errors"], entry(scored, 57)["answered"]) == (1, 27)
    assert scored.summary["counts"] == {"ok": 1112}


@pytest.mark.parametrize(("catalog_id", "errors"), [(3, 0), (57, 1)])
def test_result_of_another_payload_is_listed(suite, results, tmp_path, catalog_id, errors):
    rows, run_id = bent(results, catalog_id, payload_sha256="0" * 64)
    scored = score_rows(suite, rows, tmp_path)
    assert [(problem.run_id, problem.problem) for problem in scored.invalid] == [
        (run_id, "payload_sha256 differs from the row's")
    ]
    assert entry(scored, catalog_id)["errors"] == errors


@pytest.mark.parametrize("probability", [1.5, -0.1, None, "0.5", True])
def test_forecast_that_is_no_probability_is_a_named_error(suite, results, tmp_path, probability):
    rows, run_id = with_answer(results, 48, probabilities={"yes": probability, "no": 0.5})
    scored = score_rows(suite, rows, tmp_path)
    assert entry(scored, 48)["errors"] == 1
    assert [(problem.run_id, problem.counted_as) for problem in scored.invalid] == [(run_id, "error")]


@pytest.mark.parametrize("catalog_id", [2, 36])
def test_document_without_a_probability_makes_its_query_incomplete(suite, results, tmp_path, catalog_id):
    rows, _run_id = with_answer(results, catalog_id, probabilities={})
    before = entry(score_rows(suite, results, tmp_path), catalog_id)
    after = entry(score_rows(suite, rows, tmp_path), catalog_id)
    assert after["errors"] == 1
    assert after["coverage"] < before["coverage"]


@pytest.mark.parametrize("catalog_id", [6, 31, 50])
def test_choice_without_an_outcome_is_a_named_error(suite, results, tmp_path, catalog_id):
    rows, run_id = with_answer(results, catalog_id, choice="option_999")
    scored = score_rows(suite, rows, tmp_path)
    assert entry(scored, catalog_id)["errors"] == 1
    assert [problem.run_id for problem in scored.invalid] == [run_id]


@pytest.mark.parametrize("response", [None, "text", {}, {"answers": None}, {"answers": {"q1": 3}}])
@pytest.mark.parametrize("catalog_id", [4, 36, 48, 57])
def test_unreadable_responses_are_named_errors(suite, results, tmp_path, catalog_id, response):
    rows, run_id = bent(results, catalog_id, response=response)
    scored = score_rows(suite, rows, tmp_path)
    assert entry(scored, catalog_id)["errors"] == 1
    assert [problem.run_id for problem in scored.invalid] == [run_id]


def test_queries_without_relevant_documents_are_counted(tmp_path):
    rows = golden_lines(GOLDEN / "suite-0.1" / "selected-rows.jsonl.gz")
    group = next(row for row in rows if row["_evaluation"]["catalog_id"] == 36)["_evaluation"]["group_id"]
    for row in rows:
        if row["_evaluation"]["group_id"] == group:
            row["scoring"]["qrels"] = {}
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", rows), "0.1")
    scored = score(suite, RESULTS, tmp_path, "x")
    assert any(warning.startswith("1 retrieval queries have no relevant document") for warning in scored.warnings)
    assert 0 < entry(scored, 36)["score"] <= 1


def test_unknown_catalog_ids_are_scored_by_accuracy_beside_the_index(tmp_path):
    rows = golden_lines(GOLDEN / "suite-0.2" / "selected-rows.jsonl.gz")
    kept = [row for row in rows if row["_evaluation"]["catalog_id"] == 25]
    for row in kept:
        row["_evaluation"]["catalog_id"] = 999
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", kept), "0.2.1")
    scored = score(suite, RESULTS, tmp_path, "x")
    assert entry(scored, 999)["metric"] == "accuracy"
    assert entry(scored, 999)["in_index"] is False
    assert any("999" in warning for warning in scored.warnings)


def test_reference_that_misses_a_case_gives_no_comparison(suite, results, tmp_path):
    fewer, run_id = bent(results, 3)
    reference = write_lines(tmp_path / "reference.jsonl", [row for row in fewer if row["run_id"] != run_id])
    scored = score(suite, RESULTS, tmp_path, "x", reference)
    assert entry(scored, 3)["reference_same_cases"] is None
    assert entry(scored, 4)["reference_same_cases"] == entry(scored, 4)["score"]
