"""The events of `bakeoff run --events`: one JSON document per line. Other programs read them, so no field is removed
or changes its meaning without a new `EVENTS_FORMAT`; new events and fields may be added."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field, TypeAdapter

from ..analysis.compare import ComparisonAnswer
from ..model.boundary import Document
from ..model.records.plan import Scalar
from ..model.records.run import Percentiles, Standing, Validity

EVENTS_FORMAT = 1


class CellDescription(Document):
    id: str
    label: str
    system: str
    levels: dict[str, Scalar]


class Begin(Document):
    """The first line: the runs to come."""

    event: Literal["begin"] = "begin"
    format: int = EVENTS_FORMAT
    bakeoff_version: str
    title: str
    bundle: str = Field(description="the bundle's folder")
    cells: list[CellDescription]
    runs: int = Field(description="runs of the whole plan; for a search, its maximum")
    runs_done: int = Field(description="runs that the bundle has already (`--resume`)")


class CellAdded(Document):
    """A search tries a level for the first time."""

    event: Literal["cell_added"] = "cell_added"
    cell: CellDescription


class Loading(Document):
    """bakeoff starts a system and loads its data."""

    event: Literal["loading"] = "loading"
    system: str
    cell: str
    done: int = Field(description="rows loaded")
    total: int = Field(description="rows to load; 0: not known yet")
    elapsed_s: float


class RunBegins(Document):
    """A run begins."""

    event: Literal["run_begins"] = "run_begins"
    run: str
    cell: str
    block: int


class Phase(Document):
    """A run has reached its next step."""

    event: Literal["phase"] = "phase"
    run: str
    phase: str = Field(description="`resetting`, `warming`, `running`, `draining`, `checking`; others may be added")


class Second(Document):
    """One second of a run, summed over all clients."""

    event: Literal["interval"] = "interval"
    run: str
    second: int = Field(description="seconds since the warm-up began")
    length_s: float
    warm_up: bool
    ok: int = Field(description="correct operations")
    errors: int
    rate_ops_per_s: float
    mean_ms: float | None = Field(description="mean response time; null: no operation ended")
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    reads: int = Field(description="statements that read, where the workload counts statements")
    writes: int
    others: int
    retries: int = Field(description="attempts after an operation's first one")
    retries_after_conflict: int = Field(description="retries after a conflict with other transactions")
    reconnects: int
    due: int | None = Field(default=None, description="operations that fell due, where the plan changes the rate")


class Sampled(Document):
    """What servers and machine did in one of the last seconds: each second of a run's first hour, then each minute."""

    event: Literal["sampled"] = "sampled"
    run: str
    second: float = Field(description="when it began, seconds since the warm-up began")
    nodes: list[str] = Field(description="names of the servers, where there are several")
    figures: dict[str, float] = Field(description="those that a report draws, named as in `server.parquet`")


class WarningEvent(Document):
    """Something that the user should know."""

    event: Literal["warning"] = "warning"
    run: str = Field(description="the run concerned; empty: none")
    words: str


class RunEnds(Document):
    """A run has ended; `valid`, `standing` and `findings` say whether it counts."""

    event: Literal["run_ends"] = "run_ends"
    run: str
    cell: str
    block: int
    state: Literal["done", "failed"]
    failure: str
    valid: bool
    standing: Standing = Field(description="`disturbed`: other processes slowed it, so it does not count")
    attempt: int = Field(
        description="number of the attempt at this cell in this block; from 2 on it repeats a disturbed or failed run"
    )
    findings: list[Validity] = Field(description="the checks that the run failed")
    rate_ops_per_s: float
    error_ratio: float
    errors: dict[str, int]
    response: Percentiles


class Verified(Document):
    """After the last run: what a system keeps of the promises of a level, where the plan has `[verify]`."""

    event: Literal["verified"] = "verified"
    system: str
    level: str = Field(description="of isolation; empty: the system's own, whose name is not known")
    cells: list[str] = Field(description="cells with these options at this level")
    verdict: Literal["VIOLATED", "INCONCLUSIVE", "HELD", "OBSERVED", "N/A"]


class Compared(Document):
    """One comparison from the answer."""

    event: Literal["comparison"] = "comparison"
    objective: str = Field(description="a metric's name")
    comparison: ComparisonAnswer


class Done(Document):
    """The last line, however the command ended."""

    event: Literal["done"] = "done"
    state: Literal["complete", "interrupted", "failed"]
    exit_code: int
    error: str = Field(description="the error that ended it early; empty: none")
    headline: list[str] = Field(description="the answer's first sentences")
    bundle: str = Field(
        description="the bundle's folder; empty: the plan was refused before any measurement, and no bundle is left"
    )
    report: str | None = Field(description="path of report.html; null: not written")


Event = (
    Begin
    | CellAdded
    | Loading
    | RunBegins
    | Phase
    | Second
    | Sampled
    | WarningEvent
    | RunEnds
    | Verified
    | Compared
    | Done
)
EVENTS: tuple[type[Document], ...] = get_args(Event)
EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])
