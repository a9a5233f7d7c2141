"""From what was recorded to what may be believed: one run's validity, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ..analysis.validity import client_limit, slow_clients, steady
from ..analysis.validity.checks import findings
from ..analysis.validity.run_numbers import RunNumbers
from ..analysis.wording import counted
from ..model.boundary import LoggedEvents, RunResult
from ..model.clients import THIS_MACHINE, ClientRecord
from ..model.records.run import ClientVerdict, MachineSide, NodeSilence, RunRecord, Validity
from ..plan.resolved import Cell, ResolvedPlan
from ..systems import SYSTEMS


def client_verdict(record: RunRecord, cell: Cell) -> ClientVerdict:
    """Machine by machine: what the server and others take of one says nothing of the clients on another."""
    machines = slow_clients.by_machine(record.clients)
    here = machines.pop(THIS_MACHINE, [])
    signs = client_limit.signs(_numbers_here(record, here, cell)) if here or not record.clients else []
    found = [
        f"on {machine}, {words}"
        for machine, there in machines.items()
        for words in client_limit.signs(_numbers_of(there))
    ]
    signs += found[: slow_clients.NAMED_MAX]
    if (more := len(found) - slow_clients.NAMED_MAX) > 0:
        signs.append(f"and clients on {counted(more, 'other machine', 'other machines')} were the limit, too")
    return ClientVerdict(client_limited=bool(signs), signs=signs)


def _numbers_here(record: RunRecord, theirs: Sequence[ClientRecord], cell: Cell) -> client_limit.ClientNumbers:
    """theirs: of those on this machine; none where all there is to know is the run's."""
    blocking = cell.runner_taken == "thread"
    embedded = SYSTEMS[cell.record.kind].capabilities().embedded
    workers = zip(record.workers_busy_ratio, record.workers_run_queue_delay_ratio, strict=True)
    return client_limit.ClientNumbers(
        workers=() if blocking else _workers(theirs) or [client_limit.WorkerNumbers(*worker) for worker in workers],
        shares_cores=record.shares_cores and not embedded,  # there is no server that could take them
        idle_ratio=record.machine.idle_ratio,
        client_cpu_s=sum(each.cpu_s for each in theirs) if theirs else record.client_cpu_s,
        server_cpu_s=record.server.cpu_s,
        harness_ratio=_harness_ratio(record, cell) if blocking and record.due is None else None,
    )


def _numbers_of(theirs: Sequence[ClientRecord]) -> client_limit.ClientNumbers:
    """Of a machine that none of our servers is on."""
    return client_limit.ClientNumbers(workers=_workers(theirs), client_cpu_s=sum(each.cpu_s for each in theirs))


def _workers(theirs: Sequence[ClientRecord]) -> list[client_limit.WorkerNumbers]:
    return [
        client_limit.WorkerNumbers(busy, delay)
        for each in theirs
        for busy, delay in zip(each.workers_busy_ratio, each.workers_run_queue_delay_ratio, strict=True)
    ]


def _harness_ratio(record: RunRecord, cell: Cell) -> float:
    """Of the threads' time in the window: outside of operations."""
    whole = (s.service for s in record.series if s.part_of is None)
    inside_ns = sum(service.mean_ns * service.count for service in whole)
    return 1.0 - inside_ns / max(1.0, record.window_s * 1e9 * cell.threads * cell.clients)


