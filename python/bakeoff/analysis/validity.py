"""What may be believed of one run: from plain numbers to findings in words.

Three severities. `invalid`: the run takes no part in comparisons. `warning`: it does, and the words stand beside its
figure. `note`: worth knowing. A finding with ok = None was not tested, which is said and never passes for a yes.

`findings` asks every question in `CHECKS`, a visible list; a check answers None where its question does not arise.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from bakeoff.analysis.steady import SteadyState
from bakeoff.analysis.wording import count_words, counted, duration_words, percent_words, significant

# Completed, as a share of what fell due: below it the queue grows, and percentiles say only how long the window was.
COMPLETED_RATIO_MIN = 0.99
LATENESS_RATIO_MAX = 0.10
# Below it lateness is what a thread takes to wake, on any machine.
LATENESS_NS_MIN = 100_000
#: Beyond it what clients of several machines did in one second is not what they did at the same time.
CLOCK_BOUND_NS_MAX = 10_000_000
#: What the series tells apart at best: tenths of a second.
TENTH_NS = 100_000_000
STEAL_RATIO_MAX = 0.01
OTHER_CPU_RATIO_MAX = 0.10

#: The check against the error budget.
ERRORS = "errors"
#: The check that stands for all of them where none could be made.
COULD_BE_CHECKED = "data could be checked after the run"

Severity = Literal["invalid", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """ok: None if it could not be tested."""

    name: str
    ok: bool | None
    severity: Severity
    words: str


@dataclass(frozen=True, slots=True)
class IntegrityCheck:
    name: str
    ok: bool
    expected: str = ""
    actual: str = ""


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
    in `other_process`. server_not_told_apart: it cannot be known, because the server's time is among it.
    throttled_s: our control group had used up its share of the CPU. disk_was_quiet: what was written before the run had
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
    checks: Sequence[IntegrityCheck] | None = None
    connections_lost: int = 0
    lateness_p99_ns: int | None = None
    response_p99_ns: int | None = None
    out_of_range: int = 0
    swapped_bytes: int | None = None
    steal_ratio: float | None = None
    throttled_s: float | None = None
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


def findings(run: RunNumbers) -> list[Finding]:
    """Every check's answer, in the order of `CHECKS`."""
    return [found for check in CHECKS if (found := check(run)) is not None]


def overloaded(due: int | None, completed: int) -> bool:
    """Whether the queue grew in the window of an open loop: then no percentile may lead a report.

    due: operations that fell due in it, None in a closed loop. completed: that ended in it, of whatever outcome and
    whenever they fell due, because a failure and what straddles an edge of the window leave no queue behind.
    """
    return due is not None and completed < COMPLETED_RATIO_MIN * due


def _completed(run: RunNumbers) -> Finding:
    if run.failure:
        return Finding("completed", False, "invalid", f"the run failed: {run.failure}")
    if run.interrupted:
        return Finding("completed", False, "invalid", "interrupted before its window was over")
    if run.clients_reported < run.clients_expected:
        words = f"only {run.clients_reported} of {run.clients_expected} clients reported"
        return Finding("completed", False, "invalid", words)
    return Finding("completed", True, "invalid", "ran to its end")


def _server_alive(run: RunNumbers) -> Finding | None:
    if run.server_alive is None:
        return None
    words = "the server lived through the run" if run.server_alive else "the server died or froze during the run"
    return Finding("server", run.server_alive, "invalid", words)


def _errors(run: RunNumbers) -> Finding:
    if run.counted == 0:
        words = "no operation that counts ended in the window"
        if run.due == 0:
            words = "nothing fell due in the window: raise the rate, or make the window longer"
        return Finding("operations", False, "invalid", words)
    return errors_within(run.error_ratio, run.error_budget_ratio, beside_faults=bool(run.faults))


def errors_within(ratio: float, budget: float, *, beside_faults: bool) -> Finding:
    """The one finding of a run that is the plan's judgement, and may be made again with another budget. Shares.
    beside_faults: of the operations that ended while no planned fault was felt."""
    where = " outside of the planned faults" if beside_faults else ""
    figures = f"{percent_words(ratio)} of the operations{where} did not end ok; the budget is {percent_words(budget)}"
    return Finding(ERRORS, ratio <= budget, "invalid", figures if ratio else f"no errors{where}")


def _faults(run: RunNumbers) -> Finding | None:
    if not run.faults:
        return None
    if run.fault_failures:
        words = f"a fault was not carried out as planned: {run.fault_failures[0]}"
        return Finding("planned faults", False, "invalid", words)
    return Finding("planned faults", True, "note", f"as planned: {'; '.join(run.faults)}")


def _silences(run: RunNumbers) -> Finding | None:
    if not run.silences:
        return None
    return Finding("nodes", False, "warning", f"{'; '.join(run.silences)}, and nobody had planned that")


