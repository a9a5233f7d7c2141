"""The record of one run and of each of its clients: figures from the results, and the validity checks."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..analysis.percentiles import operation_summaries, percentiles
from ..analysis.validity import client_limit, slow_clients, steady
from ..analysis.validity.checks import findings, overloaded
from ..analysis.validity.judged_run import JudgedRun
from ..analysis.validity.slow_clients import FloatArray, behind_in_rate, behind_in_response, signs
from ..analysis.wording import counted
from ..errors import BakeoffError
from ..fleet.engines import ClientsLost, Place
from ..model.boundary import Check, Open, Ready, RunResult
from ..model.clients import THIS_MACHINE, ClientRecord
from ..model.faults import FaultRecord
from ..model.records.run import ClientVerdict, RunRecord, ServerSide, Validity
from ..plan.resolved import Cell, ResolvedPlan
from ..systems import SYSTEMS
from .merge import Merged, merge_results
from .nodes import silences
from .run_order import Slot
from .sampler import Sampler
from .seconds import ClientSeconds, RatedSecond, Seconds

#: Fields that a record has from the merged results, and those that it adds up over clients.
_OF_ALL = (
    *("window_s", "rate_ops_per_s", "completed", "ok", "ok_from_warm_up", "revoked", "error_ratio", "headline"),
    *("series", "nodes", "queries", "capacity_units", "lateness", "pool_wait", "unfinished_by_operation"),
    "user_bytes_written",
)
_SUMMED = ("retries", "retries_after_conflict", "reconnects", "connections_lost")


@dataclass
class Measured:
    """Results of the measured phase, before they are judged."""

    ready: list[Ready]
    results: list[RunResult]
    places: list[Place]
    seconds: Seconds
    sampler: Sampler
    faults: list[FaultRecord]
    warnings: list[str]
    alive_after: bool
    concurrent_runs: list[str]


def record(
    slot: Slot,
    cell: Cell,
    plan: ResolvedPlan,
    started: str,
    measured: Measured,
    merged: Merged,
    server: ServerSide,
    checks: list[Check],
) -> RunRecord:
    results = measured.results
    errors = merged.errors
    # What fell due, not the requested rate: Poisson arrivals differ from their mean in a short window.
    due = merged.due if isinstance(cell.pacing, Open) else None
    client_cpu_s = sum(r.cost.cpu_user_s + r.cost.cpu_system_s for r in results)
    failures = sum(count for outcome, count in errors.items() if outcome not in ("unknown", "revoked"))
    return RunRecord(
        **_place(slot),
        **{name: getattr(merged, name) for name in _OF_ALL},
        **{name: sum(getattr(result, name) for result in results) for name in _SUMMED},
        started=started,
        state="done",
        seed=results[0].seed,
        offered_ops_per_s=None if due is None else due / merged.window_s,
        due=due,
        errors=errors,
        response=percentiles(merged.distribution, overloaded=overloaded(due, merged.completed, merged.backlog.count)),
        failures=failures,
        operations=operation_summaries([merged]),
        unfinished=merged.unfinished.count,
        backlog=merged.backlog.count,
        backlog_ages=merged.backlog,
        silences=silences(measured.sampler.silences(), measured.faults),
        error_samples=[sample for r in results for sample in r.errors][:20],
        stream_hashes=[text for r in results for text in r.stream_hashes],
        connect_s=max(r.connect_s for r in measured.ready),
        client_cpu_s=client_cpu_s,
        client_memory_peak_bytes=sum(r.cost.memory_peak_bytes for r in results),
        client_cpu_us_per_op=client_cpu_s * 1e6 / merged.achieved if merged.achieved else None,
        server_cpu_us_per_op=server.cpu_s * 1e6 / merged.achieved
        if merged.achieved and server.cpu_s is not None
        else None,
        workers_busy_ratio=[w.busy_ratio for r in results for w in r.cost.workers],
        workers_run_queue_delay_ratio=[w.run_queue_delay_ratio for r in results for w in r.cost.workers],
        steal_ratio=max(r.cost.steal_ratio for r in results),
        latency_probe=[r.latency_probe for r in results if r.latency_probe is not None],
        staleness_probe=results[0].staleness_probe,
        event_log=[r.event_log for r in results if r.event_log is not None],
        server=server,
        machine=measured.sampler.machine(),
        concurrent_runs=measured.concurrent_runs,
        watching_failure=measured.sampler.failure,
        engine_warnings=measured.warnings,
        evidence=[r.evidence for r in results],
        checks=checks,
        validity=[],
        client=measured.ready[0].client,
        runner=measured.ready[0].runner,
        io=measured.ready[0].io or "",
        engine_version=measured.ready[0].engine_version,
        rerun=f"bakeoff-engine --now runs/{slot.run}/run.json",
    )


def _place(slot: Slot) -> dict[str, Any]:
    return {"id": slot.run, **asdict(slot)}


def failed(slot: Slot, started: str, error: BakeoffError, plan: ResolvedPlan) -> RunRecord:
    """The record of a run that could not be completed: it stays in the bundle, with its reason, and is not compared."""
    return RunRecord(
        **_place(slot),
        started=started,
        state="failed",
        failure=f"{error}; hint: {error.hint}" if error.hint else str(error),
        failed_by="infrastructure" if isinstance(error, ClientsLost) else "system",
        seed=plan.record.seed,
    )


def client_records(
    results: Sequence[RunResult],
    places: Sequence[Place],
    seconds: Sequence[ClientSeconds],
    cores: Sequence[int],
    *,
    open_loop: bool,
) -> list[ClientRecord]:
    """All three by client. cores: those of this machine that clients may use, empty: all. A single client here needs no
    record: its figures are the run's."""
    if len(results) == 1 and places[0].is_here:
        return []
    here = len(cores) or len(os.sched_getaffinity(0))
    pairs = enumerate(zip(results, places, strict=True))
    records = [_record(number, result, place, here, open_loop=open_loop) for number, (result, place) in pairs]
    return _with_behind(records, seconds, open_loop=open_loop)


