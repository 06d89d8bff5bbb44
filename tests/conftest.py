"""Small made-up suites of random words, and the place of the real upstream files where they are at hand."""

import gzip
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from suites import DATASETS, DI_TUI, ENVIRONMENT, ROOT, make_row, row_line

from suite_builder.assemble import write_row_file, write_suite_facts
from suite_builder.editions import edition
from suite_builder.suite import Suite

SHARED = ROOT.parent / "shared"


@pytest.fixture
def shared() -> Path:
    """The folder with the real upstream files; skips the test where there is none."""
    if not SHARED.is_dir():
        pytest.skip("needs ../shared, which is not part of the product")
    return SHARED


@pytest.fixture
def make_rows_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a loose gzip rows file with `count` rows for each of three benchmarks."""

    def make(count: int = 10, name: str = "rows.jsonl.gz") -> Path:
        path = tmp_path / name
        with gzip.open(path, "wb", compresslevel=1) as file:
            for catalog_id in DATASETS:
                file.writelines(row_line(make_row(catalog_id, number)) for number in range(count))
        return path

    return make


@pytest.fixture
def make_suite(tmp_path: Path) -> Callable[..., Suite]:
    """Write a partial suite directory from rows, by default ten for each of three benchmarks."""

    def make(rows: list[dict] | None = None, name: str = "suite") -> Suite:
        rows = rows or [make_row(catalog_id, number) for catalog_id in DATASETS for number in range(10)]
        directory = tmp_path / name
        files = {"selected-rows": write_row_file(directory, "selected-rows", map(row_line, rows))}
        write_suite_facts(directory, edition("0.2.1"), files, partial=True)
        return Suite.open(directory)

    return make


@pytest.fixture
def di_tui() -> Callable[..., subprocess.CompletedProcess]:
    """Run the command line in a process of its own."""

    def call(*arguments: str | Path, cwd: Path | None = None, timeout: float = 120) -> subprocess.CompletedProcess:
        return subprocess.run(
            [*DI_TUI, *map(str, arguments)],
            cwd=cwd or ROOT,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return call


def pytest_terminal_summary(terminalreporter) -> None:
    """Say how many benchmarks were rebuilt from real sources."""
    passed = [report for report in terminalreporter.stats.get("passed", ()) if "test_published.py" in report.nodeid]
    checked = sum("has_its_published" in report.nodeid for report in passed)
    if checked:
        terminalreporter.write_line(f"benchmarks rebuilt from their real sources and found as published: {checked}")
