"""Where two row files differ, by run id and payload hash."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from suite_builder.rows import parse_lines
from suite_builder.suite import read_lines


@dataclass(frozen=True)
class Differences:
    """Run ids that only one side has, and those whose payload differs; each in the order of its file."""

    missing: list[str]
    extra: list[str]
    changed: list[str]

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.changed)


def differences(rows: Sequence[Path], reference: Path) -> Differences:
    """Compare row files with a reference file; only benchmarks that the reference has are looked at.

    Raises:
        SuiteError: a file is missing or a row malformed.
    """
    expected = _payloads([reference])
    benchmarks = {catalog_id for catalog_id, _payload in expected.values()}
    found = {run_id: facts for run_id, facts in _payloads(rows).items() if facts[0] in benchmarks}
    return Differences(
        missing=[run_id for run_id in expected if run_id not in found],
        extra=[run_id for run_id in found if run_id not in expected],
        changed=[run_id for run_id, facts in expected.items() if run_id in found and found[run_id] != facts],
    )


def _payloads(paths: Sequence[Path]) -> dict[str, tuple[int, str]]:
    """Run id -> catalog id and payload hash."""
    rows = (request for path in paths for _line, request in parse_lines(read_lines(path), str(path)))
    return {request.run_id: (request.catalog_id, request.payload_sha256) for request in rows}
