"""What is kept of each client of a run: its own figures, where it ran, and whether it kept up with the others."""

from __future__ import annotations

import os
from collections.abc import Sequence

import numpy as np

from ..analysis.behind import FloatArray, behind_in_rate, behind_in_response
from ..analysis.clients import signs
from ..fleet.host import Place
from ..model.boundary import Interval, RunResult
from ..model.clients import THIS_MACHINE, ClientRecord
from .merge import merge_results

_TENTHS = 10


def client_records(
    results: Sequence[RunResult],
    places: Sequence[Place],
    intervals: Sequence[Sequence[Interval]],
    cores: Sequence[int],
    *,
    open_loop: bool,
) -> list[ClientRecord]:
    """All three by client. cores: those of this machine that clients may use, empty: all. A single client here is not
    told of twice: all that is known of it is the run's."""
    if len(results) == 1 and places[0].is_here:
        return []
    here = len(cores) or len(os.sched_getaffinity(0))
    pairs = enumerate(zip(results, places, strict=True))
    records = [_record(number, result, place, here, open_loop=open_loop) for number, (result, place) in pairs]
    return _with_behind(records, intervals, open_loop=open_loop)


def machine_of(place: Place) -> str:
    """A worker on this machine is no other machine, whatever it is called."""
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
    records: list[ClientRecord], intervals: Sequence[Sequence[Interval]], *, open_loop: bool
) -> list[ClientRecord]:
    windows = [[i for i in sorted(own, key=lambda i: i.second) if not i.warm_up] for own in intervals]
    found = behind_in_response(*_seconds(windows)) if open_loop else []
    words = {each.client: each.words for each in [*found, *behind_in_rate(_ended(windows))]}
    kept_up = [record for record in records if record.number not in words]
    return [
        record.model_copy(update={"behind": words[record.number], "signs": signs(record, kept_up)})
        if record.number in words
        else record
        for record in records
    ]


def _ended(windows: Sequence[Sequence[Interval]]) -> FloatArray:
    """Operations that ended ok, by client and tenth of a second, for as long as all clients had a window."""
    return _even([[count for i in own for count in i.tenths.ok[: round(_TENTHS * i.length_s)]] for own in windows])


def _seconds(windows: Sequence[Sequence[Interval]]) -> tuple[FloatArray, FloatArray]:
    """Of what ended ok, by client and second: how many, and their mean response time in ns."""
    ok = [[[s.response for s in i.series if not s.part and s.outcome == "ok"] for i in own] for own in windows]
    counts = _even([[sum(h.count for h in second) for second in own] for own in ok])
    sums = _even([[sum(h.mean_ns * h.count for h in second) for second in own] for own in ok])
    return counts, sums / np.maximum(counts, 1)


def _even(rows: Sequence[Sequence[float]]) -> FloatArray:
    return np.array([row[: min(map(len, rows))] for row in rows], dtype=float)
