"""compare, calibration, board, editions and the options of score, as a person or a script meets them."""

import csv
import io

import orjson
import pytest
from golden import GOLDEN, SUITE_0_2, golden_lines, results_of, write_lines

from di_tui.score_job import Place, find_suite
from suite_builder.errors import SuiteError


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Run directories with results of golden models, which know their suite."""
    folder = tmp_path_factory.mktemp("runs")
    for model in ("near-perfect", "middling", "gappy"):
        (folder / model).mkdir()
        write_lines(folder / model / "results.jsonl", golden_lines(results_of(model)))
        environment = {"engine": model, "rows_path": str(SUITE_0_2), "edition": "0.2.1"}
        (folder / model / "environment.json").write_bytes(orjson.dumps(environment))
    return folder


def lines(done):
    assert done.returncode == 0, done.stderr
    return [orjson.loads(line) for line in done.stdout.splitlines()]


def failure(done, code=1):
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.strip().splitlines()[-1]


def test_score_has_intervals_strict_and_other_editions(di_tui, runs, tmp_path):
    (scored,) = lines(di_tui("score", runs / "middling", "--draws", "50", "--out", tmp_path))
    assert scored["edition"] == "0.2.1"
    assert scored["interval"]["draws"] == 50 and scored["interval"]["balanced_skill"][0] < scored["decision_index"]
    (scored,) = lines(di_tui("score", runs / "middling", "--edition", "0.2", "--strict", "--draws", "0", "--out", tmp_path))
    assert scored["edition"] == "0.2" and scored["interval"] is None


def test_compare_prints_one_json_line_for_programs(di_tui, runs):
    (compared,) = lines(di_tui("compare", runs / "near-perfect", runs / "middling", "--draws", "50"))
    assert (compared["event"], compared["a"], compared["b"]) == ("compared", "near-perfect", "middling")
    assert compared["scores"]["balanced_skill"]["verdict"] == "worse"
    assert compared["benchmarks"][0]["right_to_wrong"]


def test_compare_exports_csv_markdown_and_json(di_tui, runs):
    arguments = ("compare", runs / "near-perfect", runs / "gappy", "--draws", "50", "--format")
    records = list(csv.DictReader(io.StringIO(di_tui(*arguments, "csv").stdout)))
    assert [record["level"] for record in records][:4] == ["score", "score", "score", "area"]
    assert {record["verdict"] for record in records} <= {"better", "worse", "cannot tell"}
    markdown = di_tui(*arguments, "md").stdout.splitlines()
    assert markdown[0].startswith("| level | id | name | a | b | difference |") and len(markdown) == len(records) + 2
    document = orjson.loads(di_tui(*arguments, "json").stdout)
    assert len(document["benchmarks"]) == sum(record["level"] == "benchmark" for record in records)
    flips = list(csv.DictReader(io.StringIO(di_tui(*arguments, "csv", "--flips").stdout)))
    assert {flip["flip"] for flip in flips} == {"right_to_wrong", "wrong_to_right"}


@pytest.mark.parametrize("width", [80, 200])
def test_compare_draws_a_table_that_fits(runs, monkeypatch, capsys, width):
    from di_tui.score_commands import compare

    monkeypatch.setenv("COLUMNS", str(width))
    compare(runs / "near-perfect", runs / "gappy", draws=20, format="table", flips=False)
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= width
    assert "…" not in "".join(line for line in shown if "GPQA" in line or "index" in line)
    assert ("lost/won" in shown[2]) == (width == 200)
    assert any("5/7" in line for line in shown)


def test_calibration_and_board_and_editions_print_lines_for_programs(di_tui, runs):
    (calibrated,) = lines(di_tui("calibration", runs / "middling", "--bins", "5"))
    assert (calibrated["event"], calibrated["bins"], len(calibrated["overall"]["reliability"])) == ("calibration", 5, 5)
    for model in ("near-perfect", "middling"):
        lines(di_tui("score", runs / model, "--draws", "50"))
    (board,) = lines(di_tui("board", runs / "middling", runs / "near-perfect", "--published", GOLDEN / "real-board-0.2.1.json"))
    assert board["entrants"][0]["name"] == "near-perfect" and len(board["entrants"]) == 15
    told = lines(di_tui("editions"))
    assert [(edition["id"], edition["benchmarks_in_index"], edition["default"]) for edition in told] == [
        ("0.1", 19, False), ("0.2", 40, False), ("0.2.1", 38, True), ("0.3", 37, False),
    ]


@pytest.mark.parametrize("output", ["table", "md", "csv", "json"])
def test_calibration_and_board_are_shown_in_every_format(runs, capsys, di_tui, output):
    from di_tui.score_commands import board, calibration

    lines(di_tui("score", runs / "middling", "--draws", "20"))
    calibration(runs / "middling", format=output, bins=10)
    assert "CLadder" in capsys.readouterr().out or output == "json"
    board([runs / "middling"], format=output)
    assert "middling" in capsys.readouterr().out


def test_editions_are_shown_as_a_table(capsys):
    from di_tui.display.editions import show_editions

    show_editions(False)
    assert "0.2.1 is the default" in capsys.readouterr().out


def test_wrong_formats_and_unscored_runs_are_explained(di_tui, runs, tmp_path):
    done = di_tui("compare", runs / "middling", runs / "gappy", "--format", "xml")
    assert done.returncode == 2 and "none of table, json, csv, md" in done.stderr
    (tmp_path / "unscored").mkdir()
    assert "is not scored; run `di-tui score" in failure(di_tui("board", tmp_path / "unscored"))
    assert "no results in" in failure(di_tui("calibration", tmp_path / "unscored", "--suite-dir", SUITE_0_2))


def test_runs_over_other_suites_are_refused_unless_common(di_tui, runs, tmp_path):
    rows = [row for row in golden_lines(SUITE_0_2 / "selected-rows.jsonl.gz") if row["_evaluation"]["catalog_id"] == 25]
    other = tmp_path / "other"
    other.mkdir()
    write_lines(tmp_path / "rows.jsonl", rows)
    write_lines(other / "results.jsonl", golden_lines(results_of("middling")))
    environment = {"engine": "x", "rows_path": str(tmp_path / "rows.jsonl"), "edition": "0.2.1"}
    (other / "environment.json").write_bytes(orjson.dumps(environment))
    done = di_tui("compare", runs / "near-perfect", other, "--draws", "20")
    assert "are runs over different suites" in failure(done) and "--common" in done.stderr
    (compared,) = lines(di_tui("compare", runs / "near-perfect", other, "--draws", "20", "--common"))
    assert [shared["catalog_id"] for shared in compared["benchmarks"]] == [25]


def test_a_run_is_found_its_suite_by_what_it_recorded(runs, tmp_path, monkeypatch):
    results = runs / "middling" / "results.jsonl"
    assert find_suite(results, Place()).directory == SUITE_0_2
    assert find_suite(results, Place(edition="0.2")).edition.id == "0.2"
    assert find_suite(results, Place(suite_dir=SUITE_0_2.with_name("suite-0.1"))).edition.id == "0.1"
    # Another edition with other files: its own default directory.
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SuiteError, match="no suite in suite-0.3"):
        find_suite(results, Place(edition="0.3"))
