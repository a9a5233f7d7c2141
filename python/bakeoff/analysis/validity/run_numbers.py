"""One run as plain numbers, and what is found of it. `validity` asks the questions."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...model.boundary import Check
from .steady import SteadyState

Severity = Literal["invalid", "disturbed", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """ok: None if it could not be tested."""

    name: str
    ok: bool | None
    severity: Severity
    words: str
    #: How bad it is, more is worse, and the same for people; None: no such figure.
    value: float | None = field(default=None, compare=False)
    value_words: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class RunNumbers:
    """All that is asked of one run, its clients merged. None: not known, or it does not arise.

    error_ratio: share of operations in the window that did not end ok. due: operations that fell due in the window, in
    an open loop only. completed: that ended in it, of whatever outcome and whenever due. counted: those of them in
    the figures.
    client_signs: what made a client suspect itself, in words. witness_missing: one was wanted and told nothing.
    logged, not_logged: operations that the event log has, and lacks; None: there is no log.
    log_cpu_us_per_op: what the client spent on writing one of them; None: not known.
    lateness, response: p99 in ns, open loop only.
    other_cpu_ratio: share of the CPU time of the cores in use that was used by neither client nor server; by whom most,
    in `other_process`. measured_here: this machine had a part in the run. server_not_told_apart: it cannot be known,
    because the server's time is among it.
    steal_of: the machine that the hypervisor took most from; "": there is but this one.
    own_swapped_bytes: of swapped_bytes, by client and server themselves. window_s: of the run.
    stalled_s: the longest time in which everything of ours stood still. system: the name of what is measured.
    throttled_s: our control group had used up its share of the CPU; throttled_others_ratio: how much of what that group
    used went to processes that are not ours. disk_was_quiet: what was written before the run had
    reached the disk. watching_failure: why the watching of server and machine ended early.
    beside: other bakeoff runs that measured on the same cores.
    faults: what was done to servers as planned, in words; error_ratio is then of the operations that ended while it was
    not felt. fault_failures: why one was not done so. silences: of nodes that nobody hurt, in words.
    behind: which of several clients were slower than the others, in words; None: there are none to compare. crowded:
    which machine had more clients than cores. clock_bound_ns: how far the clock of a load machine may be from where it
    is taken to be, of the one that is known least, clock_of; None: all clients read the controller's.
    """

    error_ratio: float
    error_budget_ratio: float
    wrong: int = 0
    unknown: int = 0
    revoked: int = 0
    due: int | None = None
    completed: int = 0
    counted: int | None = None
    unfinished: int = 0
    backlog: int = 0
    interrupted: bool = False
    failure: str = ""
    clients_expected: int = 1
    clients_reported: int = 1
    server_alive: bool | None = None
    client_limited: bool | None = None
    client_signs: Sequence[str] = ()
    witness_missing: bool = False
    logged: int | None = None
    not_logged: int = 0
    log_cpu_us_per_op: float | None = None
    steady: SteadyState | None = None
    checks: Sequence[Check] | None = None
    connections_lost: int = 0
    lateness_p99_ns: int | None = None
    response_p99_ns: int | None = None
    out_of_range: int = 0
    system: str = "the system"
    window_s: float = 0.0
    swapped_bytes: int | None = None
    own_swapped_bytes: int | None = None
    stalled_s: float | None = None
    steal_ratio: float | None = None
    steal_of: str = ""
    throttled_s: float | None = None
    throttled_others_ratio: float | None = None
    measured_here: bool = False
    other_cpu_ratio: float | None = None
    other_process: str = ""
    server_not_told_apart: bool = False
    disk_was_quiet: bool | None = None
    beside: Sequence[str] = ()
    watching_failure: str = ""
    engine_warnings: Sequence[str] = ()
    debt_drained: bool | None = None
    faults: Sequence[str] = ()
    fault_failures: Sequence[str] = ()
    silences: Sequence[str] = ()
    behind: str | None = None
    crowded: str = ""
    clock_bound_ns: int | None = None
    clock_of: str = ""
