"""What may be believed of one run: from plain numbers to findings in words.

Four severities. `invalid`: the run counts against its system. `disturbed`: something else slowed it, and it is no
evidence (`disturbance`). `warning`: it is, and the words go with its figure. `note`: worth knowing. A finding with
ok = None was not tested, which is said and never passes for a yes.

`findings` asks every question in `CHECKS`, a visible list; a check answers None where its question does not arise.
"""

from collections.abc import Callable, Sequence

from ...model.boundary import LoggedEvents
from ...model.records.run import NodeSilence, RunRecord, Severity, Validity
from ..wording import count_words, counted, duration_words, percent_words
from . import disturbance, slow_clients
from .judged_run import JudgedRun, finding

# Completed, as a share of what fell due: below it a queue grew, and percentiles say only how long the window was.
COMPLETED_RATIO_MIN = 0.99
LATENESS_RATIO_MAX = 0.10
# Below it lateness is what a thread takes to wake, on any machine.
LATENESS_NS_MIN = 100_000
#: Beyond it what clients of several machines did in one second is not what they did at the same time.
CLOCK_BOUND_NS_MAX = 10_000_000
#: What the series tells apart at best: tenths of a second.
TENTH_NS = 100_000_000

#: The check against the error budget.
ERRORS = "errors"
OPERATIONS = "operations"
#: The check that stands for all of them where none could be made.
COULD_BE_CHECKED = "data could be checked after the run"


def findings(run: JudgedRun) -> list[Validity]:
    """Every check's answer, in the order of `CHECKS`."""
    return [found for check in CHECKS if (found := check(run)) is not None]


def overloaded(due: int | None, completed: int, backlog: int) -> bool:
    """Whether the queue grew in the window of an open loop: then no percentile may lead a report.

    due: operations that fell due in it, None in a closed loop. completed: that ended in it, of whatever outcome and
    whenever they fell due, because a failure and what straddles an edge of the window leave no queue behind. backlog:
    that were due and not begun when it ended. Operations in flight are no queue: in a window of few operations the
    threads of a client that keeps up hold more than 1 % of them. A backlog of which as much was there when the window
    began did not grow.
    """
    return due is not None and min(due - completed, backlog) > (1 - COMPLETED_RATIO_MIN) * due


def _completed(run: JudgedRun) -> Validity:
    if run.interrupted:
        return finding("completed", False, "invalid", "interrupted before its window was over")
    if run.clients_reported < run.clients_expected:
        words = f"only {run.clients_reported} of {run.clients_expected} clients reported"
        return finding("completed", False, "invalid", words)
    return finding("completed", True, "invalid", "ran to its end")


def _server_alive(run: JudgedRun) -> Validity | None:
    if run.server_alive is None:
        return None
    words = "the server lived through the run" if run.server_alive else "the server died or froze during the run"
    return finding("server", run.server_alive, "invalid", words)


def _errors(run: JudgedRun) -> Validity:
    if run.counted == 0:
        words = "no operation that counts ended in the window"
        if run.record.due == 0:
            words = "nothing fell due in the window: raise the rate, or make the window longer"
        return finding(OPERATIONS, False, "invalid", words)
    return errors_within(run.record, run.error_budget_ratio)


def errors_within(run: RunRecord, budget: float) -> Validity:
    """The one finding of a run that is the plan's judgement: another budget, a share, may change it."""
    ratio = run.budgeted_error_ratio
    where, share = " outside of the planned faults" if run.faults else "", percent_words(ratio)
    figures = f"{share} of the operations{where} did not end ok; the budget is {percent_words(budget)}"
    return finding(ERRORS, ratio <= budget, "invalid", figures if ratio else f"no errors{where}", ratio, share)


def _faults(run: JudgedRun) -> Validity | None:
    faults = run.record.faults
    if not faults:
        return None
    for fault in faults:
        if fault.failure:
            words = f"a fault was not carried out as planned: {fault.planned.words}: {fault.failure}"
            return finding("planned faults", False, "invalid", words)
    words = "; ".join(fault.planned.words for fault in faults)
    return finding("planned faults", True, "note", f"as planned: {words}")


def _silences(run: JudgedRun) -> Validity | None:
    words = "; ".join(_silence_words(silence) for silence in run.record.silences if not silence.planned)
    return finding("nodes", False, "warning", f"{words}, and nobody had planned that") if words else None


