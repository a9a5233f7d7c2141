"""From what was recorded to what may be believed: one run's validity, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis.validity import client_limit, slow_clients, steady
from ..analysis.validity.checks import findings
from ..analysis.validity.judged_run import JudgedRun
from ..analysis.wording import counted
from ..model.boundary import RunResult
from ..model.clients import THIS_MACHINE, ClientRecord
from ..model.records.run import ClientVerdict, RunRecord, Validity
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
    run = JudgedRun(
        record,
        plan.record.error_budget_ratio,
        system=cell.record.system,
        clients_expected=cell.clients,
        clients_reported=len(results),
        interrupted=any(r.interrupted for r in results),
        server_alive=server_alive,
        latency_probe=plan.measure.witness_rate_ops_per_s is not None,
        replaces_sessions=cell.workload.replaces_sessions,
        writes=cell.workload.writes,
        steady=steadiness(_before_faults(record, plan, seconds), open_loop=record.due is not None),
    )
    return findings(run)


def _before_faults(
    record: RunRecord, plan: ResolvedPlan, seconds: Sequence[Mapping[str, Any]]
) -> Sequence[Mapping[str, Any]]:
    """The seconds in which nothing had been done to a server yet: what follows is meant to be unsteady."""
    begun = [fault.begun_s for fault in record.faults if fault.begun_s is not None]
    return [row for row in seconds if not begun or row["second"] + 1 <= plan.warm_up_s + min(begun)]


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
