"""Finds run directories and suite directories and reads the little that a list shows of each. Knows no screen."""

import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from di_tui.liveness import writer_of
from di_tui.rebuild_record import RECORD, Began, Ended, decode, is_going_on
from engines.run_dir import RunDir, RunError, read_json
from suite_builder.editions import editions
from suite_builder.errors import SuiteError
from suite_builder.suite import MANIFEST, Suite

RUNS = Path("runs")
DEPTH = 3
GONE = "gone"
LONGEST_LINE = 1 << 14
UNREADABLE = "unreadable"


@dataclass(frozen=True)
class ListedRun:
    """One run directory as a list shows it.

    state: the last event of status.json (`progress`, `paused`, `complete`, ...); `gone` when the writer ended without a last
    word; `unreadable` with the reason in `problem`. done, total: None where no status says it. index, interval: decision index
    of its last scoring with its 95 % bounds, None when not scored. changed: seconds since the epoch.
    """

    path: Path
    name: str
    state: str
    live: bool = False
    engine: str | None = None
    model: str | None = None
    edition: str | None = None
    done: int | None = None
    total: int | None = None
    errors: int = 0
    index: float | None = None
    interval: tuple[float, float] | None = None
    changed: float = 0.0
    problem: str | None = None

    def record(self) -> dict[str, Any]:
        """As a JSON object."""
        return {**asdict(self), "path": str(self.path)}


def find_runs(root: Path) -> list[ListedRun]:
    """Run directories at or under a folder, live ones first, then the latest."""
    runs = [read_run(path, root) for path in _run_dirs(root, DEPTH)]
    return sorted(runs, key=lambda run: (not run.live, -run.changed, run.name))


def _run_dirs(folder: Path, depth: int) -> Iterator[Path]:
    """Folders that hold results or a status; what lies inside a run directory is part of that run."""
    if is_run_dir(folder):
        yield folder
    elif depth and folder.is_dir():
        try:
            children = sorted(child for child in folder.iterdir() if not child.name.startswith(".") and child.is_dir())
        except OSError:
            return
        for child in children:
            yield from _run_dirs(child, depth - 1)


def is_run_dir(path: Path) -> bool:
    """Whether a run was begun there."""
    run_dir = RunDir(path)
    return run_dir.status.is_file() or run_dir.results.is_file()


def read_run(path: Path, root: Path | None = None) -> ListedRun:
    """One run directory, named as seen from `root`; its files may be missing, and a broken one is told in `problem`."""
    name = str(path.relative_to(root)) if root and path != root else path.name or str(path.absolute())
    run_dir = RunDir(path)
    try:
        status = read_json(run_dir.status) or {}
        environment = read_json(run_dir.environment) or {}
        scores = read_json(path / "scores.json") or {}
        writer = writer_of(run_dir, status.get("heartbeat", 0.0))
        return ListedRun(
            path=path,
            name=name,
            state=_state(status, writer),
            live=bool(writer and writer.alive),
            engine=environment.get("engine") or status.get("engine"),
            model=environment.get("model"),
            edition=environment.get("edition"),
            done=status.get("completed"),
            total=status.get("total") or None,
            errors=status.get("counts", {}).get("error", 0),
            index=scores.get("decision_index"),
            interval=_interval(scores),
            changed=_changed(run_dir),
        )
    except (RunError, OSError, AttributeError, IndexError, KeyError, TypeError) as error:
        return ListedRun(path, name, UNREADABLE, changed=_changed(run_dir), problem=str(error))


def _state(status: dict[str, Any], writer: Any) -> str:
    if writer and not writer.alive:
        return GONE
    return status.get("event", "loading" if writer else "no status")


def _interval(scores: dict[str, Any]) -> tuple[float, float] | None:
    bounds = scores.get("interval", {}).get("decision_index")
    return (bounds[0], bounds[1]) if bounds else None


def _changed(run_dir: RunDir) -> float:
    return max((path.stat().st_mtime for path in (run_dir.results, run_dir.status) if path.exists()), default=0.0)


@dataclass(frozen=True)
class ListedSuite:
    """One suite directory as a list shows it.

    published: whether the content read when its row store was made has the published sha256; None when no row store says.
    """

    path: Path
    edition: str | None
    partial: bool = False
    published: bool | None = None
    problem: str | None = None


def find_suites(folder: Path) -> list[ListedSuite]:
    """Suite directories directly in a folder, the editions' own folders first."""
    usual = [edition.suite_dir for edition in editions().values()]
    found = [path.parent for path in folder.glob(f"*/{MANIFEST}")]
    return [_read_suite(path) for path in sorted(found, key=lambda path: (path.name not in usual, path.name))]


def _read_suite(path: Path) -> ListedSuite:
    try:
        suite = Suite.open(path)
        return ListedSuite(path, suite.edition.id, suite.partial, None if suite.partial else _is_published(suite))
    except (SuiteError, OSError, KeyError, TypeError, AttributeError) as error:
        return ListedSuite(path, None, problem=str(error))


def _is_published(suite: Suite) -> bool | None:
    from suite_builder.row_index import RowIndex

    index = RowIndex.of(suite)
    if index is None:
        return None
    try:
        return all(suite.edition.files[stem].sha256 == sha256 for stem, sha256 in index.content_sha256.items())
    finally:
        index.close()


@dataclass(frozen=True)
class ListedRebuild:
    """A work folder whose latest rebuild is going on or did not come to its end. state: `running`, `gone`, or how it ended."""

    work: Path
    state: str
    edition: str


def find_rebuilds(folder: Path) -> list[ListedRebuild]:
    """Rebuilds in work folders directly in a folder, but for the complete ones."""
    listed = (_read_rebuild(path.parent) for path in sorted(folder.glob(f"*/{RECORD}")))
    return [rebuild for rebuild in listed if rebuild and rebuild.state != "complete"]


def _read_rebuild(work: Path) -> ListedRebuild | None:
    """By the first and the last line of the record, which may be long."""
    try:
        with (work / RECORD).open("rb") as file:
            began = decode(file.readline()).event
            file.seek(max(0, file.seek(0, os.SEEK_END) - LONGEST_LINE))
            last = decode(file.read().splitlines()[-1]).event
    except (OSError, ValueError, IndexError):
        return None
    if not isinstance(began, Began):
        return None
    if isinstance(last, Ended):
        return ListedRebuild(work, last.state, began.edition)
    return ListedRebuild(work, "running" if is_going_on(began, work / RECORD) else GONE, began.edition)