def _silence_words(silence: NodeSilence) -> str:
    until = "to its end" if silence.to_s is None else f"to second {silence.to_s:.0f}"
    return f"{silence.node} did not answer from second {silence.from_s:.0f} of the window {until}"


def _integrity(run: JudgedRun) -> Validity:
    checks = run.record.checks
    if not checks:
        return finding("integrity", None, "note", "not tested: the workload has no invariants")
    broken = [check for check in checks if not check.ok]
    if not broken:
        return finding("integrity", True, "invalid", f"all {len(checks)} checks of the data held")
    first = broken[0]
    if first.name == COULD_BE_CHECKED:
        words = f"the data could not be checked after the run: {first.actual}"
        return finding("integrity", False, "invalid", words)
    words = f"{len(broken)} of {len(checks)} checks of the data failed, first {first.name}"
    return finding("integrity", False, "invalid", f"{words}: expected {first.expected}, found {first.actual}")


def _wrong_answers(run: JudgedRun) -> Validity | None:
    wrong = run.record.errors.get("wrong", 0)
    if not wrong:
        return None
    words = f"{_operations(wrong)} acknowledged with a wrong answer; no budget allows for that"
    return finding("wrong answers", False, "invalid", words)


def _unknown_outcomes(run: JudgedRun) -> Validity | None:
    unknown = run.record.errors.get("unknown", 0)
    if not unknown:
        return None
    lost = counted(unknown, "operation timed out or lost its", "operations timed out or lost their")
    words = f"{lost} connection: perhaps applied, perhaps not"
    return finding("unknown outcomes", False, "note", words)


def _operations(count: int) -> str:
    return counted(count, "operation was", "operations were")


def _revoked(run: JudgedRun) -> Validity | None:
    revoked = run.record.revoked
    if not revoked:
        return None
    words = f"{_operations(revoked)} taken back: {'its' if revoked == 1 else 'their'} transaction did not commit"
    return finding("revoked", False, "note", words)


def _overload(run: JudgedRun) -> Validity | None:
    due, completed = run.record.due, run.record.completed
    if due is None:
        return None
    late = overloaded(due, completed, run.record.backlog)
    share = f" ({percent_words(completed / due, digits=3)})" if due else ""
    words = f"{count_words(completed)} operations ended while {count_words(due)} fell due{share}"
    if late:
        unfinished, backlog = count_words(run.record.unfinished), count_words(run.record.backlog)
        left = f"{unfinished} unfinished, {backlog} not begun when the window ended"
        if completed > run.counted:
            left = f"{count_words(completed - run.counted)} of them had fallen due in the warm-up; {left}"
        words = f"overloaded: {words}; {left}; percentiles are not stated"
    elif overloaded(due, completed, due):
        waiting = f"{count_words(run.record.backlog)} had not begun" if run.record.backlog else "none was waiting"
        words = f"{words}: {count_words(run.record.unfinished)} were in flight when the window ended, {waiting}"
    if not due:
        return finding("offered rate", not late, "warning", words)
    missing = max(0.0, 1 - completed / due)
    return finding("offered rate", not late, "warning", words, missing, percent_words(missing))


def _client(run: JudgedRun) -> Validity:
    if not run.record.verdict.client_limited:
        return finding("client", True, "warning", "no sign that the client was the limit")
    signs = "; ".join(run.record.verdict.signs) or "no details"
    words = f"the client may have been the limit ({signs}): the figure shows what this client could send at most"
    return finding("client", False, "warning", words)


def _clients(run: JudgedRun) -> Validity | None:
    if len(run.record.clients) < 2:
        return None
    behind = slow_clients.behind_words(run.record.clients, server_is_here=run.record.server_is_here)
    return finding("clients", not behind, "warning", behind or "no client was slower than the others")


def _crowded(run: JudgedRun) -> Validity | None:
    words = slow_clients.crowded_words(run.record.clients)
    return finding("clients to a core", False, "warning", words) if words else None


def _clocks(run: JudgedRun) -> Validity | None:
    least_known = slow_clients.least_known_clock(run.record.clients)
    if least_known is None:
        return None
    bound_ns, bound = least_known.clock_bound_ns, duration_words(least_known.clock_bound_ns)
    most = duration_words(CLOCK_BOUND_NS_MAX)
    words = f"the clock of {least_known.machine} is known to within {bound} (bound {most})"
    if bound_ns > TENTH_NS:
        words += ": tenths of a second cannot be distinguished, and are not kept"
    return finding("clocks", bound_ns <= CLOCK_BOUND_NS_MAX, "warning", words, float(bound_ns), bound)


