"""Python's mirror of what crosses to and from the engine. The source of truth is crates/model; tests hold this file
against schema/run.schema.json and schema/event.schema.json by field names, and both against schema/examples/."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter

from .reads import ReadsReport

FORMAT = 1

OutcomeName = Literal[
    "ok",
    "wrong",
    "unknown",
    "fail_conflict",
    "fail_constraint",
    "fail_refused",
    "fail_overload",
    "fail_other",
    "fail_lost",
]
Phase = Literal["load", "warm", "run", "check", "verify", "drop"]
RunnerName = Literal["tokio", "thread", "reactor"]
IoName = Literal["io_uring", "epoll"]
IsolationName = Literal["read-uncommitted", "read-committed", "repeatable-read", "snapshot", "serializable"]


class Document(BaseModel):
    """A part of a document: unknown keys and numbers that are none (NaN, infinity) are refused."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True, allow_inf_nan=False)


class ClientSpec(Document):
    index: int = 0
    count: int = 1


class Closed(Document):
    kind: Literal["closed"] = "closed"


class Thinking(Document):
    """A closed loop in which every user thinks before each operation."""

    kind: Literal["thinking"] = "thinking"
    mean_s: float
    distribution: Literal["exponential", "constant"] = "exponential"


class Stage(Document):
    """A stretch of time in which the rate goes evenly from one value to another."""

    for_s: float
    from_ops_per_s: float
    to_ops_per_s: float


class Open(Document):
    """rate_ops_per_s: with stages, on average over the window. stages: one after the other from the window's start; the
    warm-up has the rate at the first one's start."""

    kind: Literal["open"] = "open"
    rate_ops_per_s: float
    arrival: Literal["constant", "poisson", "per_session"]
    stages: list[Stage] = Field(default_factory=list)


Pacing = Annotated[Closed | Thinking | Open, Field(discriminator="kind")]


class TimeLimit(Document):
    kind: Literal["time"] = "time"
    window_s: float


class OperationsLimit(Document):
    kind: Literal["operations"] = "operations"
    operations: int
    max_s: float | None = None


Limit = Annotated[TimeLimit | OperationsLimit, Field(discriminator="kind")]


class Retry(Document):
    retries: int = 0
    on: list[Literal["conflict", "constraint", "refused", "overload", "lost", "other"]] = Field(default_factory=list)
    on_codes: list[str] = Field(default_factory=list)
    backoff_s: float = 0.0


class RoleRoute(Document):
    role: str


class NameRoute(Document):
    name: str


#: The nodes that sessions are dealt over, in turn.
Routing = Literal["any", "split"] | RoleRoute | NameRoute


class CheckSpec(Document):
    #: Of every client and every run since the data were loaded; None: nobody knows what that run did.
    evidence: list[JsonValue] = Field(default_factory=list)
    sample: int = 0
    #: Of rows whose insert was acknowledged, the most that are read by their keys.
    acknowledged: int = 0
    after_run: bool = False


class IsolationExperiment(Document):
    """Which anomalies a level of isolation lets happen."""

    kind: Literal["isolation"] = "isolation"
    #: Names; empty: all.
    schedules: list[str] = Field(default_factory=list)
    tries: int = 3
    blocked_after_s: float = 0.35
    #: Statements that each session runs first.
    session_setup: list[str] = Field(default_factory=list)


class TransactionsExperiment(Document):
    """What random transactions of several sessions see. claim: a level, or None. folder: for the histories."""

    kind: Literal["transactions"] = "transactions"
    sessions: int = 6
    #: Of each kind of transaction.
    seconds: float = 6.0
    #: From then on a kind ends as soon as a verdict is possible, or out of reach; None: at the end of `seconds`.
    enough_after_s: float | None = None
    claim: Literal["read-uncommitted", "read-committed", "snapshot", "serializable"] | None = None
    session_setup: list[str] = Field(default_factory=list)
    folder: str | None = None
    #: Of nodes that faults ended meanwhile, after the last transaction; 0: no faults.
    nodes_back_within_s: float = 0.0


class StalenessExperiment(Document):
    """How old is what is read on each node. claims: what the judge compares with; {}: nothing."""

    kind: Literal["staleness"] = "staleness"
    seconds: float = 6.0
    #: As of transactions.
    enough_after_s: float | None = None
    #: Of each session that writes.
    writes_per_s: float = 600.0
    #: Pairs, of the reader on each node. The judge asks for 10,000 reads soon after a write.
    reads_per_s: float = 1000.0
    claims: dict[str, JsonValue] = Field(default_factory=dict)
    session_setup: list[str] = Field(default_factory=list)
    folder: str | None = None


class ConvergenceExperiment(Document):
    """Whether all nodes hold the same rows once nobody writes any more."""

    kind: Literal["convergence"] = "convergence"
    #: No round begins later.
    seconds: float = 6.0
    #: As of transactions. The samples after the nodes have agreed take as long, and at most 5 s.
    enough_after_s: float | None = None
    deadline_s: float = 10.0
    session_setup: list[str] = Field(default_factory=list)


