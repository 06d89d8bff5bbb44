"""Shows what a merge of run directories gave, as lines or as one JSON object."""

from dataclasses import asdict
from pathlib import Path

from di_tui.display.run import write_line
from engines.merge import Merged


def show_merged(merged: Merged, out: Path, as_json: bool) -> None:
    """Print what the new run holds, what is missing in it, and what to do next."""
    if as_json:
        gaps = [gap._asdict() for gap in merged.gaps]
        write_line({"event": "merged", "out": str(out), **asdict(merged), "gaps": gaps})
        return
    counts = ", ".join(f"{count:,} {status}" for status, count in sorted(merged.counts.items()))
    print(f"{out}: {counts or 'no results'}")
    if merged.absent_shards:
        print(f"not among the runs: shard {', '.join(merged.absent_shards)}")
    for gap in merged.gaps:
        print(f"open: {gap.missing:,} of {gap.requests:,} requests of {gap.catalog_id} {gap.dataset}")
    if merged.total is None:
        print("the suite is not at hand, so nobody looked for gaps; give --suite-dir or --rows")
    if merged.gaps:
        print(f"`di-tui run` with the same engine and --out {out} asks what is open")
    else:
        print(f"see its scores with: di-tui score {out}")
