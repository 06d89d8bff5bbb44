"""The golden runs as run directories beside their suite, made once a test process and only read: copy what a test changes."""

import gzip
import tempfile
from functools import cache
from pathlib import Path
from shutil import copytree

from golden import SUITE_0_2, results_of

from scoring.report import score
from suite_builder.row_index import RowIndex
from suite_builder.suite import Suite


@cache
def _folder() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="di-tui-golden-")


@cache
def golden_suite() -> Path:
    """The golden suite of edition 0.2 with its row store."""
    suite = copytree(SUITE_0_2, Path(_folder().name) / "suite-0.2")
    RowIndex.require(Suite.open(suite)).close()
    return suite


@cache
def golden_run(model: str) -> Path:
    """A run directory as the public kit leaves it: results and nothing else."""
    folder = Path(_folder().name) / "runs" / model
    folder.mkdir(parents=True)
    (folder / "results.jsonl").write_bytes(gzip.decompress(results_of(model).read_bytes()))
    return folder


@cache
def scored_golden_run(model: str) -> Path:
    """A run directory with the score files of edition 0.2.1."""
    folder = copytree(golden_run(model), Path(_folder().name) / "scored" / model)
    score(Suite.open(golden_suite(), "0.2.1"), folder / "results.jsonl", folder, model)
    return folder