class LedgerExperiment(Document):
    """Inserts until the system ends, and a ledger of what was acknowledged: a file for each session in the folder."""

    kind: Literal["ledger"] = "ledger"
    folder: str
    #: Number of each session's first record.
    first: int = 0
    sessions: int = 4
    seconds: float = 6.0


class LedgerFoundExperiment(Document):
    """The keys that exist afterwards, written into the file `found` of the folder."""

    kind: Literal["ledger_found"] = "ledger_found"
    folder: str


SqlExperiment = IsolationExperiment | TransactionsExperiment | StalenessExperiment | ConvergenceExperiment
Experiment = Annotated[SqlExperiment | LedgerExperiment | LedgerFoundExperiment, Field(discriminator="kind")]


class StalenessProbeSpec(Document):
    """One session on each node next to a run's load, which writes versions of a few keys and reads them. writers: the
    nodes that take its writes. claims: as of `StalenessExperiment`."""

    writers: Routing = "any"
    claims: dict[str, JsonValue] = Field(default_factory=dict)
    session_setup: list[str] = Field(default_factory=list)


class StepAnswer(Document):
    """rows: ids and values that were read. none: no answer came; skipped: never sent."""

    kind: Literal["done", "rows", "error", "none", "skipped"]
    affected: int | None = None
    rows: list[tuple[int, int]] = Field(default_factory=list)
    code: str = ""
    message: str = ""


class StepEvidence(Document):
    #: From 1.
    session: int
    statement: str
    blocked: bool
    answer: StepAnswer


class ScheduleTry(Document):
    anomaly: bool
    committed: int
    transactions: int
    steps: list[StepEvidence]
    rows: list[tuple[int, int]]


class ScheduleEvidence(Document):
    name: str
    tries: list[ScheduleTry]


class IsolationEvidence(Document):
    """`evidence` of an isolation experiment."""

    schedules: list[ScheduleEvidence]


class EventLogSpec(Document):
    """A CSV file with a row for each operation of the window."""

    path: str
    #: What its rows call the run, and the system.
    test_id: str
    database: str


class RunSpec(Document):
    """run.json. `driver` and `workload` are built by the system and the workload; the engine checks them."""

    format: int = FORMAT
    phase: Phase
    driver: dict[str, Any]
    workload: dict[str, Any]
    client: ClientSpec = Field(default_factory=ClientSpec)
    seed: int = 0
    threads: int = 1
    sessions: int | None = None
    #: Of Poisson arrivals; None: `seed`.
    arrival_seed: int | None = None
    routing: Routing = "any"
    workers: int = 0
    runner: RunnerName | None = None
    io: IoName | None = None
    sessions_of_largest_run: int = 0
    spin: bool = False
    pacing: Pacing = Field(default_factory=Closed)
    limit: Limit = Field(default_factory=lambda: TimeLimit(window_s=10.0))
    warm_up_s: float = 0.0
    timeout_s: float = 10.0
    retry: Retry = Field(default_factory=Retry)
    error_budget_ratio: float = 0.0
    latency_probe_rate_ops_per_s: float | None = None
    staleness_probe: StalenessProbeSpec | None = None
    isolation: IsolationName | None = None
    drop_existing: bool = False
    check: CheckSpec | None = None
    experiment: Experiment | None = None
    cores: list[int] = Field(default_factory=list)
    event_log: EventLogSpec | None = None


class HistogramDoc(Document):
    count: int
    out_of_range: int
    min_ns: int
    mean_ns: float
    p50_ns: int
    p95_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int
    hdr: str

    @classmethod
    def empty(cls) -> HistogramDoc:
        """Of no values; its `hdr` is not decoded."""
        return cls(
            count=0, out_of_range=0, min_ns=0, mean_ns=0.0, p50_ns=0, p95_ns=0, p99_ns=0, p999_ns=0, max_ns=0, hdr=""
        )


class Ready(Document):
    event: Literal["ready"] = "ready"
    format: int
    engine_version: str
    pid: int
    runner: RunnerName
    io: IoName | None
    client: str
    workers: int
    sessions: int
    connect_s: float


class Progress(Document):
    event: Literal["progress"] = "progress"
    elapsed_s: float
    done: int
    total: int


class IntervalSeries(Document):
    operation: str
    part: bool
    outcome: OutcomeName
    response: HistogramDoc


class QueryCounts(Document):
    """Statements that the server carried out, by what they did; `other`: begin, commit, writes that touched no row."""

    read: int = 0
    write: int = 0
    other: int = 0


class Tenths(Document):
    """Whole operations that ended ok in each tenth of a second."""

    ok: list[int] = Field(default_factory=list)
    #: Those of them that write, or may.
    writes: list[int] = Field(default_factory=list)