def validity(
    record: RunRecord,
    cell: Cell,
    plan: ResolvedPlan,
    results: Sequence[RunResult],
    seconds: Sequence[Mapping[str, Any]],
    server_alive: bool,
) -> list[Validity]:
    open_loop = record.due is not None
    least_known = slow_clients.least_known_clock(record.clients)
    machine = _measured_machine(record)
    numbers = RunNumbers(
        error_ratio=record.budgeted_error_ratio,
        error_budget_ratio=plan.record.error_budget_ratio,
        wrong=record.errors.get("wrong", 0),
        unknown=record.errors.get("unknown", 0),
        revoked=record.revoked,
        due=record.due,
        completed=record.completed,
        unfinished=record.unfinished,
        backlog=record.backlog,
        counted=sum(s.count for s in record.series if s.part_of is None),
        interrupted=any(r.interrupted for r in results),
        clients_expected=cell.clients,
        clients_reported=len(results),
        server_alive=server_alive,
        client_limited=record.verdict.client_limited,
        client_signs=record.verdict.signs,
        logged=sum(log.rows for log in record.event_log) if record.event_log else None,
        not_logged=sum(log.lost for log in record.event_log),
        log_cpu_us_per_op=_log_cpu_us_per_op(record.event_log),
        witness_missing=plan.measure.witness_rate_ops_per_s is not None and not record.witness,
        steady=steadiness(_before_faults(record, plan, seconds), open_loop=open_loop),
        checks=record.checks,
        connections_lost=_connections_lost(record, cell),
        lateness_p99_ns=record.lateness.p99_ns if open_loop and record.lateness.count else None,
        response_p99_ns=record.headline.p99_ns if open_loop and record.headline.count else None,
        out_of_range=record.headline.out_of_range,
        system=cell.record.system,
        window_s=record.window_s,
        swapped_bytes=machine.swapped_bytes,
        own_swapped_bytes=machine.own_swapped_bytes,
        stalled_s=machine.stalled_s,
        steal_ratio=record.steal_ratio,
        steal_of=slow_clients.most_stolen_from(record.clients),
        throttled_s=machine.throttled_s,
        throttled_others_ratio=machine.throttled_others_ratio,
        measured_here=bool(machine.cores),
        other_cpu_ratio=machine.other_cpu_ratio,
        other_process=machine.other_process,
        beside=record.beside if _is_measured_here(record) else [],
        server_not_told_apart=machine.server_not_told_apart,
        disk_was_quiet=record.disk_was_quiet,
        watching_failure=record.watching_failure,
        engine_warnings=record.engine_warnings,
        debt_drained=record.server.debt_drained if cell.workload.writes else None,
        faults=[fault.planned.words for fault in record.faults],
        fault_failures=[f"{fault.planned.words}: {fault.failure}" for fault in record.faults if fault.failure],
        silences=[_silence_words(silence) for silence in record.silences if not silence.planned],
        behind=_behind_words(record),
        crowded=slow_clients.crowded_words(record.clients),
        clock_bound_ns=least_known.clock_bound_ns if least_known else None,
        clock_of=least_known.machine if least_known else "",
    )
    return [Validity(**asdict(found)) for found in findings(numbers)]


def _is_measured_here(record: RunRecord) -> bool:
    """Whether a client or a server of the run was on this machine: else what goes on here disturbs nothing."""
    client_here = not record.clients or any(each.machine == THIS_MACHINE for each in record.clients)
    return client_here or record.server_is_here


def _behind_words(record: RunRecord) -> str | None:
    if len(record.clients) < 2:
        return None
    return slow_clients.behind_words(record.clients, server_is_here=record.server_is_here)


def _measured_machine(record: RunRecord) -> MachineSide:
    """This one, as far as it matters."""
    return record.machine if _is_measured_here(record) else MachineSide()


def _silence_words(silence: NodeSilence) -> str:
    until = "to its end" if silence.to_s is None else f"to second {silence.to_s:.0f}"
    return f"{silence.node} did not answer from second {silence.from_s:.0f} of the window {until}"


def _log_cpu_us_per_op(logs: Sequence[LoggedEvents]) -> float | None:
    cpu_ns, rows = sum(log.cpu_ns for log in logs), sum(log.rows for log in logs)
    return cpu_ns / 1000 / rows if cpu_ns and rows else None


def _before_faults(
    record: RunRecord, plan: ResolvedPlan, seconds: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """The seconds in which nothing had been done to a server yet: what follows is meant to be unsteady."""
    begun = [fault.begun_s for fault in record.faults if fault.begun_s is not None]
    return [row for row in seconds if not begun or row["second"] + 1 <= plan.warm_up_s + min(begun)]


def _connections_lost(record: RunRecord, cell: Cell) -> int:
    """Without those that the workload itself asked to have replaced."""
    if cell.workload.replaces_sessions:
        return record.connections_lost
    # A session that was given up after a timeout was replaced without having been told that it is lost.
    return max(record.connections_lost, record.reconnects)


def steadiness(seconds: Sequence[Mapping[str, Any]], *, open_loop: bool) -> steady.SteadyState | None:
    """Judged on the rate in a closed loop, on the mean response time in an open one (where the rate is given)."""
    whole = [row for row in seconds if not row["warm_up"] and row["length_s"] > 0.99]
    if not whole:
        return None
    rates = [float(row["rate_ops_per_s"]) for row in whole]
    times = [math.nan if row["mean_ms"] is None else float(row["mean_ms"]) for row in whole]
    return steady.judge(rates, response_ms=times if open_loop else None)


def started_again(system: str, words: str) -> Validity:
    """Of a server that was away before the run: what ended it may have touched the runs around it."""
    words = f"before this run of {system} {words}; started again: server.log of {system}'s run before may say why"
    return Validity(name="started again", severity="warning", ok=False, words=words)
