"""The answer of a bundle as plain data: every figure with its spread, its cost and its validity; every comparison in
words; what was left out, and what none of it shows. The terminal's table, --json and the page are views of it.
`conclusion` makes it."""

from __future__ import annotations

from pydantic import Field

from ..findings.limit_evidence import Verdict
from ..findings.limits import LimitFinding
from ..findings.run_values import Spread
from ..findings.searches import SearchAnswer
from ..model.boundary import Document, Rate
from ..model.records import OperationSummary, Percentiles, Scalar
from .response_limits import LimitAnswer
from .statements import StatementFigures


class CellAnswer(Document):
    """One contestant in one setting. Figures are over the valid repetitions; where there are none, over all that were
    finished. valid: every run that was made counts: what a system did in the runs that it survived is no valid figure.
    Rates and response times are those of the typical repetition."""

    cell: str
    contestant: str
    setting: dict[str, Scalar]
    setting_words: str
    system: str
    label: str
    workload: str
    threads: int
    clients: int
    offered_ops_per_s: float | None
    #: What fell due in an open loop, where every repetition did all of it: arrivals are drawn, so it is not what was
    #: offered, and a rate that follows from them has no interval.
    due_and_done_ops_per_s: float | None = None
    repetitions_planned: int
    repetitions_finished: int
    repetitions_valid: int
    valid: bool
    #: Repetitions of which every attempt was disturbed, whether they count or not; and whether so many say nothing that
    #: nothing is claimed of this cell.
    repetitions_disturbed: int = 0
    too_few_undisturbed: bool = False
    #: Why no run is valid, in words: "31 of 31 operations failed"; "" where one is, or where none was made.
    no_valid_run: str = ""
    #: "3 of 10 runs were invalid (...)"; "" where all are valid.
    invalid_runs: str = ""
    rate_ops_per_s: Spread | None
    response: Percentiles
    #: How the repetitions' own times lie, ms, by the names in `response`; without those that `response` lacks.
    response_spreads: dict[str, Spread] = Field(default_factory=dict)
    operations: int
    #: Over the operations of all those repetitions together.
    by_operation: list[OperationSummary]
    #: Response times that the workload's rules ask for.
    limits: list[LimitAnswer] = Field(default_factory=list)
    #: By outcome, of all finished runs: those of an invalid one are what speaks against it.
    errors: dict[str, int] = Field(default_factory=dict)
    error_ratio: float
    retries: int
    #: None where the workload does not say what its operations consist of.
    statements: StatementFigures | None
    #: "wire, reactor, io_uring": the client library, its runner, its way of asking the kernel.
    client: str
    client_cpu_us_per_op: float | None
    server_cpu_us_per_op: float | None
    client_memory_peak_bytes: int | None
    server_memory_peak_bytes: int | None
    size_on_disk_bytes: int | None
    #: Data on disk over the system's own cache (buffer pool); None where it does not tell. Below 1 everything fits.
    data_to_cache_ratio: float | None = None
    write_bytes_per_user_byte: float | None
    #: What is shown beside these, by the metric's name; one that is not defined in every run is left out.
    metrics: dict[str, Spread] = Field(default_factory=dict)
    #: "valid", or what stands beside the figure, each kind once.
    validity: str
    findings: list[str] = Field(default_factory=list)


class FigureDiffers(Document):
    """One figure of two cells, of `other` and `base`: a hint, no tested claim. name: a metric's, or the column of a
    counter of the server's own ("db.Innodb_row_lock_waits_per_s"), whose values are per operation. ratio: None where
    one of the two is zero."""

    name: str
    label: str
    base_value: float
    other_value: float
    ratio: float | None
    words: str


class CellsDiffer(Document):
    """Two neighbours along the axis, in words, and what differs most between them. objective_ratio: other / base of the
    typical repetition; None where one has none."""

    contestant: str
    setting_words: str
    base: str
    other: str
    objective_ratio: float | None = None
    figures: list[FigureDiffers]


