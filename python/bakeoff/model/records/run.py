"""A run as a bundle holds it, and which of several attempts at one place of the schedule counts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, AliasChoices, Field, JsonValue, model_validator

from ...renamed import CHECKS
from ..boundary import (
    CapacityUnits,
    Check,
    Document,
    ErrorSample,
    HistogramDoc,
    LatencyProbe,
    LoggedEvents,
    NodeResult,
    OperationTimes,
    QueryCounts,
    Series,
    StalenessProbe,
)
from ..clients import ClientRecord
from ..faults import FaultRecord
from .bundle import BUNDLE_FORMAT

Severity = Literal["invalid", "disturbed", "warning", "note"]


class Validity(Document):
    """One judgement on one run. `invalid`: the run counts against its system. `disturbed`: something outside of what is
    measured slowed it, so it does not count. `warning`: it counts, and the words accompany its result."""

    name: Annotated[str, AfterValidator(lambda name: CHECKS.get(name, name))]
    severity: Severity
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
    """What other processes on the machine did in the window. None: not known."""

    #: That client and server may use.
    cores: list[int] = Field(default_factory=list)
    #: Of the time of those cores: nothing ran, and nothing was to run.
    idle_ratio: float | None = None
    #: An existing server seems to run on this machine: its CPU time cannot be distinguished from that of others.
    server_not_distinguished: bool = Field(
        default=False, validation_alias=AliasChoices("server_not_distinguished", "server_not_told_apart")
    )
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


class StageRecord(Document):
    """One stage of a rate that changes, or a part of one, from the seconds that lie wholly within it: operations by
    when they ended. name: "2", "2.3" of a ramp, "7/24" of many stages; from_s, to_s: since the window's start; rates:
    over all clients, of many stages the lowest and the highest; length_s: of those seconds, 0 where there were none."""

    name: str
    from_s: float
    to_s: float
    from_ops_per_s: float
    to_ops_per_s: float
    length_s: float
    due: int
    ok: int
    errors: dict[str, int] = Field(default_factory=dict)
    #: Operations that had fallen due and not begun, at the beginning and at the end: at least.
    backlog_before: int = 0
    backlog: int = 0
    #: The queue grew: the stage did not keep its rate.
    overloaded: bool = False
    #: ok + unknown, as far as they ended.
    response: HistogramDoc = Field(default_factory=HistogramDoc.empty)
    #: Of those that ended ok.
    service: HistogramDoc = Field(default_factory=HistogramDoc.empty)

    @property
    def unknown(self) -> int:
        return self.errors.get("unknown", 0)

    @property
    def failures(self) -> int:
        """They rank at infinity."""
        return sum(self.errors.values()) - self.unknown


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
    error_ratio_outside_faults: float | None = Field(
        default=None, validation_alias=AliasChoices("error_ratio_outside_faults", "error_ratio_beside_faults")
    )
    #: Where the plan changes the rate; empty in a bundle from before they were kept.
    stages: list[StageRecord] = Field(default_factory=list)
    #: When nodes told nothing of themselves.
    silences: list[NodeSilence] = Field(default_factory=list)
    #: Statements of the operations counted in the window; zeros where the workload does not say.
    queries: QueryCounts = Field(default_factory=QueryCounts)
    #: Consumed in the window, by what the service said with each answer; None: the system has no such units.
    capacity_units: CapacityUnits | None = None
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
    latency_probe: list[LatencyProbe] = Field(
        default_factory=list, validation_alias=AliasChoices("latency_probe", "witness")
    )
    #: What it read next to the load; None: the plan does not ask, or the system has no sessions for it.
    staleness_probe: StalenessProbe | None = None
    #: Of each client, where the plan asks for it.
    event_log: list[LoggedEvents] = Field(default_factory=list)
    verdict: ClientVerdict = Field(default_factory=ClientVerdict)
    server: ServerSide = Field(default_factory=ServerSide)
    machine: MachineSide = Field(default_factory=MachineSide)
    #: What it took to load its data again before it; None: that was not done, or not kept.
    reload_s: float | None = None
    #: Whether what was written before the run had reached the disk when it began; None: nobody waited.
    disk_was_quiet: bool | None = None
    #: Other bakeoff runs that used the same cores meanwhile.
    concurrent_runs: list[str] = Field(default_factory=list, validation_alias=AliasChoices("concurrent_runs", "beside"))
    #: Why the watching of server and machine ended early; "": it did not.
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
        return self.error_ratio if self.error_ratio_outside_faults is None else self.error_ratio_outside_faults

    @property
    def server_is_here(self) -> bool:
        """A server of it took CPU time of the machine that bakeoff ran on, whether distinguishable or not."""
        return self.server.cpu_s is not None or self.machine.server_not_distinguished

    @property
    def disturbances(self) -> list[Validity]:
        """What outside of the system and its client slowed it beyond the bounds, the table of analysis/disturbance."""
        return [v for v in self.validity if v.severity == "disturbed" and v.ok is False]

    @property
    def standing(self) -> Standing:
        """A disturbance explains operations that are slow, late or timed out; it never explains wrong data, nor most
        failures where the server itself refused the operation."""
        for v in self.validity:
            if v.ok is False:
                break
        else:
            return "valid" if self.state == "done" else "invalid"
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
        return bool(self.disturbances) and self.valid

    @property
    def valid(self) -> bool:
        """Whether it is evidence. Every figure, comparison and verdict goes through this."""
        standing = self.standing
        if standing == "disturbed" and self.disturbance_allowed:
            return not any(v.severity == "invalid" and v.ok is False for v in self.validity)
        return standing == "valid"

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


Place = tuple[int, str]


def by_place(records: Iterable[RunRecord]) -> dict[Place, list[RunRecord]]:
    """By block and cell, in the order of attempts."""
    places: dict[Place, list[RunRecord]] = {}
    for record in sorted(records, key=lambda record: record.attempt):
        places.setdefault((record.block, record.cell), []).append(record)
    return places


def counting(attempts: list[RunRecord]) -> RunRecord:
    """Of one place: the first that says something of its system, an undisturbed one if there is any. Where none does,
    the first that has figures stands for it, else the latest."""
    closed = sorted((one for one in attempts if not one.leaves_its_place_open), key=lambda one: one.is_marked)
    return next(iter([*closed, *(one for one in attempts if one.state == "done")]), attempts[-1])


def runs_that_count(records: Iterable[RunRecord]) -> list[RunRecord]:
    """One run a place, in the order in which they were made."""
    return sorted(map(counting, by_place(records).values()), key=lambda record: record.order)


def is_open(attempts: list[RunRecord]) -> bool:
    """Whether a place still lacks its run."""
    return all(one.leaves_its_place_open for one in attempts)
