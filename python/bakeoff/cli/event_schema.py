"""What `bakeoff run --events` tells: one JSON document a line. It is another program's input, so nothing is taken away
or given another meaning without a new `EVENTS_FORMAT`; new events and new fields may come."""

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
    """The first line: what will be run."""

    event: Literal["begin"] = "begin"
    format: int = EVENTS_FORMAT
    bakeoff_version: str
    title: str
    bundle: str = Field(description="the folder that is written")
    cells: list[CellDescription]
    runs: int = Field(description="of the whole plan; of a search, the most that it may take")
    runs_done: int = Field(description="that the bundle has already (`--resume`)")


class CellAdded(Document):
    """A search tries a level for the first time."""

    event: Literal["cell_added"] = "cell_added"
    cell: CellDescription


class Loading(Document):
    """A system is started and its data are made."""

    event: Literal["loading"] = "loading"
    system: str
    cell: str
    done: int = Field(description="rows")
    total: int = Field(description="rows; 0: not known yet")
    elapsed_s: float


class RunBegins(Document):
    """A run begins."""

    event: Literal["run_begins"] = "run_begins"
    run: str
    cell: str
    block: int


class Phase(Document):
    """A run has come to its next step."""

    event: Literal["phase"] = "phase"
    run: str
    phase: str = Field(description="`resetting`, `warming`, `running`, `draining`, `checking`; others may come")


class Second(Document):
    """One second of a run, all clients together."""

    event: Literal["interval"] = "interval"
    run: str
    second: int = Field(description="since the warm-up began")
    length_s: float
    warm_up: bool
    ok: int = Field(description="operations that ended right")
    errors: int
    rate_ops_per_s: float
    mean_ms: float | None = Field(description="of the response times; null: nothing ended")
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    max_ms: float | None
    reads: int = Field(description="statements, where the workload counts them")
    writes: int
    others: int
    retries: int = Field(description="attempts beyond an operation's first")
    retries_after_conflict: int = Field(description="of them, those after a conflict with others")
    reconnects: int


class WarningEvent(Document):
    """Something that a person should know."""

    event: Literal["warning"] = "warning"
    run: str = Field(description="empty: of no run")
    words: str


class RunEnds(Document):
    """A run has ended, and what may be believed of it."""

    event: Literal["run_ends"] = "run_ends"
    run: str
    cell: str
    block: int
    state: Literal["done", "failed"]
    failure: str
    valid: bool
    standing: Standing = Field(description="`disturbed`: something outside slowed it, and it is no evidence")
    attempt: int = Field(
        description="of the runs of this cell in this block; from 2 on it repeats a disturbed or failed one"
    )
    findings: list[Validity] = Field(description="what speaks against it")
    rate_ops_per_s: float
    error_ratio: float
    errors: dict[str, int]
    response: Percentiles


class Compared(Document):
    """One comparison of the answer."""

    event: Literal["comparison"] = "comparison"
    objective: str = Field(description="a metric's name")
    comparison: ComparisonAnswer


class Done(Document):
    """The last line of a run that began, whatever became of it."""

    event: Literal["done"] = "done"
    state: Literal["complete", "interrupted", "failed"]
    exit_code: int
    error: str = Field(description="what ended it early; empty: nothing did")
    headline: list[str] = Field(description="the answer's first sentences")
    bundle: str = Field(description="its folder; empty: refused before anything was measured, and none is left")
    report: str | None = Field(description="report.html; null: none was made")


Event = Begin | CellAdded | Loading | RunBegins | Phase | Second | WarningEvent | RunEnds | Compared | Done
EVENTS: tuple[type[Document], ...] = get_args(Event)
EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="event")])
