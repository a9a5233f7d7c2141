"""What a bundle holds, as models. Layout of the folder (all JSON unless said otherwise):

    bundle.json              BundleInfo
    plan.toml                the plan as the user wrote it; files/ has copies of the files it names
    plan.json                PlanRecord: resolved
    machine.json             MachineFacts
    facts/<cell>.json        FactsRecord of the cell's system, read back after start
    loads/<dataset>.json     LoadRecord: one per data set that was loaded
    runs/<run>/run.json      the engine's document (client 0; others run.<n>.json)
    runs/<run>/result.json   RunRecord: all clients merged, server side included: the last file written
    runs/<run>/intervals.parquet   one row per second: second, warm_up, length_s, ok, errors, p50_ms to
                                   max_ms, statements (reads, writes, others), retries,
                                   retries_after_conflict, reconnects
    runs/<run>/tenths.parquet      one row for each tenth of a second: at_s (since the epoch), ok, and writes, those of
                                   them that write, or may
    runs/<run>/nodes.parquet       of a system of several nodes, one row per second: second, then of each "NODE.ok",
                                   "NODE.errors" and these by outcome, "NODE.p50_ms" (of ok) to "NODE.max_ms",
                                   "NODE.reconnects"
    runs/<run>/histograms.json.gz  per second HDR histograms of ok responses, merged over clients
    runs/<run>/server.parquet      one row per second: second, then columns "os.*" and "db.*"; of a system of several
                                   nodes "os.NODE.*" and "db.NODE.*", too, and debt and facts by NODE in the same way
    runs/<run>/engine.log, server.log
    analyses.jsonl           one AnalysisRecord a line: each answer that was given, with its verdicts
    bundle.lock              held by whoever writes into the bundle
    charts/*.svg *.png, report.html  made by `bakeoff report`

A run's id is "b03-ck3v9x2mq": block 3 and its cell's id, a hash of what that cell is. Everything a report needs is in
PlanRecord, FactsRecords and RunRecords.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field, JsonValue, model_validator

from .boundary import (
    Check,
    Document,
    ErrorSample,
    HistogramDoc,
    LoggedEvents,
    NodeResult,
    OperationTimes,
    QueryCounts,
    Rate,
    ResponseLimit,
    Series,
    Witness,
)
from .clients import ClientRecord
from .faults import FaultRecord, PlannedFault

#: 2: in a closed loop an operation counts where it ended, in rates and percentiles alike.
BUNDLE_FORMAT = 2

#: Before the identity of a data set that bakeoff did not load for the plan: its shape is checked, not every value.
EXISTING_PREFIX = "existing-"

#: So begins the message of a bundle that says that it was continued.
CONTINUED = "continued "

Scalar = str | int | float | bool


class BundleInfo(Document):
    format: int = BUNDLE_FORMAT
    #: Drawn when it was begun: a copy has it, too, and it stays when runs are added. "": from before there were ids.
    id: str = ""
    bakeoff_version: str
    created: str  # ISO 8601, UTC
    finished: str | None = None
    title: str
    #: "complete", "interrupted" (Ctrl-C), "failed" (stopped by an error), "running"
    state: Literal["running", "complete", "interrupted", "failed"]
    command: str  # that re-runs it
    demonstration: bool = False
    #: Cells that could not be run at all, with the reason ("mariadb: no mariadbd ...").
    skipped: dict[str, str] = Field(default_factory=dict)
    messages: list[str] = Field(default_factory=list)
    #: Hash of the engine's binary, and of each file that the plan names: a resume with others is refused.
    engine_sha256: str = ""
    inputs: dict[str, str] = Field(default_factory=dict)
    #: Copies of files that the plan names, by their place in the bundle ("files/shop.sql").
    kept: list[str] = Field(default_factory=list)
    #: Disturbed runs count, and nothing was repeated for their sake: its figures carry the mark.
    allow_disturbed: bool = False
    #: Of a bundle from before `analyses.jsonl`: how many repetitions there were each time that an answer was given.
    looks: list[int] = Field(default_factory=list)


class VerdictRecord(Document):
    """What an analysis said of one question. level: of the interval that decided it. ratio, low, high: other / base; of
    shares one of which is zero the difference."""

    question: str  # "rate: <other> against <base>", by the cells' ids, or by their labels between bundles
    verdict: Literal["higher", "lower", "no difference", "equivalent"]
    #: The size that mattered, where one was named, and what was shown of a difference about it.
    matters_ratio: float | None = None
    size: Literal["matters", "small", "open"] | None = None
    repetitions: int
    level: float
    ratio: float
    low: float
    high: float


class AnalysisRecord(Document):
    """An interim analysis: one answer that somebody could act on. Its verdicts stand, whatever is added later.

    data: a hash of what was analysed; the same again is no further analysis. before, after: of a comparison of bundles
    the bundles of each side, by hash. alpha: the chance of a false claim that was spent. family: all that was asked.
    """

    format: int = 1
    when: str  # ISO 8601, UTC
    data: str
    before: list[str] = Field(default_factory=list)
    after: list[str] = Field(default_factory=list)
    alpha: float = Field(ge=0, le=0.05)
    family: list[str]
    verdicts: list[VerdictRecord] = Field(default_factory=list)


class CellRecord(Document):
    """One combination of factor levels."""

    id: str  # "ck3v9x2mq": a hash of what the cell is, see plan/cells.py
    system: str  # name in the plan
    kind: str  # kind of system
    label: str  # "sqlite_full / preset=a / threads=4"
    #: Every factor with more than one level, "system" first; the report's axes come from here.
    levels: dict[str, Scalar]
    threads: int  # per client
    clients: int
    rate_ops_per_s: float | None  # offered over all clients; None: closed loop
    workload: str  # "YCSB A (records 10000)"
    dataset: str  # identity of the data as they are stored
    durability: str | None
    isolation: str | None
    #: restore | reload | reuse | none; "": the plan's, in a bundle from before systems had their own.
    reset: str = ""
    #: The workload's own figures.
    rates: list[Rate] = Field(default_factory=list)
    limits: list[ResponseLimit] = Field(default_factory=list)
    #: Names of its system's servers, where they are several; empty in a bundle from before cells had them.
    nodes: list[str] = Field(default_factory=list)
    #: What is done to its servers in the window of every run.
    faults: list[PlannedFault] = Field(default_factory=list)
    #: A hash of what is asked, however the plan spelled it; "" in a bundle from before cells had it.
    work: str = ""
    #: Identity of the rows, however they are stored; "" in a bundle from before cells had it.
    content: str = ""

    def has_rows_of(self, other: CellRecord) -> bool:
        """Whether both have the same rows, stored alike or not."""
        return self.dataset == other.dataset or (self.content == other.content != "")


class SearchRecord(Document):
    """The highest (or lowest) level of a factor that keeps all limits; see analysis/search.py. runs: the most of each
    subject: of each combination of all else that varies."""

    factor: str
    highest: bool
    limits: list[str]
    low: float
    high: float
    first: float
    whole: bool
    precision_ratio: float
    runs: int

    @property
    def sought_words(self) -> str:
        """ "highest rate", "lowest number of threads"."""
        name = self.factor if self.factor == "rate" else f"number of {self.factor}"
        return f"{'highest' if self.highest else 'lowest'} {name}"

    def question_words(self, limits: Iterable[str]) -> str:
        """limits: in words. "the highest rate with p99 below 2 ms"."""
        return f"the {self.sought_words} with {' and '.join(limits)}"

    def subject(self, cell: CellRecord) -> str:
        return subject_of({name: level for name, level in cell.levels.items() if name != self.factor})


def subject_of(levels: dict[str, Scalar]) -> str:
    return json.dumps(levels, sort_keys=True)


class PlanRecord(Document):
    format: int = BUNDLE_FORMAT
    title: str
    description: str = ""
    demonstration: bool = False
    seed: int
    objective: str  # a metric's name
    compare_factor: str  # the factor whose levels are compared: "system" unless the plan says otherwise
    baseline: Scalar | None
    repetitions: int
    warm_up_s: float
    window_s: float | None  # None: limited by operations
    operations: int | None
    pacing: str  # in words: "closed loop", "open loop, 5000/s, Poisson arrivals"
    error_budget_ratio: float
    reset: str  # in words: that of all systems, or each with the systems it is of
    cache: str
    placement: dict[str, list[int]]
    factors: dict[str, list[Scalar]]
    #: "latency_p99 < 2ms": what every run is held against.
    limits: list[str] = Field(default_factory=list)
    #: "rate < -5%", "latency_p99 > 2ms": what makes `run` end with exit code 1.
    fail_if: list[str] = Field(default_factory=list)
    #: From which relative size on a difference matters; None: the plan does not say.
    matters_ratio: float | None = None
    #: What a `fail_if` on a change that is undecided makes of the exit code.
    undecided: Literal["separate", "pass", "fail"] = "separate"
    #: Its cells are the levels tried so far, and a block is one step of it.
    search: SearchRecord | None = None
    cells: list[CellRecord]
    #: The plan as a tree after defaults, secrets as names only. Of several plans side by side: what they share, and in
    #: "plans" what is each one's own.
    resolved: dict[str, Any]
    #: Of several plans side by side, by key: what each says where they do not say the same.
    differences: dict[str, dict[str, str]] = Field(default_factory=dict)
    #: The part of the plan that was wanted, as `--only` said it, any of these; empty: all of it.
    only: list[str] = Field(default_factory=list)
    #: How many runs may be made in all beyond those planned, in place of disturbed ones; None: as many as are planned.
    repeat_disturbed: int | None = None
    #: Where its clients run, in words: "load1, load2 (SSH)"; empty: on the machine that carries it out.
    fleet: str = ""

    @property
    def fleet_words(self) -> str:
        return self.fleet or "this machine"

    @property
    def runs_max(self) -> int:
        """All of them; of a search, the most that it may take."""
        if self.search is None:
            return len(self.cells) * self.repetitions
        return len({self.search.subject(cell) for cell in self.cells}) * self.search.runs

    @property
    def repeats_max(self) -> int:
        return self.runs_max if self.repeat_disturbed is None else self.repeat_disturbed

    @property
    def part_words(self) -> str:
        """ "only mariadb, threads=8 or sqlite"; empty: the whole plan."""
        parts = [", ".join(term.strip() for term in words.split(",")) for words in self.only]
        return f"only {' or '.join(parts)}" if parts else ""

    @property
    def rates(self) -> list[Rate]:
        """Of its workloads' own, each name once."""
        return list({rate.name: rate for cell in reversed(self.cells) for rate in cell.rates}.values())

    def tree_of(self, cell: CellRecord) -> dict[str, Any]:
        """The tree that has the cell's system and workload: its own plan's, where there are several."""
        plans = self.resolved.get("plans")
        tree = plans.get(cell.levels.get("plan")) if isinstance(plans, dict) else None
        return tree if isinstance(tree, dict) else self.resolved