def _integrity(run: RunNumbers) -> Finding:
    if run.checks is None:
        return Finding("integrity", None, "invalid", "not tested: no check of the data was made")
    if not run.checks:
        return Finding("integrity", None, "note", "not tested: the workload has no invariants")
    broken = [check for check in run.checks if not check.ok]
    if not broken:
        return Finding("integrity", True, "invalid", f"all {len(run.checks)} checks of the data held")
    first = broken[0]
    if first.name == COULD_BE_CHECKED:
        words = f"the data could not be checked after the run: {first.actual}"
        return Finding("integrity", False, "invalid", words)
    words = f"{len(broken)} of {len(run.checks)} checks of the data failed, first {first.name}"
    return Finding("integrity", False, "invalid", f"{words}: expected {first.expected}, found {first.actual}")


def _wrong_answers(run: RunNumbers) -> Finding | None:
    if run.wrong == 0:
        return None
    words = f"{_operations(run.wrong)} acknowledged with a wrong answer; no budget allows for that"
    return Finding("wrong answers", False, "invalid", words)


def _unknown_outcomes(run: RunNumbers) -> Finding | None:
    if run.unknown == 0:
        return None
    lost = counted(run.unknown, "operation timed out or lost its", "operations timed out or lost their")
    words = f"{lost} connection: perhaps applied, perhaps not"
    return Finding("unknown outcomes", False, "note", words)


def _operations(count: int) -> str:
    return counted(count, "operation was", "operations were")


def _revoked(run: RunNumbers) -> Finding | None:
    if run.revoked == 0:
        return None
    words = (
        f"{_operations(run.revoked)} taken back: {'its' if run.revoked == 1 else 'their'} transaction did not commit"
    )
    return Finding("revoked", False, "note", words)


def _overload(run: RunNumbers) -> Finding | None:
    if run.due is None:
        return None
    late = overloaded(run.due, run.completed)
    share = f" ({percent_words(run.completed / run.due, digits=3)})" if run.due else ""
    words = f"{count_words(run.completed)} operations ended while {count_words(run.due)} fell due{share}"
    if late:
        left = f"{count_words(run.unfinished)} unfinished, {count_words(run.backlog)} not begun when the window ended"
        if run.counted is not None and run.completed > run.counted:
            left = f"{count_words(run.completed - run.counted)} of them had fallen due in the warm-up; {left}"
        words = f"overloaded: {words}; {left}; percentiles are not stated"
    return Finding("offered rate", not late, "warning", words)


def _client(run: RunNumbers) -> Finding:
    if run.client_limited is None:
        return Finding("client", None, "warning", "not tested: no verdict on the client")
    if not run.client_limited:
        return Finding("client", True, "warning", "no sign that the client was the limit")
    signs = "; ".join(run.client_signs) or "no details"
    words = f"the client may have been the limit ({signs}): the figure says at most what this client could ask"
    return Finding("client", False, "warning", words)


def _clients(run: RunNumbers) -> Finding | None:
    if run.behind is None:
        return None
    return Finding("clients", not run.behind, "warning", run.behind or "no client was slower than the others")


def _crowded(run: RunNumbers) -> Finding | None:
    return Finding("clients to a core", False, "warning", run.crowded) if run.crowded else None


def _clocks(run: RunNumbers) -> Finding | None:
    bound_ns = run.clock_bound_ns
    if bound_ns is None:
        return None
    most = duration_words(CLOCK_BOUND_NS_MAX)
    words = f"the clock of {run.clock_of} is known to within {duration_words(bound_ns)} (bound {most})"
    if bound_ns > TENTH_NS:
        words += ": tenths of a second cannot be told apart, and are not kept"
    return Finding("clocks", bound_ns <= CLOCK_BOUND_NS_MAX, "warning", words)


def _witness(run: RunNumbers) -> Finding | None:
    if not run.witness_missing:
        return None
    words = "not tested: no session of its own beside the load, whose times could have been compared"
    return Finding("witness", None, "note", words)


def _event_log(run: RunNumbers) -> Finding | None:
    if run.logged is None:
        return None
    words = f"{count_words(run.logged)} operations were written to the event log one by one"
    cost = (
        "" if run.log_cpu_us_per_op is None else f"; it cost the client {run.log_cpu_us_per_op:.2g} us of CPU for each"
    )
    if run.not_logged:
        words = f"{words}, and {count_words(run.not_logged)} were not: it could not keep up, or the disk was full{cost}"
        return Finding("event log", False, "warning", words)
    return Finding("event log", True, "note", f"{words}, all of them{cost}")


def _steady(run: RunNumbers) -> Finding:
    if run.steady is None:
        return Finding("steady state", None, "note", "not tested: no values second by second")
    severity: Severity = "note" if run.steady.ok is None else "warning"
    return Finding("steady state", run.steady.ok, severity, run.steady.words)