class IntervalNode(Document):
    """What came from one node in one second."""

    name: str
    #: What did not occur is left out.
    outcomes: dict[OutcomeName, int]
    #: Of those that ended ok.
    response: HistogramDoc
    #: Sessions opened there again.
    reconnects: int


class Interval(Document):
    event: Literal["interval"] = "interval"
    second: int
    length_s: float
    warm_up: bool
    #: Operations that fell due in it; None where the plan changes no rate.
    due: int | None = None
    #: Service times of whole operations that ended ok; as `due`, and None where none did.
    service: HistogramDoc | None = None
    series: list[IntervalSeries]
    queries: QueryCounts
    retries: int
    #: Those of them that followed a conflict.
    retries_after_conflict: int
    reconnects: int
    tenths: Tenths = Field(default_factory=Tenths)
    #: Where a system has several; else all is of the one.
    nodes: list[IntervalNode] = Field(default_factory=list)


class Mark(Document):
    event: Literal["mark"] = "mark"
    id: int
    at_s: float


class Warning(Document):
    event: Literal["warning"] = "warning"
    what: str
    at_s: float


class Trouble(Document):
    event: Literal["error"] = "error"
    what: str
    where: str
    hint: str
    kind: Literal["usage", "server", "environment"]


class Series(Document):
    operation: str
    part_of: str | None
    outcome: OutcomeName
    count: int
    response: HistogramDoc
    service: HistogramDoc


class ErrorSample(Document):
    operation: str
    outcome: OutcomeName
    code: str
    message: str
    statement: str | None
    endpoint: int
    at_s: float


class NodeResult(Document):
    name: str
    role: str
    #: Ended there, of whatever outcome.
    operations: int
    #: The same by outcome, without what did not occur; empty: nobody counted it.
    outcomes: dict[OutcomeName, int] = Field(default_factory=dict)
    #: Of those that ended ok.
    response: HistogramDoc
    #: Sessions opened there again in the window; None: nobody counted them.
    reconnects: int | None = None


class WorkerCost(Document):
    busy_ratio: float
    run_queue_delay_ratio: float


class ClientCost(Document):
    cpu_user_s: float
    cpu_system_s: float
    memory_peak_bytes: int
    context_switches_voluntary: int
    context_switches_involuntary: int
    workers: list[WorkerCost]
    steal_ratio: float
    cpu_mhz: float | None


class LatencyProbe(Document):
    operation: str
    service: HistogramDoc
    median_ratio: float | None


class StalenessProbe(Document):
    """What sessions next to the load saw. writes, reads: begun in the window. report: None: nothing was
    seen. troubles: what kept it from seeing more, in words."""

    sessions: int
    writes: int
    reads: int
    report: ReadsReport | None
    troubles: list[str]


class Check(Document):
    name: str
    ok: bool
    expected: str
    actual: str
    evidence: list[str]


class OperationTimes(Document):
    """Times of one kind of operation."""

    operation: str
    times: HistogramDoc


class LoggedEvents(Document):
    """Operations that were written down one by one."""

    rows: int
    #: Not written, because the log could not keep up or the disk would not take it.
    lost: int
    #: CPU time of the thread that wrote them, which the client's cost holds too; 0: not known, in older bundles.
    cpu_ns: int = 0


class CapacityUnits(Document):
    """What a cloud service charges for."""

    read: float
    write: float


class RunResult(Document):
    event: Literal["result"] = "result"
    format: int
    phase: Phase
    client: ClientSpec
    seed: int
    rows: int
    elapsed_s: float
    window_start_s: float
    window_end_s: float
    epoch_unix_ns: int
    interrupted: bool
    series: list[Series]
    unfinished: HistogramDoc
    #: The same by operation, where there are any. Of the backlog no operation was drawn yet.
    unfinished_by_operation: list[OperationTimes] = Field(default_factory=list)
    backlog: HistogramDoc
    due: int
    lateness: HistogramDoc
    completed: int
    ok_from_warm_up: int
    pool_wait: HistogramDoc
    queries: QueryCounts
    retries: int
    #: Those of them that followed a conflict.
    retries_after_conflict: int
    reconnects: int
    connections_lost: int
    revoked: int
    error_ratio: float
    error_budget_exceeded: bool
    errors: list[ErrorSample]
    stream_hashes: list[str]
    nodes: list[NodeResult]
    cost: ClientCost
    #: Consumed in the window, by what a service said with each answer; None: the system has no such units.
    capacity_units: CapacityUnits | None = None
    latency_probe: LatencyProbe | None
    staleness_probe: StalenessProbe | None = None
    #: What a run did to the data: a document of the workload's own, which only its checks read.
    evidence: JsonValue
    user_bytes_written: int
    checks: list[Check]
    event_log: LoggedEvents | None = None


Event = Annotated[
    Ready | Progress | Interval | Mark | Warning | Trouble | RunResult,
    Field(discriminator="event"),
]
EVENT: TypeAdapter[Event] = TypeAdapter(Event)