class FactsRecord(Document):
    product: str
    version: str
    settings: dict[str, str]
    portable: dict[str, str]
    #: What the plan asked for, by the system's own names (to show what was set on purpose).
    declared: dict[str, str]
    private: bool
    #: It ran inside the client's process.
    embedded: bool = False
    #: Always empty, and written so that bundles made before can be read: each run says what made its load.
    client_library: str = ""
    runner: str = ""


class MachineFacts(Document):
    hostname: str
    os: str
    kernel: str
    cpu_model: str
    cores: int
    memory_bytes: int
    clock_source: str
    filesystem: str
    swap_bytes: int
    virtualisation: str
    cpu_governor: str
    python: str
    engine: str
    warnings: list[str] = Field(default_factory=list)


class Validity(Document):
    """One judgement on one run. `invalid`: the run counts against its system. `disturbed`: something outside of what is
    measured slowed it, and it is no evidence. `warning`: it counts, and the words go with its figure."""

    name: str
    severity: Literal["invalid", "disturbed", "warning", "note"]
    ok: bool | None  # None: not tested
    words: str
    #: How bad it is, comparable between runs (more is worse), and that in words: "85 %". None: there is no such figure.
    value: float | None = None
    value_words: str = ""


#: What a run is good for: evidence, nothing (something else slowed it), or evidence against its system.
Standing = Literal["valid", "disturbed", "invalid"]
#: Checks whose failing an external disturbance can explain: operations that timed out, or that never ended.
EXPLAINED_BY_DISTURBANCE = ("errors", "operations")
#: Failures that no busy machine causes.
_REFUSED_BY_SERVER = ("fail_constraint", "fail_refused", "fail_other")


