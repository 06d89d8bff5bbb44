"""Joining run directories: the same as one run, and a refusal of what does not belong together."""

import shutil

import orjson
import pytest
from golden import SUITE_0_2
from suites import make_row, read_final_results

from di_tui.display.merged import show_merged
from engines import merge as merge_module
from engines.merge import Gap, Merged, merge
from engines.plan import Shard
from engines.results import ResultsError
from engines.run_dir import RunDir, RunError, read_json
from engines.runner import RunSettings, run
from scoring.report import score
from suite_builder.suite import Suite

TIMES = {"started_utc", "completed_utc", "total_wall_ms", "model_request_wall_ms"}


@pytest.fixture
def suite(make_suite):
    return make_suite()


def run_shards(suite, folder, *shards, engine="lexical", **more):
    """Run directories of the given shards (None for all)."""
    run_dirs = []
    for number, shard in enumerate(shards):
        run_dirs.append(RunDir(folder / f"part-{number}"))
        run(suite, run_dirs[-1], RunSettings(engine, shard=shard, **more))
    return run_dirs


def rewrite(run_dir, change):
    """Change every result row; a row for which `change` gives None goes."""
    rows = [change(row) for row in read_final_results(run_dir.results).values()]
    run_dir.results.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows if row))


def answers(path):
    return {run_id: {key: row[key] for key in row.keys() - TIMES} for run_id, row in read_final_results(path).items()}


def test_three_merged_shards_are_and_score_as_one_run(tmp_path):
    suite = Suite.open(shutil.copytree(SUITE_0_2, tmp_path / "suite"))
    shards = run_shards(suite, tmp_path, *(Shard(number, 3) for number in (1, 2, 3)), verify=False)
    whole, out = RunDir(tmp_path / "whole"), RunDir(tmp_path / "merged")
    ended = run(suite, whole, RunSettings("lexical", verify=False))
    merged = merge(shards, out, suite)
    assert (merged.total, merged.counts) == (ended.total, ended.counts)
    assert (merged.gaps, merged.absent_shards) == ((), ())
    assert answers(out.results) == answers(whole.results)
    assert len(out.results.read_bytes().splitlines()) == ended.total
    scored = [score(suite, own.results, own.path, "lexical", draws=0) for own in (whole, out)]
    assert scored[0].index == scored[1].index


def test_a_merged_run_is_complete_and_says_where_it_comes_from(suite, tmp_path):
    out = RunDir(tmp_path / "merged")
    merge(run_shards(suite, tmp_path, Shard(1, 2), Shard(2, 2)), out, suite)
    status, environment = read_json(out.status), read_json(out.environment)
    assert (status["event"], status["completed"], status["total"], status["counts"]) == ("complete", 30, 30, {"ok": 30})
    assert environment["merged_from"] == [{"run": "part-0", "shard": "1/2"}, {"run": "part-1", "shard": "2/2"}]
    assert environment["shard"] is None
    assert [session["shard"] for session in environment["sessions"]] == ["1/2", "2/2"]


def test_gaps_are_told_and_a_merged_run_goes_on_from_there(suite, tmp_path):
    out = RunDir(tmp_path / "merged")
    merged = merge(run_shards(suite, tmp_path, Shard(1, 3), Shard(3, 3)), out, suite)
    missing = sum(gap.missing for gap in merged.gaps)
    assert missing == 30 - merged.counts["ok"] > 0
    assert {gap.requests for gap in merged.gaps} == {10}
    assert merged.absent_shards == ("2/3",)
    status = read_json(out.status)
    assert (status["event"], status["completed"], status["total"]) == ("interrupted", 30 - missing, 30)
    ended = run(suite, out, RunSettings("lexical"))
    assert (ended.state, ended.completed, ended.counts) == ("complete", 30, {"ok": missing})


def test_without_a_suite_gaps_are_not_looked_for(suite, tmp_path):
    merged = merge(run_shards(suite, tmp_path, Shard(1, 2)), RunDir(tmp_path / "merged"))
    assert (merged.total, merged.gaps, merged.absent_shards) == (None, (), ("2/2",))


def test_runs_that_overlap_and_agree_are_joined_once(suite, tmp_path):
    sources = run_shards(suite, tmp_path, None, Shard(1, 2))
    rewrite(sources[1], lambda row: {**row, "response": nudged(row["response"], 1e-5)})
    out = RunDir(tmp_path / "merged")
    assert merge(sources, out, suite).counts == {"ok": 30}
    assert answers(out.results) == answers(sources[0].results)


def nudged(response, by):
    """The response with every probability moved up."""
    answers = {
        name: {**answer, "probabilities": {key: value + by for key, value in answer["probabilities"].items()}}
        for name, answer in response["answers"].items()
    }
    return {**response, "answers": answers}


@pytest.mark.parametrize(
    "change, said",
    [
        (lambda row: {**row, "response": nudged(row["response"], 0.01)}, "answer it differently"),
        (lambda row: {**row, "status": "unsupported", "response": None}, "answer it differently"),
        (lambda row: {**row, "payload_sha256": "0" * 64}, "have other versions of it"),
    ],
    ids=["probabilities", "status", "payload"],
)
def test_runs_that_overlap_and_disagree_are_refused_by_name(suite, tmp_path, change, said):
    sources = run_shards(suite, tmp_path, None, Shard(1, 2))
    rewrite(sources[1], change)
    with pytest.raises(RunError, match=rf"4\d:.* is in .*part-0 and in .*part-1, which {said}"):
        merge(sources, RunDir(tmp_path / "merged"), suite)
    assert not RunDir(tmp_path / "merged").results.exists()


