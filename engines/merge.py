"""Join run directories of one engine over one suite, such as its shards, into a new run directory.

The sources are only read. Of every request the new run has one line: its last final result, or an error when there is no
other. Knows nothing of scores.
"""

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from msgspec import MsgspecError, Struct
from msgspec.json import Decoder

from engines.plan import Shard, plan, shares
from engines.results import read_result, result_lines, utc_now
from engines.run_dir import RunDir, RunError, RunLock, read_json, write_json
from suite_builder.row_index import RowIndex
from suite_builder.suite import Suite

# What batches of another composition may change in an answer of the same engine.
TOLERANCE = 1e-3


class Gap(NamedTuple):
    """A benchmark with requests that have no final result."""

    catalog_id: int
    dataset: str
    missing: int
    requests: int


@dataclass(frozen=True)
class Merged:
    """What a merge gave.

    counts: requests by status. total: requests that the suite's edition scores, None without a suite. gaps: what of them is
    missing. absent_shards: shards that none of the sources is.
    """

    counts: dict[str, int]
    total: int | None
    gaps: tuple[Gap, ...]
    absent_shards: tuple[str, ...]


class _Facts(Struct):
    run_id: str
    status: Literal["ok", "unsupported", "abstained", "error"]


_facts = Decoder(_Facts).decode


class _Place(NamedTuple):
    """Where the line of a result lies: number of its source, first byte, length."""

    source: int
    position: int
    length: int
    status: str


def merge(sources: Sequence[RunDir], out: RunDir, suite: Suite | None = None) -> Merged:
    """Write a run directory that holds the results of all sources, to be scored, resumed and watched as any other.

    Args:
        suite: of the runs, to find gaps by; without it they are not looked for.

    Raises:
        RunError: a source is no run directory; the sources are of different engines or suites; two of them answer a request
            differently; `out` has results or cannot be written.
        ResultsError: a source's results cannot be read.
        SuiteError: the suite cannot be read.
    """
    environments = [_environment(source) for source in sources]
    for source, environment in zip(sources[1:], environments[1:], strict=True):
        _check_same(sources[0], environments[0], source, environment)
    out.create()
    with RunLock(out):
        if out.results.exists():
            raise RunError(f"{out.path} has results already; give --out another folder")
        places = _final_places(sources)
        _copy(sources, places, out.results)
        counts = Counter(place.status for place in places.values())
        finished = {run_id for run_id, place in places.items() if place.status != "error"}
        total, gaps = _gaps(suite, environments[0], finished) if suite else (None, ())
        write_json(out.environment, _joined(sources, environments))
        write_json(out.status, _status(environments[0]["engine"], counts, total, gaps))
    return Merged(dict(counts), total, gaps, _absent(environments))


def _environment(source: RunDir) -> dict[str, Any]:
    environment = read_json(source.environment)
    if not environment or "fingerprint" not in environment:
        raise RunError(f"{source.path} does not say what its results were made with (environment.json); it cannot be merged")
    return environment


def _check_same(first: RunDir, expected: dict[str, Any], source: RunDir, found: dict[str, Any]) -> None:
    """Raises:
    RunError: the engines differ in what can change an answer, or the suites in their rows; says in what.
    """
    for what in ("fingerprint", "frozen_corpus_sha256"):
        ours, theirs = expected[what], found[what]
        differences = [
            f"{key} is {ours.get(key)!r} and {theirs.get(key)!r}"
            for key in sorted(ours.keys() | theirs.keys())
            if ours.get(key) != theirs.get(key)
        ]
        if differences:
            subject = "engines" if what == "fingerprint" else "suites"
            raise RunError(f"{first.path} and {source.path} are runs of different {subject}: {'; '.join(differences)}")


def _final_places(sources: Sequence[RunDir]) -> dict[str, _Place]:
    """Run id -> the line that counts among all sources."""
    merged: dict[str, _Place] = {}
    for number, source in enumerate(sources):
        for run_id, place in _last_places(source.results, number).items():
            earlier = merged.get(run_id)
            if earlier is None or (earlier.status == "error" != place.status):
                merged[run_id] = place
            elif "error" not in (earlier.status, place.status):
                _check_agreement(run_id, sources, earlier, place)
    return merged