class Percentiles(Document):
    """Headline response times, ms. None: not defined (failures reach it) or too few samples; `words` says which."""

    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    p999_ms: float | None = None
    max_ms: float | None = None
    mean_ms: float | None = None
    words: dict[str, str] = Field(default_factory=dict)
    #: Those that operations which timed out reach down to: their value is a lower bound.
    at_least: list[str] = Field(default_factory=list)


class OperationSummary(Document):
    operation: str
    part_of: str | None
    ok: int
    errors: dict[str, int]  # outcome -> count, ok excluded
    response: Percentiles


class ServerSide(Document):
    cpu_s: float | None = None  # of the server processes over the window; None: not watched
    memory_peak_bytes: int | None = None
    io_read_bytes: int | None = None
    io_write_bytes: int | None = None
    size_on_disk_bytes: int | None = None
    debt_start: dict[str, float] = Field(default_factory=dict)
    debt_end: dict[str, float] = Field(default_factory=dict)
    debt_drained: bool | None = None
    debt_drain_s: float | None = None
    #: Bytes written by the server (or the engine, when embedded) from the window's start until its debt was drained.
    write_bytes_with_debt: int | None = None
    write_bytes_per_user_byte: float | None = None


class MachineSide(Document):
    """What the machine did in the window beside client and server. None: not known."""

    #: That client and server may use.
    cores: list[int] = Field(default_factory=list)
    #: Of the time of those cores: nothing ran, and nothing was to run.
    idle_ratio: float | None = None
    #: An existing server seems to run on this machine: what it uses cannot be told from what others use.
    server_not_told_apart: bool = False
    #: Of the time of those cores: used by neither client nor server, our controller or the kernel.
    other_cpu_ratio: float | None = None
    #: Which of the others used most: "firefox, pid 123".
    other_process: str = ""
    swapped_bytes: int | None = None  # in and out
    throttled_s: float | None = None  # our control group had used up what it may
    #: Of what was swapped: by the server and the client themselves. None: nobody looked.
    own_swapped_bytes: int | None = None
    #: Of the CPU time of the control group that was throttled: used by neither client nor server nor our controller.
    #: None: not known.
    throttled_others_ratio: float | None = None
    #: The longest time in which the controller, the clients and the servers of this machine all stood still.
    stalled_s: float | None = None
    #: Share of the window in which some task of the machine waited for "cpu", "memory", "io".
    pressure_ratio: dict[str, float] = Field(default_factory=dict)