def test_a_final_result_counts_before_an_error_of_another_run(suite, tmp_path):
    sources = run_shards(suite, tmp_path, None, None)
    failed = {"status": "error", "error": "worn out", "exception": "ValueError", "response": None}
    rewrite(sources[0], lambda row: {**row, **failed} if row["catalog_id"] == 41 else row)
    out = RunDir(tmp_path / "merged")
    assert merge(sources, out, suite).counts == {"ok": 30}
    rewrite(sources[1], lambda row: row if row["catalog_id"] != 41 else None)
    merged = merge(sources, RunDir(tmp_path / "again"), suite)
    assert merged.counts == {"ok": 20, "error": 10}
    assert [(gap.catalog_id, gap.missing) for gap in merged.gaps] == [(41, 10)]


def test_the_last_complete_line_of_a_request_counts(suite, tmp_path):
    (source,) = run_shards(suite, tmp_path, None)
    lines = source.results.read_bytes().splitlines(keepends=True)
    failed = orjson.loads(lines[0]) | {"status": "error", "error": "worn out"}
    source.results.write_bytes(orjson.dumps(failed) + b"\n" + b"".join(lines) + lines[1][:-40])
    out = RunDir(tmp_path / "merged")
    assert merge([source], out, suite).counts == {"ok": 30}
    assert out.results.read_bytes() == b"".join(lines)


@pytest.mark.parametrize("options, said", [({"k1": "1.5"}, "k1 is 1.2 and 1.5"), (None, "engine is 'lexical' and 'random'")])
def test_runs_of_different_engines_are_refused(suite, tmp_path, options, said):
    (first,) = run_shards(suite, tmp_path, Shard(1, 2))
    other = RunDir(tmp_path / "other")
    run(suite, other, RunSettings("lexical" if options else "random", options=options or {}, shard=Shard(2, 2)))
    with pytest.raises(RunError, match=f"runs of different engines: .*{said}"):
        merge([first, other], RunDir(tmp_path / "merged"), suite)


def test_runs_over_different_suites_are_refused(suite, make_suite, tmp_path):
    other = make_suite([make_row(41, 99)], name="other")
    first, second = run_shards(suite, tmp_path, None), run_shards(other, tmp_path / "more", None)
    with pytest.raises(RunError, match="runs of different suites: selected-rows is"):
        merge([*first, *second], RunDir(tmp_path / "merged"), suite)
    with pytest.raises(RunError, match="other is not the suite of these runs"):
        merge(first, RunDir(tmp_path / "merged"), other)


def test_what_is_no_run_or_does_not_say_what_it_is_is_refused(suite, tmp_path):
    (source,) = run_shards(suite, tmp_path, None)
    with pytest.raises(RunError, match="nothing does not say what its results were made with"):
        merge([source, RunDir(tmp_path / "nothing")], RunDir(tmp_path / "merged"), suite)
    source.results.unlink()
    with pytest.raises(ResultsError, match="no results in"):
        merge([source], RunDir(tmp_path / "merged"), suite)


def test_results_that_are_there_are_not_written_over(suite, tmp_path):
    sources = run_shards(suite, tmp_path, Shard(1, 2), Shard(2, 2))
    before = sources[1].results.read_bytes()
    with pytest.raises(RunError, match="has results already; give --out another folder"):
        merge(sources, sources[1], suite)
    assert sources[1].results.read_bytes() == before


def test_a_full_disk_leaves_no_half_of_a_run(suite, tmp_path, monkeypatch):
    def full(sources, places):
        yield b"{"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(merge_module, "_lines", full)
    with pytest.raises(RunError, match="cannot write .*No space left on device; free some space"):
        merge(run_shards(suite, tmp_path, None), RunDir(tmp_path / "merged"), suite)
    assert not [path for path in (tmp_path / "merged").iterdir() if "results" in path.name]


def test_the_command_merges_and_says_what_is_missing(di_tui, suite, tmp_path, capsys):
    run_shards(suite, tmp_path, Shard(1, 2), Shard(2, 2))
    gappy = di_tui("merge", tmp_path / "part-0", "--out", tmp_path / "half")
    assert gappy.returncode == 3 and orjson.loads(gappy.stdout)["absent_shards"] == ["2/2"]
    whole = di_tui("merge", tmp_path / "part-0", tmp_path / "part-1", "--out", tmp_path / "whole", "--json")
    assert whole.returncode == 0
    assert orjson.loads(whole.stdout).items() >= {"event": "merged", "counts": {"ok": 30}, "total": 30, "gaps": []}.items()
    scored = di_tui("score", tmp_path / "whole", "--draws", "0")
    assert scored.returncode == 0, scored.stderr
    show_merged(Merged({"ok": 24}, 30, (Gap(41, "VAST", 6, 10),), ("2/2",)), tmp_path / "half", as_json=False)
    shown = capsys.readouterr().out
    assert "24 ok" in shown and "shard 2/2" in shown and "6 of 10 requests of 41 VAST" in shown and "di-tui run" in shown
    refused = di_tui("merge", tmp_path / "part-0", "--out", tmp_path / "whole")
    assert refused.returncode == 1 and refused.stderr.startswith("error: ") and refused.stderr.count("\n") == 1
