"""What a rebuild tells about itself. Displays fold these; nothing here knows who listens."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Stage:
    """Where one stage of one benchmark stands.

    size: bytes of the sources or of what was written. records: rows written. seconds: time taken. matches: whether the
    rows have their known sha256, None where none is known. unchanged: nothing was to be done. reason: why it failed.
    """

    catalog_id: int
    stage: Literal["sources", "normalize", "freeze"]
    state: Literal["waiting", "running", "done", "failed"]
    size: int | None = None
    records: int | None = None
    seconds: float | None = None
    sha256: str | None = None
    matches: bool | None = None
    unchanged: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Planned:
    """What is about to be done. download: catalog id -> bytes that are still to come, as far as sizes are known."""

    download: dict[int, int]


@dataclass(frozen=True, slots=True)
class Download:
    """Bytes of one source file that have arrived; `total` where it is known."""

    catalog_id: int
    path: str
    received: int
    total: int | None


@dataclass(frozen=True, slots=True)
class Written:
    """The suite directory is up to date. unchanged: it already was."""

    directory: str
    partial: bool
    rows: int
    unchanged: bool


Event = Planned | Stage | Download | Written
