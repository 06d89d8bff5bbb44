"""The score job beyond the golden numbers: partial suites, invalid results, odd files, and what is written."""

import json
import shutil

import orjson
import pyarrow.parquet as pq
import pytest
from golden import GOLDEN, SUITE_0_2, bent, golden_lines, results_of, scored_run_ids, with_answer, write_lines

from engines.results import ResultsError
from scoring.errors import ScoreError
from scoring.report import CASES, INDEX, SCORES, SUMMARY, Reading, Scoring, score
from suite_builder.row_index import FOLDER, RowIndex, build
from suite_builder.suite import Suite

RESULTS = results_of("near-perfect")


@pytest.fixture
def suite():
    return Suite.open(SUITE_0_2, "0.2.1")


@pytest.fixture(scope="module")
def results():
    """Result rows of the near-perfect model, which every test may copy and bend."""
    return golden_lines(RESULTS)


def score_rows(suite, rows, folder):
    return score(suite, write_lines(folder / "results.jsonl", rows), folder, "bent", draws=20)


def entry(scored, catalog_id):
    return scored.scores["benchmarks"][str(catalog_id)]


def partial_suite(folder, *catalog_ids):
    """A loose rows file with some benchmarks only."""
    rows = golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz")
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
    told = [event.lines for event in events if isinstance(event, Reading)]
    assert told == sorted(told) and told[-1] == len(golden_lines(RESULTS))
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
    rows = golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz")
    kept = [row for row in rows if row["_evaluation"]["track"] in ("iSarcasmEval-C-En", "iSarcasmEval-C-Ar")]
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", kept), "0.2.1")
    value = score(suite, RESULTS, tmp_path, "x").index["benchmarks"]["40"]
    assert value["raw"] == pytest.approx(sum(track["score"] for track in value["tracks"]) / 2, abs=1e-4)
    assert value["random"] == 0.5


def test_benchmark_with_only_untracked_rows_counts_as_zero(tmp_path):
    rows = golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz")
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
    rows = golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz")
    row = next(row for row in rows if row["_evaluation"]["catalog_id"] == 6)
    suite = Suite.from_rows_file(write_lines(tmp_path / "rows.jsonl", [{**row, "scoring": {"outcomes": {}}}]), "0.2.1")
    with pytest.raises(ScoreError, match=f"row {row['_evaluation']['run_id']}: .* lacks cost_penalty_per_usd"):
        score(suite, RESULTS, tmp_path, "x")


def test_unwritable_folder_is_one_line(suite, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(ScoreError, match="cannot write the scores into"):
        score(suite, RESULTS, tmp_path / "file", "x")


def test_the_label_file_gives_the_same_scores_as_the_rows(suite, tmp_path):
    copy = Suite.open(shutil.copytree(SUITE_0_2, tmp_path / "suite"), "0.2.1")
    build(copy, copy.directory / FOLDER)
    assert RowIndex.of(copy)
    results = results_of("gappy")
    from_labels, from_rows = score(copy, results, tmp_path / "a", "x"), score(suite, results, tmp_path / "b", "x")
    assert (from_labels.summary, from_labels.index) == (from_rows.summary, from_rows.index)
    tables = [pq.read_table(tmp_path / folder / CASES).to_pylist() for folder in ("a", "b")]
    assert tables[0] == tables[1]


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
    rows = golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz")
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


@pytest.mark.parametrize("catalog_id", [3, 57])
def test_strict_counts_every_invalid_answer_as_an_error(suite, results, tmp_path, catalog_id):
    rows, run_id = with_answer(results, catalog_id, probabilities={"option_0": 0.9, "option_1": 0.9})
    path = write_lines(tmp_path / "results.jsonl", rows)
    scored = score(suite, path, tmp_path, "x", strict=True, draws=0)
    assert entry(scored, catalog_id)["errors"] == 1
    assert [(problem.run_id, problem.counted_as) for problem in scored.invalid] == [(run_id, "error")]


def literal_nan(results, catalog_id):
    """The file as bytes, with NaN, which is no JSON, for every probability of a benchmark's first answer."""
    rows, run_id = with_answer(results, catalog_id, probabilities={"yes": "NAN", "no": "NAN"})
    text = b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows)
    return text.replace(b'"NAN"', b"NaN"), run_id