class ComparisonAnswer(Document):
    """What is said about `other` against `base` in one setting. Ratios are other / base; of shares one of which is zero
    the difference, other - base, stands in their place."""

    setting: dict[str, Scalar]
    setting_words: str
    base: str
    other: str
    base_value: float | None
    other_value: float | None
    #: Why a side has no value: "zero", "overloaded in 2 of 5 runs"; "" where it has one, or nobody knows.
    base_why: str = ""
    other_why: str = ""
    #: Of the value: higher, lower, equivalent, no difference; or why there is none: too few, too few operations,
    #: invalid runs, not comparable.
    verdict: str
    better: str | None
    words: str
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    detectable_ratio: float | None = None
    #: The size that matters, where the plan names one; of a claimed difference whether it is shown to exceed that
    #: (matters), to be less (small), or neither (open).
    matters_ratio: float | None = None
    size: str | None = None
    #: That would decide whether there is a difference of the size that matters; None where it is decided, where no size
    #: is named, and where more than a hundred would be needed.
    more_repetitions: int | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    repetitions: int
    notes: list[str] = Field(default_factory=list)
    #: How many operations failed for good on either side, in a sentence; "" where that is alike, and nobody asks.
    failures: str = ""
    #: What else differs, most first.
    differs: list[FigureDiffers] = Field(default_factory=list)

    @property
    def claims_difference(self) -> bool:
        return self.verdict in ("higher", "lower")

    @property
    def is_undecided(self) -> bool:
        return self.verdict == "no difference"


class ShapeLevel(Document):
    """One level of a sweep. against: the comparison with the level measured as best; None: it is that one."""

    cell: str
    level: Scalar
    level_words: str
    value: Spread | None
    against: ComparisonAnswer | None


class ShapeAnswer(Document):
    """Where over a swept number the objective is best, for one contestant in one setting of all the other factors.
    top: the level measured as best; best: those that may be it; left_out: those that could not be compared. Where
    nothing is judged, for want of repetitions, `best` is `top` alone. knee: the levels that it may be at, empty where
    there is none to look for."""

    axis: str
    contestant: str
    setting: dict[str, Scalar]
    setting_words: str
    direction: str  # of what is best: higher, lower
    levels: list[ShapeLevel]
    judged: bool
    repetitions: int
    top: Scalar
    best: list[Scalar]
    left_out: list[Scalar]
    detectable_ratio: float | None
    knee: list[Scalar]


class MetricShown(Document):
    """One beside those of every report, the workload's own or asked for: a column and a chart."""

    name: str
    label: str
    unit: str
    better: str
    about: str


class Difference(Document):
    """Of configuration. values: by contestant. deciding: it may be the reason for a result. cause: what it follows
    from, where the plan declares that."""

    name: str
    values: dict[str, str]
    deciding: bool = False
    cause: str = ""


class FaultAnswer(Document):
    """One planned fault in one cell, or several that are one event, over the runs that are shown. fault: in words;
    label: "kill n3"; nodes: that it is done to. figures: by the metric's name, without those that not every run has.
    gap_before_s: the longest before the first fault. not_back: runs in which the rate was not seen to come back;
    not_noticed: in which no operation failed."""

    cell: str
    contestant: str
    setting: dict[str, Scalar]
    setting_words: str
    fault: str
    label: str
    nodes: list[str] = Field(default_factory=list)
    runs: int
    figures: dict[str, Spread] = Field(default_factory=dict)
    gap_before_s: float = 0.0
    not_back: int = 0
    not_noticed: int = 0
    #: The work writes, at least at times.
    writes: bool = True
    #: Of what is unknown in those runs, something may have been written.
    unknown_writes: bool = True
    #: Over all of those runs.
    failed: int = 0
    unknown: int = 0
    #: Runs in which the rate fell again after it had come back; when, from the fault (least and most); and to which
    #: share of the rate before.
    fell_again: int = 0
    fell_again_at_s: tuple[float, float] = (0.0, 0.0)
    fell_again_to_ratio: float = 0.0
    #: The load was a closed loop, in which a user who waits asks nothing.
    closed: bool = False
    #: In whole windows: operations that took longer than a second, over all of those runs, and the longest of all.
    waited_long: int = 0
    longest_wait_s: float = 0.0
    #: How the server came back, each way once: "incremental state transfer".
    rejoined: list[str] = Field(default_factory=list)
    after_load: bool = False
    #: Of a cell's last fault: what the checks after its runs say of acknowledged writes, as a clause.
    loss: str = ""


class NodeAnswer(Document):
    """What came from one node in one cell, over all runs that are shown. share: of the operations of all nodes. errors:
    by outcome. reconnects: sessions that were opened there again. silent_s: for how long it did not answer in all those
    runs, and how often."""

    contestant: str
    setting_words: str
    node: str
    role: str
    operations: int
    share: float | None
    p50_ms: float | None
    p99_ms: float | None
    errors: dict[str, int]
    reconnects: int
    runs: int = 1
    silences: int
    silent_s: float


