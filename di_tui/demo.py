"""The main job from nothing: rebuild the embedded benchmark, run the lexical engine through it, score it."""

from pathlib import Path

from di_tui.run_job import RunRequest, foreground
from di_tui.score_job import ScoreRequest, score_and_show
from di_tui.suite_commands import rebuild_and_index
from engines.runner import RunSettings

EMBEDDED_BENCHMARK = 9
ENGINE = "lexical"


def run_demo(out: Path, as_json: bool) -> int:
    """Returns the exit code of the run. A second call finds everything done."""
    suite_dir, run_dir = out / "suite", out / "run"
    _say(as_json, f"1. Rebuild benchmark {EMBEDDED_BENCHMARK} into {suite_dir} and check it against its published sha256")
    suite = rebuild_and_index(out / "work", suite_dir, None, [EMBEDDED_BENCHMARK], None, True, as_json)
    _say(as_json, f"2. Run the {ENGINE} engine through it, into {run_dir}")
    code = foreground(RunRequest(suite, run_dir, RunSettings(ENGINE)), as_json)
    if code:
        return code
    _say(as_json, "3. Score it")
    score_and_show(ScoreRequest(run_dir / "results.jsonl", suite_dir=suite_dir), as_json)
    return 0


def _say(as_json: bool, text: str) -> None:
    if not as_json:
        print(f"\n{text}", flush=True)
