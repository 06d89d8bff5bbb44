"""What a run tells about itself. Displays fold these; nothing here knows who listens."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """One benchmark's share of a run: requests in all and already finished, and their proxy tokens."""

    catalog_id: int
    dataset: str
    requests: int
    finished: int
    proxy_tokens: int
    finished_proxy_tokens: int


@dataclass(frozen=True, slots=True)
class Loading:
    """The engine is being loaded and warmed up."""

    engine: str


@dataclass(frozen=True, slots=True)
class Ready:
    """The engine answers from now on."""

    engine: str
    loaded_seconds: float
    benchmarks: tuple[BenchmarkPlan, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One request has its result."""

    run_id: str
    catalog_id: int
    status: str
    wall_ms: float
    proxy_tokens: int
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Paused:
    """No batch starts until the run is resumed."""


@dataclass(frozen=True, slots=True)
class Resumed:
    """Batches start again."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something a person should know; the run goes on."""

    text: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The run is over: `complete`, `limited` (--limit reached), `interrupted` or `failed`."""

    state: str
    completed: int
    total: int
    counts: dict[str, int] = field(default_factory=dict)
    elapsed_seconds: float = 0.0
    reason: str | None = None
    failed_run_id: str | None = None


Event = Loading | Ready | Answer | Paused | Resumed | Notice | Ended
