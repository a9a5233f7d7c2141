"""What may be believed of one run: from plain numbers to findings in words.

Four severities. `invalid`: the run counts against its system. `disturbed`: something else slowed it, and it is no
evidence (`disturbance`). `warning`: it is, and the words go with its figure. `note`: worth knowing. A finding with
ok = None was not tested, which is said and never passes for a yes.

`findings` asks every question in `CHECKS`, a visible list; a check answers None where its question does not arise.
"""

from collections.abc import Callable
from dataclasses import replace

from ..wording import count_words, counted, duration_words, percent_words
from . import disturbance
from .run_numbers import Finding, RunNumbers, Severity

# Completed, as a share of what fell due: below it the queue grows, and percentiles say only how long the window was.
COMPLETED_RATIO_MIN = 0.99
LATENESS_RATIO_MAX = 0.10
# Below it lateness is what a thread takes to wake, on any machine.
LATENESS_NS_MIN = 100_000

#: The check against the error budget.
ERRORS = "errors"
#: The check that stands for all of them where none could be made.
COULD_BE_CHECKED = "data could be checked after the run"


def findings(run: RunNumbers) -> list[Finding]:
    """Every check's answer, in the order of `CHECKS`."""
    return [_with_value(found, run) for check in CHECKS if (found := check(run)) is not None]


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
    disturbance.crowded,
    disturbance.clocks,
    _witness,
    _event_log,
    _steady,
    _connections,
    _lateness,
    disturbance.other_processes,
    disturbance.steal,
    disturbance.swapping,
    disturbance.throttling,
    disturbance.stall,
    disturbance.another_run,
    disturbance.quiet_disk,
    disturbance.watching,
    _engine,
    _debt,
    _unknown_outcomes,
    _revoked,
    _out_of_range,
)

#: How bad a finding is, more is worse, and how that is said: what a summary of many runs picks the worst by.
_VALUES: dict[str, tuple[Callable[[RunNumbers], float | None], Callable[[float], str]]] = {
    ERRORS: (lambda run: run.error_ratio, percent_words),
    "lateness": (lambda run: run.lateness_p99_ns, duration_words),
    "clocks": (lambda run: run.clock_bound_ns, duration_words),
    "offered rate": (lambda run: max(0.0, 1 - run.completed / run.due) if run.due else None, percent_words),
    "connections": (lambda run: run.connections_lost, lambda count: count_words(round(count))),
    "event log": (lambda run: run.not_logged, lambda count: count_words(round(count))),
}


def _with_value(found: Finding, run: RunNumbers) -> Finding:
    if found.value is not None or found.name not in _VALUES:
        return found
    value_of, words = _VALUES[found.name]
    value = value_of(run)
    return found if value is None else replace(found, value=float(value), value_words=words(value))