def test_nan_in_a_line_is_a_counted_invalid_result_and_the_file_is_read(suite, results, tmp_path):
    content, run_id = literal_nan(results, 1)
    (tmp_path / "results.jsonl").write_bytes(content)
    scored = score(suite, tmp_path / "results.jsonl", tmp_path, "x", draws=0)
    assert [problem.run_id for problem in scored.invalid] == [run_id]
    assert "is not finite" in scored.invalid[0].problem
    assert any("1 results are invalid" in warning for warning in scored.warnings)
    assert entry(scored, 1)["answered"] == entry(score_rows(suite, results, tmp_path), 1)["answered"]


def test_nan_forecasts_and_documents_are_errors(suite, results, tmp_path):
    for catalog_id in (2, 36, 48):
        content, run_id = literal_nan(results, catalog_id)
        (tmp_path / "results.jsonl").write_bytes(content)
        scored = score(suite, tmp_path / "results.jsonl", tmp_path, "x", draws=0)
        assert entry(scored, catalog_id)["errors"] == 1
        assert [(problem.run_id, problem.counted_as) for problem in scored.invalid] == [(run_id, "error")]


def test_run_ids_with_different_results_are_counted_and_asking_an_error_again_is_not(suite, results, tmp_path):
    later, run_id = with_answer(results, 3, choice="option_1")
    other = next(row for row in later if row["run_id"] == run_id)
    failed, _run_id = bent(results, 4, status="error", response=None)
    again = [*failed, *[row for row in results if row["catalog_id"] == 4], *results[:3]]
    assert not any("run ids have several" in warning for warning in score_rows(suite, again, tmp_path).warnings)
    scored = score_rows(suite, [*again, other], tmp_path)
    assert f"1 run ids have several results that differ, of which the last counts, first {run_id}" in scored.warnings


def test_a_file_cut_in_the_middle_of_a_line_scores_what_is_whole(suite, results, tmp_path):
    whole = write_lines(tmp_path / "results.jsonl", results[:600]).read_bytes()
    (tmp_path / "results.jsonl").write_bytes(whole[:-100])
    scored = score(suite, tmp_path / "results.jsonl", tmp_path, "x", draws=0)
    assert sum(scored.summary["counts"].values()) == 599
    assert any("requests have no result and count as wrong" in warning for warning in scored.warnings)


def test_a_packed_file_cut_in_the_middle_is_named(suite, tmp_path):
    (tmp_path / "results.jsonl.gz").write_bytes(RESULTS.read_bytes()[:20000])
    with pytest.raises(ResultsError, match="cannot read .*results.jsonl.gz"):
        score(suite, tmp_path / "results.jsonl.gz", tmp_path, "x")


# Editions


def suite_0_3(folder):
    """The golden suite with new GSM8K rows, as a partial suite of edition 0.3."""
    shutil.copytree(SUITE_0_2, folder)
    rows = golden_lines(folder / "selected-rows.jsonl.gz")
    renewed = [row for row in rows if row["_evaluation"]["catalog_id"] == 30]
    for row in renewed:
        row["_evaluation"]["run_id"] = f"v0.3-gsm8k:{row['_evaluation']['run_id']}"
    write_lines(folder / "gsm8k-rows.jsonl", renewed)
    (folder / "manifest.json").write_text(json.dumps({"edition": "release-v3", "partial": True}))
    return Suite.open(folder, "0.3"), [row["_evaluation"]["run_id"] for row in renewed]


