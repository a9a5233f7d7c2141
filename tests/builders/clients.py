"""Runs of several clients: what was one, shared out to the count."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bakeoff.analysis.histograms import Histogram, to_document, to_hdr
from bakeoff.analysis.percentiles import decode
from bakeoff.analysis.validity.slow_clients import behind_words
from bakeoff.model.clients import ClientRecord
from bakeoff.model.records.run import RunRecord, Validity


def shared_out(run: RunRecord, machines: Sequence[str], shares: Sequence[float] = ()) -> RunRecord:
    """The run as that of one client on each of the machines named. shares: of the work; none: all the same."""
    weights = np.array(shares or [1.0] * len(machines))
    edges = np.concatenate([[0.0], np.cumsum(weights) / weights.sum()])
    times = decode(run.headline)
    reached = [np.floor(times.counts * edge + 1e-9).astype(np.int64) for edge in edges]
    ok = [int(run.ok * edge + 1e-9) for edge in edges]
    clients = []
    for number, machine in enumerate(machines):
        counts = reached[number + 1] - reached[number]
        held = counts > 0
        own = ok[number + 1] - ok[number]
        clients.append(
            ClientRecord(
                number=number,
                machine=machine,
                cores=4,
                rate_ops_per_s=own / run.window_s,
                ok=own,
                completed=int(run.completed * edges[number + 1] + 1e-9) - int(run.completed * edges[number] + 1e-9),
                headline=to_document(Histogram.from_hdr(to_hdr(Histogram(times.indices[held], counts[held])))),
                errors={} if number else run.errors,
                failures=0 if number else run.failures,
                cpu_s=run.client_cpu_s * weights[number] / weights.sum(),
                memory_peak_bytes=18 << 20,
                workers_busy_ratio=[0.4],
                workers_run_queue_delay_ratio=[0.01],
                round_trip_ns=210_000,
                server_round_trip_ns={"server": 180_000},
                clock_offset_ns=36_000_000_000_000 * (1 + sorted(set(machines)).index(machine)),
                clock_bound_ns=120_000,
                start_late_ns=4_000,
            )
        )
    return run.model_copy(update={"clients": clients})


HALF = "50 % of the throughput of the others"


def slowed(run: RunRecord, machines: Sequence[str], slow: Sequence[int]) -> RunRecord:
    """As `shared_out`, with half of the others' work for each of the `slow` clients, which are said to be behind."""
    run = shared_out(run, machines, [0.5 if number in slow else 1.0 for number in range(len(machines))])
    told = {"behind": HALF, "signs": ["a worker worked 97 % of the window"], "workers_busy_ratio": [0.97]}
    clients = [c.model_copy(update=told) if c.number in slow else c for c in run.clients]
    finding = Validity(name="clients", severity="warning", ok=False, words=behind_words(clients, server_is_here=False))
    return run.model_copy(update={"clients": clients, "validity": [*run.validity, finding] if slow else run.validity})