def machine_of(place: Place) -> str:
    """A worker on this machine is not another machine, whatever its name."""
    return THIS_MACHINE if place.is_here else place.machine


def _record(number: int, result: RunResult, place: Place, here: int, *, open_loop: bool) -> ClientRecord:
    merged, cost = merge_results([result]), result.cost
    return ClientRecord(
        number=number,
        machine=machine_of(place),
        load_machine=place.machine if place.is_here and place.machine != THIS_MACHINE else "",
        cores=here if place.is_here else place.cores,
        rate_ops_per_s=merged.rate_ops_per_s,
        due=merged.due if open_loop else None,
        completed=merged.completed,
        ok=merged.ok,
        errors=merged.errors,
        failures=merged.distribution.failed,
        headline=merged.headline,
        cpu_s=cost.cpu_user_s + cost.cpu_system_s,
        memory_peak_bytes=cost.memory_peak_bytes,
        workers_busy_ratio=[worker.busy_ratio for worker in cost.workers],
        workers_run_queue_delay_ratio=[worker.run_queue_delay_ratio for worker in cost.workers],
        steal_ratio=cost.steal_ratio,
        start_late_ns=place.start_late_ns,
        clock_offset_ns=place.clock_offset_ns,
        clock_bound_ns=place.clock_bound_ns,
        round_trip_ns=place.round_trip_ns,
        server_round_trip_ns=place.server_round_trip_ns,
    )


def _with_behind(
    records: list[ClientRecord], seconds: Sequence[ClientSeconds], *, open_loop: bool
) -> list[ClientRecord]:
    """By client and second (or tenth of one), for as long as all clients had a window."""
    counts, sums = _even([each.ok for each in seconds]), _even([each.response_ns for each in seconds])
    found = behind_in_response(counts, sums / np.maximum(counts, 1)) if open_loop else []
    ended = _even([each.tenths for each in seconds])
    words = {each.client: each.words for each in [*found, *behind_in_rate(ended)]}
    kept_up = [record for record in records if record.number not in words]
    return [
        record.model_copy(update={"behind": words[record.number], "signs": signs(record, kept_up)})
        if record.number in words
        else record
        for record in records
    ]


def _even(rows: Sequence[Sequence[float]]) -> FloatArray:
    return np.array([row[: min(map(len, rows))] for row in rows], dtype=float)


def client_verdict(record: RunRecord, cell: Cell) -> ClientVerdict:
    """By machine: what the server and other processes use of one says nothing about clients on another."""
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
    """theirs: of the clients on this machine; empty if the run's figures are all."""
    blocking = cell.runner_taken == "thread"
    embedded = SYSTEMS[cell.record.kind].capabilities().embedded
    workers = zip(record.workers_busy_ratio, record.workers_run_queue_delay_ratio, strict=True)
    return client_limit.ClientNumbers(
        workers=() if blocking else _workers(theirs) or [client_limit.WorkerNumbers(*worker) for worker in workers],
        shares_cores=record.shares_cores and not embedded,  # no server could use them
        idle_ratio=record.machine.idle_ratio,
        client_cpu_s=sum(each.cpu_s for each in theirs) if theirs else record.client_cpu_s,
        server_cpu_s=record.server.cpu_s,
        harness_ratio=_harness_ratio(record, cell) if blocking and record.due is None and not cell.pauses else None,
        others_ratio=record.machine.other_cpu_ratio,
    )


def _numbers_of(theirs: Sequence[ClientRecord]) -> client_limit.ClientNumbers:
    """For a machine without a managed server."""
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
    seconds: Sequence[RatedSecond],
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
        latency_probe=plan.measure.latency_probe_rate_ops_per_s is not None,
        replaces_sessions=cell.workload.replaces_sessions,
        writes=cell.workload.writes,
        steady=steadiness(_before_faults(record, plan, seconds), open_loop=record.due is not None),
        staged=isinstance(cell.pacing, Open) and bool(cell.pacing.stages),
    )
    return findings(run)


def _before_faults(record: RunRecord, plan: ResolvedPlan, seconds: Sequence[RatedSecond]) -> Sequence[RatedSecond]:
    """The seconds before the first fault: later ones are meant to be unsteady."""
    begun = [fault.begun_s for fault in record.faults if fault.begun_s is not None]
    return [one for one in seconds if not begun or one.second + 1 <= plan.warm_up_s + min(begun)]


def steadiness(seconds: Sequence[RatedSecond], *, open_loop: bool) -> steady.SteadyState | None:
    """Judged on the rate in a closed loop, on the mean response time in an open one (where the rate is given)."""
    whole = [one for one in seconds if not one.warm_up and one.length_s > 0.99]
    if not whole:
        return None
    times = [math.nan if one.mean_ms is None else one.mean_ms for one in whole]
    return steady.judge([one.rate_ops_per_s for one in whole], response_ms=times if open_loop else None)


def started_again(system: str, words: str) -> Validity:
    """For a server that had ended before the run: the cause may have affected the runs around it."""
    words = f"before this run of {system} {words}; restarted: server.log of {system}'s run before may say why"
    return Validity(name="started again", severity="warning", ok=False, words=words)