def test_an_older_run_under_0_3_says_what_is_missing(results, tmp_path):
    suite, renewed = suite_0_3(tmp_path / "suite")
    scored = score(suite, write_lines(tmp_path / "results.jsonl", results), tmp_path, "x", draws=0)
    assert scored.scores["edition"] == "0.3"
    assert entry(scored, 30)["pending"] == len(renewed)
    assert "48" not in scored.scores["benchmarks"]
    assert f"requests have no result and count as wrong: 30 GSM8K ({len(renewed)})" in " ".join(scored.warnings)
    assert [report["catalog_id"] for report in scored.summary["benchmarks"]][-8:] == [30, 56, 57, 58, 59, 61, 62, 64]


def test_results_of_the_new_gsm8k_rows_count_under_0_3(results, tmp_path):
    suite, renewed = suite_0_3(tmp_path / "suite")
    old = [row for row in results if row["catalog_id"] == 30]
    new = [{**row, "run_id": f"v0.3-gsm8k:{row['run_id']}"} for row in old]
    scored = score(suite, write_lines(tmp_path / "results.jsonl", [*results, *new]), tmp_path, "x", draws=0)
    usual = score(Suite.open(SUITE_0_2, "0.2.1"), RESULTS, tmp_path / "old", "x", draws=0)
    assert entry(scored, 30)["answered"] == len(renewed)
    assert scored.index["benchmarks"]["30"] == usual.index["benchmarks"]["30"]


def test_a_0_1_run_under_a_later_edition_says_what_is_missing(suite, results, tmp_path):
    base = [row for row in results if row["catalog_id"] < 56]
    scored = score_rows(suite, base, tmp_path)
    assert entry(scored, 57)["pending"] == 28
    assert any("58 BBH fixed-option tasks" in warning and "more benchmarks" in warning for warning in scored.warnings)


# Chance levels, intervals and calibration in scores.json


def test_chance_levels_of_the_rows_stand_beside_the_published_ones(suite, tmp_path):
    scores = score(suite, RESULTS, tmp_path, "x", draws=0).scores["benchmarks"]
    assert scores["25"]["chance"] == scores["25"]["chance_on_rows"] == 0.25
    assert scores["30"]["chance_on_rows"] == 0.175
    assert scores["61"]["chance_on_rows"] == 0.5
    assert scores["2"]["chance_on_rows"] == scores["2"]["chance"]
    assert scores["4"]["chance_on_rows"] is None
    assert 0 < scores["6"]["chance_on_rows"] < 1


def test_intervals_hold_their_value_and_stand_beside_it(suite, tmp_path):
    scored = score(suite, results_of("middling"), tmp_path, "x", draws=200)
    document = scored.scores
    low, high = document["interval"]["balanced_skill"]
    assert low < document["decision_index"] < high
    assert document["interval"]["draws"] == 200
    for area in document["areas"]:
        assert area["interval"]["skill"][0] <= area["skill"] <= area["interval"]["skill"][1]
    for catalog_id in (1, 9, 25, 36, 40, 57):
        own = document["benchmarks"][str(catalog_id)]
        assert own["interval"]["raw"][0] <= own["index_raw"] <= own["interval"]["raw"][1]


def test_scores_say_whether_latencies_are_those_of_batches(suite, tmp_path):
    results = shutil.copy(results_of("gappy"), tmp_path / "results.jsonl.gz")
    assert score(suite, results, tmp_path, "x", draws=0).scores["latency_mode"] == "unknown"
    (tmp_path / "environment.json").write_text('{"mode": "batched"}')
    assert score(suite, results, tmp_path, "x", draws=0).scores["latency_mode"] == "batched"


def test_no_draws_give_no_intervals(suite, tmp_path):
    assert "interval" not in score(suite, RESULTS, tmp_path, "x", draws=0).scores


def test_calibration_covers_what_is_right_or_wrong(suite, tmp_path):
    found = score(suite, RESULTS, tmp_path, "x", draws=0).scores["calibration"]
    assert {"25", "48", "57"} <= found["benchmarks"].keys()
    assert not {"2", "6", "36"} & found["benchmarks"].keys()
    assert found["overall"]["answered"] == sum(own["answered"] for own in found["benchmarks"].values())