class NodeSilence(Document):
    """A node that was asked once a second and told nothing, seconds since the window's start; to_s: None where it never
    did again. planned: a fault of the plan's, or what it takes to recover from one."""

    node: str
    from_s: float
    to_s: float | None = None
    planned: bool = False


class ClientVerdict(Document):
    """The client may have been the limit: figures say at most what this client could ask."""

    client_limited: bool = False
    #: Each sign that was seen, in words with its figure and bound.
    signs: list[str] = Field(default_factory=list)


class RunRecord(Document):
    """One run: all clients merged. Written last, so its presence means the run is done."""

    format: int = BUNDLE_FORMAT
    id: str
    block: int
    cell: str
    order: int  # place in the schedule, from 0
    #: Of the runs made for this cell in this block, from 1. Which of them counts: `runs_that_count`.
    attempt: int = 1
    started: str
    #: "done"; "failed": the run could not be completed (words in `failure`), nothing in it is compared.
    state: Literal["done", "failed"]
    failure: str = ""
    #: Whose failure it was: that of what is measured, or that of what measures (a load machine was lost, or the machine
    #: that carries out the plan stood still). Only the latter may be repeated. None: it did not fail, or nobody said
    #: (a bundle from before this was kept), and then it counts as the system's.
    failed_by: Literal["system", "infrastructure"] | None = None
    seed: int
    window_s: float = 0.0
    #: Acknowledged and right, in the window, per second; at most what fell due. The headline.
    rate_ops_per_s: float = 0.0
    offered_ops_per_s: float | None = None  # what fell due in the window, per second; None: closed loop
    due: int | None = None  # the same as a number
    #: Operations that ended in the window, of whatever outcome and whenever they fell due.
    completed: int = 0
    #: Of what fell due in the window (open loop) or ended in it (closed loop).
    ok: int = 0
    #: Open loop: ended ok in the window, and had fallen due before it.
    ok_from_warm_up: int = 0
    errors: dict[str, int] = Field(default_factory=dict)
    error_ratio: float = 0.0
    response: Percentiles = Field(default_factory=Percentiles)
    #: All operations: ok + unknown + unfinished + backlog; the distribution behind `response`.
    headline: HistogramDoc = Field(default_factory=HistogramDoc.empty)
    #: wrong + fail: they rank at infinity.
    failures: int = 0
    operations: list[OperationSummary] = Field(default_factory=list)
    series: list[Series] = Field(default_factory=list)
    unfinished: int = 0
    backlog: int = 0
    #: Of those: by operation, at their age when the window ended; and of what had not begun, nobody knows of which.
    #: Empty in a bundle from before they were kept.
    unfinished_by_operation: list[OperationTimes] = Field(default_factory=list)
    backlog_ages: HistogramDoc = Field(default_factory=HistogramDoc.empty)
    lateness: HistogramDoc = Field(default_factory=HistogramDoc.empty)
    pool_wait: HistogramDoc = Field(default_factory=HistogramDoc.empty)
    #: Of a system with more than one.
    nodes: list[NodeResult] = Field(default_factory=list)
    #: Of a run with several, or with one on another machine.
    clients: list[ClientRecord] = Field(default_factory=list)
    #: Those of its cell, as they were carried out, in the order of time; and of the operations that ended while none of
    #: them was felt, the share that did not end ok. None: there were none.
    faults: list[FaultRecord] = Field(default_factory=list)
    error_ratio_beside_faults: float | None = None
    #: When nodes told nothing of themselves.
    silences: list[NodeSilence] = Field(default_factory=list)
    #: Statements of the operations counted in the window; zeros where the workload does not say.
    queries: QueryCounts = Field(default_factory=QueryCounts)
    retries: int = 0
    #: Those of them that followed a conflict; None: nobody counted them.
    retries_after_conflict: int | None = None
    reconnects: int = 0
    connections_lost: int = 0
    revoked: int = 0
    error_samples: list[ErrorSample] = Field(default_factory=list)
    stream_hashes: list[str] = Field(default_factory=list)
    connect_s: float = 0.0
    client_cpu_s: float = 0.0
    client_memory_peak_bytes: int = 0
    client_cpu_us_per_op: float | None = None
    server_cpu_us_per_op: float | None = None
    workers_busy_ratio: list[float] = Field(default_factory=list)
    #: Of the window: a worker had work to do and no core to do it on. Of older bundles: not kept.
    workers_run_queue_delay_ratio: list[float] = Field(default_factory=list)
    #: Something of the system may run on the client's cores: a server, or the engine that it is embedded in.
    shares_cores: bool = False
    #: Of its CPU time, taken by the hypervisor on the machine where that was most.
    steal_ratio: float = 0.0
    witness: list[Witness] = Field(default_factory=list)
    #: Of each client, where the plan asks for it.
    event_log: list[LoggedEvents] = Field(default_factory=list)
    verdict: ClientVerdict = Field(default_factory=ClientVerdict)
    server: ServerSide = Field(default_factory=ServerSide)
    machine: MachineSide = Field(default_factory=MachineSide)
    #: Whether what was written before the run had reached the disk when it began; None: nobody waited.
    disk_was_quiet: bool | None = None
    #: Why the watching of server and machine ended early; "": it did not.
    #: Other bakeoff runs that used the same cores meanwhile.
    beside: list[str] = Field(default_factory=list)
    watching_failure: str = ""
    engine_warnings: list[str] = Field(default_factory=list)
    #: What each client's run did to the data: the workload's own words, for its checks.
    evidence: list[JsonValue] = Field(default_factory=list)
    #: User bytes (keys and values) in acknowledged writes; 0 where the workload does not say.
    user_bytes_written: int = 0
    checks: list[Check] = Field(default_factory=list)
    validity: list[Validity] = Field(default_factory=list)
    #: It counts though it was disturbed, because whoever ran the plan said so; its figures carry the mark.
    disturbance_allowed: bool = False
    #: The client library, what ran its sessions, and how that asks the kernel where it can choose; "" if not known.
    client: str = ""
    runner: str = ""
    io: str = ""
    engine_version: str = ""
    rerun: str = ""  # command that repeats this run alone by hand

    @model_validator(mode="before")
    @classmethod
    def _of_an_older_bakeoff(cls, record: Any) -> Any:
        """Before evidence was the workload's own, there was one report of all clients."""
        if isinstance(record, dict) and isinstance(report := record.get("state_report"), dict):
            rest = {key: value for key, value in record.items() if key != "state_report"}
            return rest | {"evidence": [report], "user_bytes_written": report.get("bytes_written", 0)}
        return record

    @property
    def budgeted_error_ratio(self) -> float:
        """That the plan's error budget is for."""
        return self.error_ratio if self.error_ratio_beside_faults is None else self.error_ratio_beside_faults

    @property
    def server_is_here(self) -> bool:
        """A server of it took CPU time of the machine that bakeoff ran on, told apart or not."""
        return self.server.cpu_s is not None or self.machine.server_not_told_apart

    @property
    def disturbances(self) -> list[Validity]:
        """What outside of the system and its client slowed it beyond the bounds, the table of analysis/disturbance."""
        return [v for v in self.validity if v.severity == "disturbed" and v.ok is False]

    @property
    def standing(self) -> Standing:
        """A disturbance explains operations that are slow, late or timed out; it never explains wrong data, nor most
        failures where the server itself refused the operation."""
        against = {v.name for v in self.validity if v.severity == "invalid" and v.ok is False}
        refused = sum(self.errors.get(outcome, 0) for outcome in _REFUSED_BY_SERVER)
        explained = against <= set(EXPLAINED_BY_DISTURBANCE) and (
            not against or 2 * refused <= sum(self.errors.values())
        )
        if self.disturbances and self.state == "done" and explained:
            return "disturbed"
        return "invalid" if against or self.state != "done" else "valid"

    @property
    def is_marked(self) -> bool:
        """It counts though it was disturbed: its figures say so wherever they are shown."""
        return self.valid and bool(self.disturbances)

    @property
    def valid(self) -> bool:
        """Whether it is evidence. Every figure, comparison and verdict goes through this."""
        if self.standing == "disturbed" and self.disturbance_allowed:
            return not any(v.severity == "invalid" and v.ok is False for v in self.validity)
        return self.standing == "valid"

    @property
    def leaves_its_place_open(self) -> bool:
        """Whether it says nothing about its system, so that another attempt may take its place in the block. A system
        that failed keeps its place: repeated until it works it would be compared by the runs that it survived."""
        if self.state == "failed":
            return self.was_lost
        return self.standing == "disturbed" and not self.disturbance_allowed

    @property
    def was_lost(self) -> bool:
        """It could not be completed, through no fault of its system."""
        return self.state == "failed" and self.failed_by == "infrastructure"