def _connections(run: RunNumbers) -> Finding | None:
    if run.connections_lost == 0:
        return None
    words = f"{counted(run.connections_lost, 'connection was', 'connections were')} lost"
    if run.faults:
        return Finding("connections", False, "note", f"{words}; faults were planned")
    return Finding("connections", False, "warning", words)


def _lateness(run: RunNumbers) -> Finding | None:
    late, response = run.lateness_p99_ns, run.response_p99_ns
    if late is None or not response:
        return None
    share = late / response
    words = (
        f"operations began up to {duration_words(late)} late (p99), {percent_words(share)} of the response time at p99,"
        " which counts from when they were due"
    )
    return Finding("lateness", share <= LATENESS_RATIO_MAX or late < LATENESS_NS_MIN, "warning", words)


def _out_of_range(run: RunNumbers) -> Finding | None:
    if run.out_of_range == 0:
        return None
    one, many = "time was longer than an hour and is", "times were longer than an hour and are"
    words = f"{counted(run.out_of_range, one, many)} recorded as one hour"
    return Finding("range", False, "note", words)


def _swap(run: RunNumbers) -> Finding | None:
    if run.swapped_bytes is None:
        return None
    if run.swapped_bytes == 0:
        return Finding("swap", True, "warning", "no swapping")
    return Finding("swap", False, "warning", f"the machine swapped {count_words(run.swapped_bytes)} bytes")


def _steal(run: RunNumbers) -> Finding | None:
    return _share(run.steal_ratio, STEAL_RATIO_MAX, "steal", "of the CPU time was taken by the hypervisor")


def _neighbours(run: RunNumbers) -> Finding | None:
    if run.server_not_told_apart:
        words = (
            "not tested: the server seems to run on this machine, and its CPU time cannot be told from that of others"
        )
        return Finding("neighbours", None, "note", words)
    most_of_it = f", most to {run.other_process}" if run.other_process else ""
    what = f"of the CPU time went to other processes{most_of_it}"
    return _share(run.other_cpu_ratio, OTHER_CPU_RATIO_MAX, "neighbours", what)


def _beside(run: RunNumbers) -> Finding | None:
    if not run.beside:
        return None
    words = f"measured beside another bakeoff run ({'; '.join(run.beside)}): each slowed the other"
    return Finding("another run", False, "warning", words)


def _share(ratio: float | None, most: float, name: str, of_what: str) -> Finding | None:
    if ratio is None:
        return None
    words = f"{percent_words(ratio)} {of_what} (at most {percent_words(most)} is quiet)"
    return Finding(name, ratio <= most, "warning", words)


def _throttling(run: RunNumbers) -> Finding | None:
    if run.throttled_s is None:
        return None
    words = "no CPU throttling"
    if run.throttled_s > 0:
        words = f"the control group's share of the CPU was used up for {significant(run.throttled_s, 3)} s"
    return Finding("throttling", run.throttled_s <= 0, "warning", words)


def _quiet_disk(run: RunNumbers) -> Finding | None:
    if run.disk_was_quiet is None:
        return None
    if run.disk_was_quiet:
        return Finding("quiet disk", True, "warning", "all that was written before the run had reached the disk")
    words = "what was written before the run was still on its way to the disk when waiting for it ended"
    return Finding("quiet disk", False, "warning", words)


def _watching(run: RunNumbers) -> Finding | None:
    if not run.watching_failure:
        return None
    words = f"server and machine were not watched to the end ({run.watching_failure}): their figures are incomplete"
    return Finding("watching", False, "warning", words)


def _engine(run: RunNumbers) -> Finding | None:
    if not run.engine_warnings:
        return None
    more = f" (and {len(run.engine_warnings) - 1} more)" if len(run.engine_warnings) > 1 else ""
    severity: Severity = "note" if run.faults else "warning"
    return Finding("engine", False, severity, f"the engine warned: {run.engine_warnings[0]}{more}")


def _debt(run: RunNumbers) -> Finding | None:
    if run.debt_drained is None:
        return None
    if run.debt_drained:
        return Finding(
            "write-back debt", True, "note", "all that was written reached the disk and is charged to the run"
        )
    words = "work was still owed to the disk when waiting for it ended: the bytes written are too low"
    return Finding("write-back debt", False, "warning", words)


CHECKS: tuple[Callable[[RunNumbers], Finding | None], ...] = (
    _completed,
    _server_alive,
    _faults,
    _silences,
    _errors,
    _integrity,
    _wrong_answers,
    _overload,
    _client,
    _clients,
    _crowded,
    _clocks,
    _witness,
    _event_log,
    _steady,
    _connections,
    _lateness,
    _swap,
    _steal,
    _neighbours,
    _beside,
    _throttling,
    _quiet_disk,
    _watching,
    _engine,
    _debt,
    _unknown_outcomes,
    _revoked,
    _out_of_range,
)
