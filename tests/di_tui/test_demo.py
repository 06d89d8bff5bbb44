import orjson
from suites import read_final_results

from engines.run_dir import read_json


def test_the_demo_does_the_main_job_and_finds_it_done_the_second_time(di_tui, tmp_path):
    out = tmp_path / "demo"
    first = di_tui("demo", "--out", out)
    assert first.returncode == 0, first.stderr
    assert "160 rows written" in first.stdout and "✓ 160 13862aa6…" in first.stdout
    assert "88/88" in first.stdout and "Home appliance" in first.stdout
    results = read_final_results(out / "run" / "results.jsonl")
    assert len(results) == 88 and {row["status"] for row in results.values()} == {"ok"}
    scores = read_json(out / "run" / "scores.json")
    assert (scores["benchmarks"]["9"]["answered"], scores["partial_suite"]) == (88, True)

    before = {path: path.stat().st_mtime_ns for path in (out / "suite").rglob("*") if path.is_file()}
    second = di_tui("demo", "--out", out)
    assert second.returncode == 0
    assert "160 rows unchanged" in second.stdout
    assert {path: path.stat().st_mtime_ns for path in (out / "suite").rglob("*") if path.is_file()} == before
    assert read_final_results(out / "run" / "results.jsonl") == results


def test_the_demo_in_json_is_one_object_a_line(di_tui, tmp_path):
    done = di_tui("demo", "--out", tmp_path / "demo", "--json")
    told = [orjson.loads(line)["event"] for line in done.stdout.splitlines()]
    assert told[0] == "stage" and told[-1] == "scored" and "complete" in told