class LoadRecord(Document):
    dataset: str
    system: str
    rows: int
    elapsed_s: float
    rows_per_s: float
    size_on_disk_bytes: int | None
    #: The same with the holes that compressed pages leave in files. None: not known.
    file_size_bytes: int | None = None
    #: Of the rows' values alone, by the workload's own estimate. None: the bundle is older.
    values_bytes: int | None = None
    checks: list[Check]
    #: What the engine warned of while loading and checking.
    warnings: list[str] = Field(default_factory=list)
    cells: list[str]


Place = tuple[int, str]


def by_place(records: Iterable[RunRecord]) -> dict[Place, list[RunRecord]]:
    """By block and cell, in the order of attempts."""
    places: dict[Place, list[RunRecord]] = {}
    for record in sorted(records, key=lambda record: record.attempt):
        places.setdefault((record.block, record.cell), []).append(record)
    return places


def counting(attempts: list[RunRecord]) -> RunRecord:
    """Of one place. Where none says anything, the first that has figures stands for it, else the latest."""
    closed = next((one for one in attempts if not one.leaves_its_place_open), None)
    return closed or next((one for one in attempts if one.state == "done"), attempts[-1])


def runs_that_count(records: Iterable[RunRecord]) -> list[RunRecord]:
    """One run a place, in the order in which they were made."""
    return sorted(map(counting, by_place(records).values()), key=lambda record: record.order)


def is_open(attempts: list[RunRecord]) -> bool:
    """Whether a place still lacks its run."""
    return all(one.leaves_its_place_open for one in attempts)
