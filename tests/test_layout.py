"""The promises of the layout: imports point one way, heavy packages stay out of start-up, the wheel holds four packages."""

import ast
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("di_tui", "engines", "scoring", "suite_builder")
FORBIDDEN = {
    "suite_builder": {"engines", "scoring", "di_tui", "rich", "typer", "textual"},
    "engines": {"scoring", "di_tui", "rich", "typer", "textual"},
    "scoring": {"di_tui", "rich", "typer", "textual"},
    "di_tui": set(),
}
READING_SIDE = {"suite", "rows", "row_index", "errors"}


def imports(path: Path) -> set[str]:
    """Dotted names of all modules that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_imports_point_one_way(package):
    wrong = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / package).rglob("*.py")
        for name in imports(path)
        if name.split(".")[0] in FORBIDDEN[package]
    }
    assert wrong == set()


def test_the_wire_format_imports_no_other_package():
    assert {name.split(".")[0] for name in imports(ROOT / "engines" / "wire.py")} & set(PACKAGES) == set()


def test_engines_read_suites_and_never_build_them():
    used = {name for path in (ROOT / "engines").rglob("*.py") for name in imports(path) if name.startswith("suite_builder")}
    assert used <= {f"suite_builder.{module}" for module in READING_SIDE}


@pytest.mark.parametrize("heavy", ["torch", "transformers", "datasets", "huggingface_hub", "pyarrow", "numpy", "textual"])
def test_the_command_line_starts_without_heavy_packages(heavy):
    code = f"import sys, di_tui.cli; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT).returncode == 0


def test_the_wheel_holds_the_four_packages_and_works_from_another_folder(tmp_path):
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path], cwd=ROOT, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    assert {path.name for path in site.iterdir() if not path.name.endswith(".dist-info")} == set(PACKAGES)
    code = """
import di_tui.cli, engines.runner, scoring.report, suite_builder.suite
from suite_builder.catalog import benchmarks
from suite_builder.data_files import load_lines
assert len(benchmarks()) == 44 and len(load_lines("excluded-run-ids.txt")) == 442
print(di_tui.cli.__file__)
"""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=elsewhere, env={"PYTHONPATH": str(site)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(str(site))
