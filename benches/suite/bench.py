"""The rounds of a row: every client once, in random order, on the same tables."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bakeoff.errors import BakeoffError

from .client import Client, Job, Tables
from .counters import syscalls_per_s
from .ours import ACCOUNTS_PER_SCALE, Engine, workers
from .pairs import Interval, median, ratio_interval, shuffled_rounds
from .rows import PGBENCH_SCALE, WORKS, Row, Work
from .server import Server
from .window import Sample, measure, measure_rate_beside

#: Beyond this the client's own figures and those taken from outside are said to disagree.
DISAGREEMENT_MAX = 0.01


@dataclass(frozen=True)
class Options:
    rounds: int
    window_s: float
    warm_up_s: int
    rows: int
    distribution: str
    seed: int


@dataclass(frozen=True)
class Comparison:
    """A client against its peer, round by round: ratios, below 1 means that the client has less."""

    client: str
    peer: str
    client_cpu: Interval
    total_cpu: Interval
    rate: Interval


@dataclass(frozen=True)
class RowResult:
    row: Row
    placement: str
    #: By client, one per round; the n-th of all are of the same round.
    samples: dict[str, list[Sample]]
    comparisons: list[Comparison]

    def mid(self, client: str, figure: str) -> float | None:
        values = [value for sample in self.samples[client] if (value := getattr(sample, figure)) is not None]
        return median(values) if values else None

    def shown(self, client: str) -> str:
        """Its name; with what it chose, where it had the choice."""
        chosen = dict.fromkeys(sample.io for sample in self.samples[client] if sample.io and sample.io not in client)
        return f"{client} ({', '.join(chosen)})" if chosen else client

    def disagreements(self) -> dict[str, float]:
        """By client and figure, the median over rounds, where it is more than what is borne."""
        found = {}
        for name, samples in self.samples.items():
            each = [sample.disagreements() for sample in samples]
            for figure in each[0]:
                middle = median([one[figure] for one in each])
                if abs(middle) > DISAGREEMENT_MAX:
                    found[f"{name}, {figure}"] = middle
        return found


class Bench:
    """The rows of one server. clients: the first one makes the tables. against: pairs of names, client and peer."""

    def __init__(
        self,
        server: Server,
        clients: Sequence[Client],
        against: Sequence[tuple[str, str]],
        options: Options,
        say: Callable[[str], None],
    ) -> None:
        self.server = server
        self.clients = {client.name: client for client in clients}
        self.against = list(against)
        self.options = options
        self.say = say
        self._results: dict[Row, RowResult] = {}
        self._loaded: Tables | None = None
        self._own_loaded: set[str] = set()

    def result(self, row: Row) -> RowResult:
        """Measured at the first call."""
        if row not in self._results:
            self._results[row] = self._measure(row)
        return self._results[row]

    def results(self) -> list[RowResult]:
        return list(self._results.values())

    def _measure(self, row: Row) -> RowResult:
        job = self.job(row)
        samples: dict[str, list[Sample]] = {name: [] for name in self.clients_of(row)}
        orders = shuffled_rounds(list(samples), self.options.rounds, self.options.seed)
        for number, order in enumerate(orders, 1):
            for name in order:
                sample = self._one(row, job, name)
                samples[name].append(sample)
                self.say(f"{row}: round {number} of {self.options.rounds}, {name}: {_words(sample)}")
        comparisons = [_compare(samples, *pair) for pair in self.against if samples.keys() >= set(pair)]
        return RowResult(row, _placement(row, job), samples, comparisons)

    def clients_of(self, row: Row) -> list[str]:
        """Our own, and the peer of this row."""
        return [name for name, one in self.clients.items() if isinstance(one, Engine) or name == row.peer]

    def _one(self, row: Row, job: Job, name: str) -> Sample:
        work = WORKS[row.work]
        self.make_ready(work, job.tables)
        counting = self.server.counting(work)
        if name == row.peer:
            counting = work.counting_instead or counting
        return measure(self.server, self.clients[name], job, counting)

    def job(self, row: Row) -> Job:
        cores, server_cores = _cores(row)
        work, options = WORKS[row.work], self.options
        return Job(
            script=work.script,
            sessions=row.sessions,
            pipeline=work.pipeline,
            transport=row.transport,
            tables=self._tables(work, row.sessions),
            distribution=options.distribution,
            warm_up_s=options.warm_up_s,
            window_s=options.window_s,
            cores=cores,
            server_cores=server_cores,
        )

    def _tables(self, work: Work, sessions: int) -> Tables:
        if work.script == "bulk_insert":  # one table for each session
            return Tables("bulk_insert", sessions, 1, sessions)
        if work.data == "pgbench":
            return Tables("tpcb-like", rows=PGBENCH_SCALE * ACCOUNTS_PER_SCALE, loaders=4)
        return Tables(rows=self.options.rows)

    def make_ready(self, work: Work, tables: Tables) -> None:
        """The tables are there, unworn where that matters, and nothing written before is still to be written back."""
        engines = [client for client in self.clients.values() if isinstance(client, Engine)]
        if work.data:
            self._load_own(engines[0], work, tables)
        if not work.data or (work.peer == "sysbench" and len(engines) < len(self.clients)):
            self._load_tables(work, tables)
        if work.writes:
            self.server.settle()

    def _load_own(self, engine: Engine, work: Work, tables: Tables) -> None:
        if work.data not in self._own_loaded:
            own = Tables(work.script, rows=self.options.rows, loaders=4)
            engine.prepare(own if work.instead or work.data == "redis" else tables)
            self._own_loaded.add(work.data)

    def _load_tables(self, work: Work, tables: Tables) -> None:
        if self._loaded != tables:
            next(iter(self.clients.values())).prepare(tables)
            self.server.settle()
        self._loaded = None if work.wears else tables

    def forget_tables(self) -> None:
        """Somebody else has changed them."""
        self._loaded = None

    def syscalls_per_op(self, row: Row, name: str) -> float | str:
        """Of a run of its own, because counting costs time; or in words why there is none."""
        job, work = self.job(row), WORKS[row.work]
        self.make_ready(work, job.tables)
        seconds = max(1.0, self.options.window_s / 2)
        calls, rate = measure_rate_beside(
            self.server,
            self.clients[name],
            job,
            self.server.counting(work),
            lambda pid: syscalls_per_s(pid, seconds),
        )
        return calls if isinstance(calls, str) else calls / rate


def _compare(samples: dict[str, list[Sample]], client: str, peer: str) -> Comparison:
    def ratio(figure: str) -> Interval:
        ours, theirs = ([getattr(sample, figure) for sample in samples[name]] for name in (client, peer))
        return ratio_interval(ours, theirs)

    return Comparison(client, peer, ratio("client_cpu_us"), ratio("total_cpu_us"), ratio("rate_ops_per_s"))


def _cores(row: Row) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The client's, and the server's."""
    cores = tuple(sorted(os.sched_getaffinity(0)))
    if row.placement == "shared":
        return (cores[:1], cores[:1]) if row.one_core else (cores, cores)
    if len(cores) < 2:
        raise BakeoffError(f"{row}: this machine has one core", hint="choose the others by --placement shared")
    return cores[:1], cores[1:2]


def _placement(row: Row, job: Job) -> str:
    if row.placement == "apart":
        return f"client on core {job.cores[0]}, server on core {job.server_cores[0]}"
    if row.one_core:
        return f"client and server on core {job.cores[0]}"
    return (
        f"client and server on cores {', '.join(map(str, job.cores))}, as the kernel puts them; "
        f"the engine has {workers(len(job.cores))} worker"
    )


def _words(sample: Sample) -> str:
    return (
        f"CPU per operation {sample.client_cpu_us:.2f} + {sample.server_cpu_us:.2f} us,"
        f" {sample.rate_ops_per_s:,.0f} operations/s"
    )