class ClientAnswer(Document):
    """What one client of a cell did, or all those on one machine, over all runs that are shown. client: in words.
    rate_ops_per_s: of all of them, in the mean run. share: of the operations of all clients. is_behind: all of them
    were slower than the other clients in most runs. CPU is theirs together; memory, ratios, round trip and clock those
    of the one that has most, None where nobody knows. clock: how far it is ahead of the controller's, and to within
    what that is known."""

    contestant: str
    setting_words: str
    client: str
    machine: str
    clients: int
    is_behind: bool
    rate_ops_per_s: float
    share: float | None
    p99_ms: float | None
    errors: dict[str, int]
    cpu_us_per_op: float | None
    memory_peak_bytes: int
    busy_ratio: float | None
    no_core_ratio: float | None
    steal_ratio: float
    server_round_trip_ms: float | None
    clock_offset_s: float | None
    clock_bound_ms: float | None
    start_late_ms: float | None


class ThresholdAnswer(Document):
    """Of the plan's `fail_if`, in one cell or of one contestant. status: failed, undecided, passed, not judged. cell:
    empty of a change, and where no level was found. value: of the typical run, in the metric's unit; low, high: the
    interval that decided, None where one run did."""

    condition: str
    status: str
    words: str
    #: Of what is undecided: `interval` (it reaches to either side), `too busy` (too few undisturbed runs) or `too few
    #: operations` (for the percentile); "" otherwise.
    undecided_by: str = ""
    cell: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def fails(self) -> bool:
        """A check that cannot see must not pass for ever."""
        return self.status in ("failed", "not judged")


class Contradiction(Document):
    """search, fixed: whether the limit holds at that level, by the search and by the runs at the level."""

    contestant: str
    setting_words: str
    limit: str
    level: float
    level_words: str
    search: Verdict
    fixed: Verdict
    words: str


class Answer(Document):
    title: str
    description: str
    created: str
    #: "", or why the bundle is not the whole plan.
    incomplete: str
    demonstration: str
    #: "", or the mark of every figure here: disturbed runs count.
    disturbed: str = ""
    #: Other processes, or another disturbance, left some cell fewer runs than a claim needs.
    too_busy: bool = False
    objective: str
    objective_words: str
    pacing: str
    measured: str  # warm-up, window and repetitions in words
    headline: list[str]
    #: Those of them that a page may fold where all are many: hints, and shapes told after pairs.
    aside: list[str] = Field(default_factory=list)
    comparisons: list[ComparisonAnswer]
    #: One for each contestant whose settings all lean the same way; judged together with `comparisons`.
    over_all: list[ComparisonAnswer] = Field(default_factory=list)
    #: Along the axis of a sweep: what the server's own counters did from each level to the next.
    neighbours: list[CellsDiffer] = Field(default_factory=list)
    #: Which analysis of this bundle it is, from 1: data were added after those before it.
    look: int = 1
    #: Over the axis, where it is a swept number; in a sweep they take the place of comparisons.
    shapes: list[ShapeAnswer] = Field(default_factory=list)
    thresholds: list[ThresholdAnswer] = Field(default_factory=list)
    #: What the plan's search found.
    search: SearchAnswer | None = None
    #: Where the plan's limits and thresholds say otherwise than its search.
    contradictions: list[Contradiction] = Field(default_factory=list)
    #: Of systems of several nodes, in the order of cells.
    nodes: list[NodeAnswer] = Field(default_factory=list)
    #: Where there are several, or one is on another machine: each, or of many each machine's, and the slower ones.
    clients: list[ClientAnswer] = Field(default_factory=list)
    #: What was done to servers as planned, and what that did to the load.
    faults: list[FaultAnswer] = Field(default_factory=list)
    #: How each contestant stood to the limits of the plan.
    held: list[LimitFinding] = Field(default_factory=list)
    cells: list[CellAnswer]
    metrics: list[MetricShown] = Field(default_factory=list)
    #: Those of the metrics that are the workloads' own.
    rates: list[Rate] = Field(default_factory=list)
    #: The factor whose levels the contestants are: "system", "threads", ...
    compared: str
    contestants: list[str]
    #: How far the figures may be believed, the worst first.
    validity: list[str]
    #: Of several plans side by side: what each says where they do not say the same.
    between_plans: list[Difference] = Field(default_factory=list)
    #: Differences of configuration that the plan does not declare.
    undeclared: list[Difference]
    runs_finished: int
    runs_valid: int
    runs_planned: int
    skipped: dict[str, str]
    messages: list[str]
    limits: list[str]
    command: str
    bakeoff_version: str
