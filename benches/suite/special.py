"""What is measured besides the scripts: loading, many sessions, system calls, and the harness alone."""

from __future__ import annotations

import re
import resource
import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from .bench import Bench
from .client import Tables
from .ours import Engine
from .pairs import Interval, median, ratio_interval, shuffled_rounds
from .rows import (
    FLOOR_NS_MAX,
    MANY_SESSIONS_CPU_RATIO_MAX,
    PREPARE_CPU_RATIO_MAX,
    PREPARE_WALL_RATIO_MAX,
    SYSCALLS_PER_OP_MAX,
    Row,
)

FEW_SESSIONS, MANY_SESSIONS = 64, 2500
LOADING_PEER = "sysbench"


@dataclass(frozen=True)
class Figure:
    """One line of the report. `value` in words: why there is none."""

    what: str
    client: str
    value: float | Interval | str
    unit: str
    limit: float | None = None  # at most

    @property
    def met(self) -> bool | None:
        """None: no bar, or no value."""
        if self.limit is None or isinstance(self.value, str):
            return None
        return (self.value.mid if isinstance(self.value, Interval) else self.value) <= self.limit


@dataclass(frozen=True)
class Loading:
    wall_s: float
    client_cpu_s: float
    server_cpu_s: float


def prepare(bench: Bench, rows: int) -> list[Figure]:
    """4 tables with 2 loaders; each client from its start to its end, the secondary index included."""
    names = _one_way_each(bench)
    tables = Tables(tables=4, rows=rows, loaders=2)
    runs: dict[str, list[Loading]] = {name: [] for name in names}
    for number, order in enumerate(shuffled_rounds(names, bench.options.rounds, bench.options.seed), 1):
        for name in order:
            runs[name].append(_load(bench, name, tables))
            bench.say(f"prepare: round {number} of {bench.options.rounds}, {name}: {runs[name][-1].wall_s:.2f} s")
    bench.forget_tables()
    what = f"{bench.server.kind}, prepare, 4 x {rows:,} rows, 2 loaders"
    figures = []
    for name, done in runs.items():
        figures += [
            Figure(f"{what}: wall time", name, median([one.wall_s for one in done]), "s"),
            Figure(f"{what}: client CPU", name, median([one.client_cpu_s for one in done]), "s"),
            Figure(f"{what}: server CPU", name, median([one.server_cpu_s for one in done]), "s"),
        ]
    for client, peer in bench.against:
        if client in runs and peer in runs:
            ours, theirs = runs[client], runs[peer]
            wall = ratio_interval([one.wall_s for one in ours], [one.wall_s for one in theirs])
            cpu = ratio_interval([one.client_cpu_s for one in ours], [one.client_cpu_s for one in theirs])
            wall_max, cpu_max = (
                limits.get(bench.server.kind) if peer == LOADING_PEER else None
                for limits in (PREPARE_WALL_RATIO_MAX, PREPARE_CPU_RATIO_MAX)
            )
            figures.append(Figure(f"{what}: wall time, ratio to {peer}", client, wall, "", wall_max))
            figures.append(Figure(f"{what}: client CPU, ratio to {peer}", client, cpu, "", cpu_max))
    return figures


def _one_way_each(bench: Bench) -> list[str]:
    """Loading is asked of one way of each engine, and of the peer that loads the same."""
    names: dict[object, str] = {}
    for name, client in bench.clients.items():
        if isinstance(client, Engine) or name == LOADING_PEER:
            names.setdefault(client.path if isinstance(client, Engine) else name, name)
    return list(names.values())


def _load(bench: Bench, name: str, tables: Tables) -> Loading:
    client = bench.clients[name]
    bench.server.remove_tables()
    bench.server.settle()
    children, server_s = resource.getrusage(resource.RUSAGE_CHILDREN), bench.server.cpu_s()
    wall_s = client.prepare(tables)
    after, server_after_s = resource.getrusage(resource.RUSAGE_CHILDREN), bench.server.cpu_s()
    client_s = after.ru_utime + after.ru_stime - children.ru_utime - children.ru_stime
    return Loading(wall_s, client_s, server_after_s - server_s)


def sessions(bench: Bench) -> list[Figure]:
    """What a session more costs: CPU, memory, and the time until all are open (from the process's start)."""
    few, many = (bench.result(Row("point_select", "tcp", n)) for n in (FEW_SESSIONS, MANY_SESSIONS))
    figures = []
    for name, client in bench.clients.items():
        growth = ratio_interval(*([one.client_cpu_us for one in result.samples[name]] for result in (many, few)))
        limit = MANY_SESSIONS_CPU_RATIO_MAX if isinstance(client, Engine) else None
        what = f"client CPU per operation at {MANY_SESSIONS:,} sessions, ratio to {FEW_SESSIONS}"
        figures.append(Figure(what, name, growth, "", limit))
        for count, result in ((FEW_SESSIONS, few), (MANY_SESSIONS, many)):
            memory = max(sample.memory_peak_bytes for sample in result.samples[name]) / 2**20
            ready = median([sample.ready_s for sample in result.samples[name]])
            figures.append(Figure(f"peak resident memory at {count:,} sessions", name, memory, "MiB"))
            figures.append(Figure(f"start and opening of {count:,} sessions", name, ready, "s"))
    return figures


def syscalls(bench: Bench) -> list[Figure]:
    figures = []
    row = Row("point_select", "tcp", FEW_SESSIONS, bench.server.kind)
    for name in bench.clients_of(row):
        per_op = bench.syscalls_per_op(row, name)
        limit = SYSCALLS_PER_OP_MAX.get(name.rpartition(":")[2])
        what = f"system calls per operation, {row}"
        figures.append(Figure(what, name, per_op, "", limit))
        bench.say(f"{what}, {name}: {per_op if isinstance(per_op, str) else f'{per_op:.2f}'}")
    return figures


def floor(say: Callable[[str], None]) -> list[Figure]:
    """The harness on a system that answers at once. Needs Rust."""
    what = "harness alone, zipfian draw, two clocks, histograms: CPU per operation"
    say("floor: building and running")
    argv = ["cargo", "run", "--release", "--locked", "--quiet", "-p", "bakeoff-measure", "--example", "floor"]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError as error:
        return [Figure(what, "bakeoff", f"cargo cannot be run: {error.strerror}", "ns")]
    return [Figure(what, "bakeoff", read_floor(done.stdout, done.stderr), "ns", FLOOR_NS_MAX)]


def read_floor(output: str, errors: str) -> float | str:
    found = re.search(r"with zipfian YCSB reads ([\d.]+) ns", output)
    return float(found[1]) if found else f"the example did not say: {(output + errors)[-200:].strip()}"