def _latency_probe(run: JudgedRun) -> Validity | None:
    if not run.latency_probe or run.record.latency_probe:
        return None
    words = "not tested: no latency probe ran alongside the load"
    return finding("latency probe", None, "note", words)


def _event_log(run: JudgedRun) -> Validity | None:
    logs = run.record.event_log
    if not logs:
        return None
    lost, cpu_us = sum(log.lost for log in logs), _log_cpu_us_per_op(logs)
    words = f"{count_words(sum(log.rows for log in logs))} operations were written to the event log one by one"
    cost = f"; it cost the client {cpu_us:.2g} us of CPU for each" if cpu_us else ""
    figure = float(lost), count_words(lost)
    if lost:
        words = f"{words}, and {count_words(lost)} were not: it could not keep up, or the disk was full{cost}"
        return finding("event log", False, "warning", words, *figure)
    return finding("event log", True, "note", f"{words}, all of them{cost}", *figure)


def _log_cpu_us_per_op(logs: Sequence[LoggedEvents]) -> float | None:
    cpu_ns, rows = sum(log.cpu_ns for log in logs), sum(log.rows for log in logs)
    return cpu_ns / 1000 / rows if cpu_ns and rows else None


def _steady(run: JudgedRun) -> Validity:
    if run.staged:
        return finding("steady state", None, "note", "not tested: the plan changes the rate")
    if run.steady is None:
        return finding("steady state", None, "note", "not tested: no values second by second")
    severity: Severity = "note" if run.steady.ok is None else "warning"
    return finding("steady state", run.steady.ok, severity, run.steady.words)


def _connections(run: JudgedRun) -> Validity | None:
    lost = run.connections_lost
    if not lost:
        return None
    words = f"{counted(lost, 'connection was', 'connections were')} lost"
    severity: Severity = "note" if run.record.faults else "warning"
    planned = "; faults were planned" if run.record.faults else ""
    return finding("connections", False, severity, f"{words}{planned}", float(lost), count_words(lost))


def _lateness(run: JudgedRun) -> Validity | None:
    """Of an open loop."""
    late, response = run.record.lateness, run.record.headline
    if run.record.due is None or not late.count or not response.count or not response.p99_ns:
        return None
    share, late_words = late.p99_ns / response.p99_ns, duration_words(late.p99_ns)
    words = (
        f"the client began 1 in 100 operations at least {late_words} late ({percent_words(share)} of the p99 response"
        " time, which counts from when they were due)"
    )
    ok = share <= LATENESS_RATIO_MAX or late.p99_ns < LATENESS_NS_MIN
    return finding("lateness", ok, "warning", words, float(late.p99_ns), late_words)


def _quiet_disk(run: JudgedRun) -> Validity | None:
    quiet = run.record.disk_was_quiet
    if quiet is None:
        return None
    words = "the disk was still busy with earlier writes when the wait for them ended"
    if quiet:
        words = "all that was written before the run had reached the disk"
    return finding("quiet disk", quiet, "warning", words)


def _watching(run: JudgedRun) -> Validity | None:
    why = run.record.watching_failure
    words = f"server and machine were not watched to the end ({why}): their figures are incomplete"
    return finding("watching", False, "warning", words) if why else None


def _out_of_range(run: JudgedRun) -> Validity | None:
    count = run.record.headline.out_of_range
    one, many = "time was longer than an hour and is", "times were longer than an hour and are"
    return finding("range", False, "note", f"{counted(count, one, many)} recorded as one hour") if count else None


def _engine(run: JudgedRun) -> Validity | None:
    warnings = run.record.engine_warnings
    if not warnings:
        return None
    more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
    severity: Severity = "note" if run.record.faults else "warning"
    return finding("engine", False, severity, f"the engine warned: {warnings[0]}{more}")


def _debt(run: JudgedRun) -> Validity | None:
    drained = run.record.server.debt_drained
    if drained is None or not run.writes:
        return None
    if drained:
        words = "all that was written reached the disk and is charged to the run"
        return finding("write-back debt", True, "note", words)
    words = "work was still owed to the disk when waiting for it ended: the bytes written are too low"
    return finding("write-back debt", False, "warning", words)


CHECKS: tuple[Callable[[JudgedRun], Validity | None], ...] = (
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
    _latency_probe,
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
    _quiet_disk,
    _watching,
    _engine,
    _debt,
    _unknown_outcomes,
    _revoked,
    _out_of_range,
)