def _last_places(path: Path, number: int) -> dict[str, _Place]:
    """Run id -> its last complete line in one results file."""
    places = {}
    for position, line in result_lines(path):
        try:
            facts = _facts(line)
        except MsgspecError:
            row = read_result(line, path, position)
            facts = _Facts(row["run_id"], row["status"])
        places[facts.run_id] = _Place(number, position, len(line), facts.status)
    return places


def _check_agreement(run_id: str, sources: Sequence[RunDir], *places: _Place) -> None:
    results = [_read(sources[place.source].results, place) for place in places]
    same_row = results[0].get("payload_sha256") == results[1].get("payload_sha256")
    if not same_row or not _alike(*(_said(result) for result in results)):
        first, second = (sources[place.source].path for place in places)
        what = "answer it differently" if same_row else "have other versions of it"
        raise RunError(f"{run_id} is in {first} and in {second}, which {what}; leave out one of them")


def _read(path: Path, place: _Place) -> dict[str, Any]:
    with path.open("rb") as file:
        file.seek(place.position)
        return read_result(file.read(place.length), path, place.position)


def _said(result: dict[str, Any]) -> list[Any]:
    return [result["status"], (result.get("response") or {}).get("answers")]


def _alike(first: Any, second: Any) -> bool:
    """Whether two JSON values are the same but for numbers that differ by no more than the tolerance."""
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(_alike(first[key], second[key]) for key in first)
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_alike, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=0, abs_tol=TOLERANCE)
    return first == second


def _copy(sources: Sequence[RunDir], places: dict[str, _Place], target: Path) -> None:
    """Write the lines that count; the file gets its name when it is whole."""
    part = target.with_name(f".{target.name}.part")
    wanted = sorted(places.values())
    try:
        with part.open("wb") as file:
            file.writelines(_lines(sources, wanted))
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise RunError(f"cannot write {target}: {error.strerror}; free some space and merge again") from None


def _lines(sources: Sequence[RunDir], places: list[_Place]) -> Iterator[bytes]:
    """The lines at places that are in order."""
    for number, source in enumerate(sources):
        with source.results.open("rb") as file:
            for place in places:
                if place.source == number:
                    file.seek(place.position)
                    yield file.read(place.length)


def _gaps(suite: Suite, environment: dict[str, Any], finished: set[str]) -> tuple[int, tuple[Gap, ...]]:
    """How many requests the suite's edition scores, and the benchmarks that lack some of them.

    Raises:
        RunError: the suite is not that of the runs.
    """
    index = RowIndex.require(suite)
    try:
        if index.content_sha256 != environment["frozen_corpus_sha256"]:
            raise RunError(f"{suite.name} is not the suite of these runs; give --suite-dir or --rows")
        benchmarks = shares(plan(suite, index, "file"), finished)
    finally:
        index.close()
    gaps = (Gap(own.catalog_id, own.dataset, own.requests - own.finished, own.requests) for own in benchmarks)
    return sum(own.requests for own in benchmarks), tuple(gap for gap in gaps if gap.missing)


def _joined(sources: Sequence[RunDir], environments: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The first environment, as that of the whole suite, with the sessions of all."""
    sessions = [session for environment in environments for session in environment.get("sessions", ())]
    return {
        **environments[0],
        "shard": None,
        "merged_from": [
            {"run": source.path.name, "shard": environment.get("shard")}
            for source, environment in zip(sources, environments, strict=True)
        ],
        "sessions": sorted(sessions, key=lambda session: session["started_utc"]),
    }


def _status(engine: str, counts: Counter[str], total: int | None, gaps: tuple[Gap, ...]) -> dict[str, Any]:
    missing = sum(gap.missing for gap in gaps)
    completed = counts.total() - counts["error"] if total is None else total - missing
    return {
        "time": utc_now().isoformat(),
        "event": "interrupted" if missing or counts["error"] else "complete",
        "engine": engine,
        "completed": completed,
        "total": total or counts.total(),
        "counts": dict(counts),
        "error": f"merged with {missing:,} requests still open" if missing else None,
        "heartbeat": time.time(),
    }


def _absent(environments: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    """Shards that are missing where all sources are shards of one division."""
    shards = [environment.get("shard") for environment in environments]
    parsed = {Shard.parse(shard) for shard in shards if shard}
    if not all(shards) or len({shard.count for shard in parsed}) != 1:
        return ()
    count = next(iter(parsed)).count
    wanted = (Shard(number, count) for number in range(1, count + 1))
    return tuple(str(shard) for shard in wanted if shard not in parsed)
