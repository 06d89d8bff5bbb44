"""Shows where a suite differs from a reference file."""

from pathlib import Path

from di_tui.display.run import write_line
from suite_builder.differences import differences
from suite_builder.suite import Suite

SHOWN = 20


def show_differences(suite: Suite, reference: Path, as_json: bool) -> bool:
    """Print which run ids are missing, extra or changed; whether there are any."""
    found = differences(suite.files, reference)
    kinds = {"missing": found.missing, "extra": found.extra, "changed": found.changed}
    if as_json:
        write_line({"event": "differences", "reference": str(reference), **kinds})
        return bool(found)
    for kind, run_ids in kinds.items():
        print(f"{kind}: {len(run_ids):,}")
        for run_id in run_ids[:SHOWN]:
            print(f"  {run_id}")
        if len(run_ids) > SHOWN:
            print(f"  … and {len(run_ids) - SHOWN:,} more (all with --json)")
    return bool(found)
