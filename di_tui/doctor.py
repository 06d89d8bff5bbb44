"""`di-tui doctor`: what this machine has, what is missing, and the command that mends it."""

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from rich.console import Console
from rich.table import Table

from di_tui.display.run import write_line
from suite_builder.editions import edition

# What needs which package, and the extra that brings it.
PACKAGES = {
    "base": ("httpx", "huggingface_hub", "msgspec", "numpy", "orjson", "psutil", "pyarrow", "rich", "textual", "typer"),
    "rebuild": ("chess", "mido", "scipy", "tiktoken"),
    "transformers": ("accelerate", "gguf", "sentencepiece", "torch", "transformers"),
}
GIB = 1024**3
NEEDED_GIB = 24


@dataclass(frozen=True)
class Finding:
    """One line of the report; `fix` is what to do when `ok` is false."""

    name: str
    ok: bool
    detail: str
    fix: str = ""


def findings() -> list[Finding]:
    """Everything that the report shows, in its order."""
    return [_python(), *_packages(), _device(), _disk(), _hub(), _suite()]


def report(as_json: bool) -> None:
    """Print the findings."""
    found = findings()
    if as_json:
        for finding in found:
            write_line({"event": "finding", "name": finding.name, "ok": finding.ok, "detail": finding.detail, "fix": finding.fix})
        return
    table = Table.grid(padding=(0, 2))
    for finding in found:
        mark = "[green]✓[/]" if finding.ok else "[yellow]![/]"
        table.add_row(mark, finding.name, finding.detail + (f"\n[bold]{finding.fix}[/]" if not finding.ok else ""))
    Console(highlight=False).print(table)


def _python() -> Finding:
    return Finding("Python", sys.version_info >= (3, 11), platform.python_version(), "install Python 3.11 or newer")


def _packages() -> list[Finding]:
    found = []
    for extra, names in PACKAGES.items():
        missing = [name for name in names if find_spec(name) is None]
        have = ", ".join(f"{name} {_version(name)}" for name in names if name not in missing)
        target = "di-tui" if extra == "base" else f"'di-tui[{extra}]'"
        detail = have if not missing else f"missing: {', '.join(missing)}"
        found.append(Finding(f"packages ({extra})", not missing, detail, f"pip install {target}"))
    return found


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "?"


def _device() -> Finding:
    cores = f"{os.cpu_count()} CPU cores"
    if find_spec("torch") is None:
        return Finding("device", True, f"{cores}; no torch, so no GPU was looked for")
    import torch

    if torch.cuda.is_available():
        names = ", ".join(torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count()))
        return Finding("device", True, f"{cores}; {names}")
    if torch.backends.mps.is_available():
        return Finding("device", True, f"{cores}; Apple GPU (mps)")
    return Finding("device", True, f"{cores}; no GPU, models run on the CPU")


def _disk() -> Finding:
    free = shutil.disk_usage(Path.cwd()).free / GIB
    fix = "the full suite takes about 7 GB of downloads and 17 GB of working space: free some, or use --work on another disk"
    return Finding("free disk here", free >= NEEDED_GIB, f"{free:,.0f} GiB", fix)


def _hub() -> Finding:
    from huggingface_hub import get_token

    detail = "a token is there" if get_token() else "not logged in (needed only for gated sources, such as HLE)"
    return Finding("Hugging Face Hub", get_token() is not None, detail, "hf auth login")


def _suite() -> Finding:
    directory = Path(edition().suite_dir)
    there = (directory / "manifest.json").is_file()
    detail = f"{directory} is there" if there else f"no {directory} here"
    return Finding(f"suite {edition().id}", there, detail, "di-tui suite rebuild")
