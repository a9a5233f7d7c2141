"""Bundles with made-up figures, written as a real one is: same files, same documents, same histograms.

The figures come from a seeded generator, so they are the same on every machine, and only look like those of databases:
rates saturate with threads, times are log-normal, a server has a checkpoint now and then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from bakeoff.analysis.histograms import Histogram, merge, to_document, to_hdr
from bakeoff.analysis.percentiles import (
    Distribution,
    decode,
    is_overloaded,
    merge_documents,
    merged_distribution,
    percentiles,
)
from bakeoff.bundle.read import Bundle
from bakeoff.bundle.run_files import EACH_SECOND_S, LATER_S
from bakeoff.bundle.write import BundleWriter
from bakeoff.model.boundary import Check, ErrorSample, HistogramDoc, QueryCounts, Series
from bakeoff.model.faults import PlannedFault
from bakeoff.model.peers import marked
from bakeoff.model.records.bundle import BundleInfo, FactsRecord, LoadRecord, MachineFacts
from bakeoff.model.records.plan import CellRecord, PlanRecord
from bakeoff.model.records.run import OperationSummary, RunRecord, ServerSide, Validity
from bakeoff.model.resolve import Rate, ResponseLimit
from bakeoff.report.answer import Answer, answer_of
from bakeoff.schedule.instance import file_name

DATASET = "ycsb-1-7f3a"
_SAMPLES = 4_000


@dataclass(frozen=True)
class Contender:
    """A system of a made-up comparison. rate_1: operations per second of one thread; rate_max: of very many."""

    name: str
    kind: str = "mariadb"
    product: str = "MariaDB"
    version: str = "10.11.6"
    rate_1: float = 4_000.0
    rate_max: float = 24_000.0
    durability: str = "full"
    settings: dict[str, str] = field(
        default_factory=lambda: {"innodb_flush_log_at_trx_commit": "1", "innodb_buffer_pool_size": "1073741824"}
    )
    declared: dict[str, str] = field(default_factory=dict)
    memory_bytes: int = 1 << 30
    managed: bool = True
    peer_of: str = ""

    def rate(self, threads: int) -> float:
        return self.rate_max * threads / (threads + self.rate_max / self.rate_1 - 1)


MARIADB = Contender("mariadb")
SQLITE = Contender(
    "sqlite_full",
    kind="sqlite",
    product="SQLite",
    version="3.46.0",
    rate_1=6_500.0,
    rate_max=9_000.0,
    settings={"journal_mode": "WAL", "synchronous": "FULL", "cache_size": "-65536"},
    declared={"journal_mode": "WAL", "synchronous": "FULL"},
    memory_bytes=64 << 20,
)

PEER = Contender("mongo", kind="mongo-java-server", product="mongo-java-server", version="1.47.0", peer_of="MongoDB")


@dataclass
class Story:
    """What the bundle tells. change: has the last word on every run's record."""

    contenders: Sequence[Contender] = (MARIADB, SQLITE)
    threads: Sequence[int] = (1, 4, 16, 64)
    presets: Sequence[str] = ("a", "c")
    repetitions: int = 5
    window_s: int = 60
    warm_up_s: int = 10
    title: str = "MariaDB against SQLite, YCSB A and C"
    objective: str = "rate"
    demonstration: bool = False
    state: str = "complete"
    skipped: dict[str, str] = field(default_factory=dict)
    noise: float = 0.02
    #: Of which operations the response times of single seconds are written, which few tests ask for.
    histograms: Sequence[str] = ()
    #: How many counters a server tells of besides the few that are named; real ones tell of a hundred.
    more_counters: int = 0
    seed: int = 20261121
    #: Statements of one operation, where the workload counts them (sysbench): read, write, other.
    statements: tuple[int, int, int] = (0, 0, 0)
    #: Of the workload's own, and of which of its presets; None: of all.
    rates: Sequence[Rate] = ()
    rates_of: str | None = None
    limits: Sequence[ResponseLimit] = ()
    #: Names, where systems have several.
    nodes: Sequence[str] = ()
    #: What is done to the servers of these contenders, as planned.
    faults: dict[str, Sequence[PlannedFault]] = field(default_factory=dict)
    #: That the plan asks for: "latency_p99 < 2ms".
    asked: Sequence[str] = ()
    fail_if: Sequence[str] = ()
    matters: float | None = None
    change: Callable[[RunRecord], RunRecord] = lambda run: run
    #: What the rate of a second is multiplied by, from the start of the window (0) to its end (1), in place of stalls
    #: and of a rise at the start.
    over_time: Callable[[float], float] | None = None

    def levels(self) -> Iterator[tuple[Contender, str, int]]:
        yield from product(self.contenders, self.presets, self.threads)

    def cells(self) -> list[CellRecord]:
        return [self._cell(n, *levels) for n, levels in enumerate(self.levels(), 1)]

    def _cell(self, number: int, contender: Contender, preset: str, threads: int) -> CellRecord:
        several = {"preset": preset} if len(self.presets) > 1 else {}
        levels: dict[str, Any] = {**several, **({"threads": threads} if len(self.threads) > 1 else {})}
        return CellRecord(
            id=f"c{number:02d}",
            system=contender.name,
            kind=contender.kind,
            label=" / ".join([marked(contender.name, contender.peer_of), *(f"{k}={v}" for k, v in levels.items())]),
            levels={"system": contender.name, **levels},
            threads=threads,
            clients=1,
            rate_ops_per_s=None,
            workload=f"YCSB {preset.upper()} (records 100,000)",
            dataset=DATASET,
            durability=contender.durability,
            isolation="read-committed",
            rates=list(self.rates) if self.rates_of in (None, preset) else [],
            limits=list(self.limits),
            faults=list(self.faults.get(contender.name, ())),
            nodes=list(self.nodes),
            peer_of=contender.peer_of,
        )


def write_bundle(folder: Path, story: Story | None = None) -> Bundle:
    """Writes the story's bundle into `folder`, which is made, and opens it."""
    story = story or Story()
    folder.mkdir(parents=True, exist_ok=True)
    writer = BundleWriter(folder)
    random = np.random.default_rng(story.seed)
    cells = story.cells()
    writer.begin(_info(story), _plan(story, cells), f'title = "{story.title}"\n', _machine())
    for cell, (contender, _, _) in zip(cells, story.levels(), strict=True):
        writer.facts(cell.id, _facts(contender))
    for contender in story.contenders:
        writer.load(
            file_name(f"{contender.name[:60]}-0123456789"),
            _load(contender, [c.id for c in cells if c.system == contender.name]),
        )
    order = 0
    for block in range(1, story.repetitions + 1):
        for cell, levels in zip(cells, story.levels(), strict=True):
            _write_run(writer, story, random, block, order, cell, levels)
            order += 1
    return Bundle.open(folder)


SMALL = Story(threads=(1, 8), presets=("a",), window_s=20, warm_up_s=2)


def answer(folder: Path, story: Story = SMALL) -> tuple[Bundle, Answer]:
    """The story's bundle, written into `folder`, and what its report says."""
    bundle = write_bundle(folder / "bundle", story)
    return bundle, answer_of(bundle)


def only(run: RunRecord, cell: str, block: int | None = None) -> bool:
    return run.cell == cell and block in (None, run.block)


def timed_out(run: RunRecord) -> RunRecord:
    """Two operations in a hundred had no answer within a second."""
    unknown = run.ok // 50
    waited = to_document(Histogram.from_values([1_000_000_000] * unknown))
    series = [
        *run.series,
        Series(operation="read", part_of=None, outcome="unknown", count=unknown, response=waited, service=waited),
    ]
    headline = merge_documents([run.headline, waited])
    changes = {"errors": {"unknown": unknown}, "series": series, "headline": headline, "completed": run.ok + unknown}
    return run.model_copy(update={**changes, "operations": []})


def _info(story: Story) -> BundleInfo:
    return BundleInfo(
        bakeoff_version="0.1.0",
        created="2026-11-21T12:00:00+00:00",
        finished="2026-11-21T13:50:00+00:00",
        title=story.title,
        state=story.state,  # type: ignore[arg-type]
        command="bakeoff run plan.toml",
        demonstration=story.demonstration,
        skipped=story.skipped,
    )


def _plan(story: Story, cells: list[CellRecord]) -> PlanRecord:
    return PlanRecord(
        title=story.title,
        demonstration=story.demonstration,
        seed=story.seed,
        objective=story.objective,  # type: ignore[arg-type]
        compare_factor="system",
        baseline=None,
        repetitions=story.repetitions,
        warm_up_s=story.warm_up_s,
        window_s=story.window_s,
        operations=None,
        pacing="closed loop",
        error_budget_ratio=0.001,
        reset="restore",
        cache="warm",
        placement={},
        factors={"threads": list(story.threads), "preset": list(story.presets)},
        limits=list(story.asked),
        fail_if=list(story.fail_if),
        matters_ratio=story.matters,
        cells=cells,
        resolved={"title": story.title, "seed": story.seed, "workload": {"kind": "ycsb", "records": 100_000}},
    )


def _machine() -> MachineFacts:
    return MachineFacts(
        hostname="bench-1",
        os="Debian GNU/Linux 12",
        kernel="6.1.0-18-amd64",
        cpu_model="Example CPU 3.0 GHz",
        cores=8,
        memory_bytes=32 << 30,
        clock_source="tsc",
        filesystem="ext4",
        swap_bytes=0,
        virtualisation="kvm",
        cpu_governor="performance",
        python="3.11.7",
        engine="bakeoff-engine 0.1.0",
        warnings=["the machine is virtual: other guests may disturb"],
    )


def _facts(contender: Contender) -> FactsRecord:
    return FactsRecord(
        product=contender.product,
        version=contender.version,
        settings=dict(contender.settings),
        portable={
            "durability": contender.durability,
            "isolation": "read-committed",
            "memory_bytes": str(contender.memory_bytes),
            "tls": "off",
        },
        declared=dict(contender.declared),
        managed=contender.managed,
        embedded=contender.kind == "sqlite",
        peer_of=contender.peer_of,
    )


def _load(contender: Contender, cells: list[str]) -> LoadRecord:
    return LoadRecord(
        dataset=DATASET,
        system=contender.name,
        rows=100_000,
        elapsed_s=8.5,
        rows_per_s=11_764.0,
        size_on_disk_bytes=140_000_000,
        checks=[Check(name="rows", ok=True, expected="100000", actual="100000", evidence=[])],
        cells=cells,
    )


def _write_run(
    writer: BundleWriter,
    story: Story,
    random: np.random.Generator,
    block: int,
    order: int,
    cell: CellRecord,
    levels: tuple[Contender, str, int],
) -> None:
    contender, preset, threads = levels
    run = f"b{block:02d}-{cell.id}"
    writes = 0.5 if preset == "a" else 0.0
    rate = contender.rate(threads) * (1 - 0.35 * writes) * math.exp(random.normal(0, story.noise))
    record = _settled(story.change(_record(story, random, run, block, order, cell, contender, rate, writes)))
    rows = _intervals(story, random, rate, threads)
    server = _server(story, random, contender, rate, writes)
    writer.run_folder(run)
    histograms = _second_histograms(random, _thinned(rows), story.histograms)
    nodes = _nodes(story.nodes, rows) if story.nodes else []
    for row, beside in zip(server, nodes, strict=bool(nodes)):
        for node in story.nodes:
            row |= {f"os.{node}.rss_bytes": row["os.rss_bytes"], f"db.{node}.recv_queue": beside[f"{node}.ok"] / 100}
    writer.run_tables(run, {"intervals": rows, "server": _thinned(server), "nodes": nodes}, histograms)
    writer.run_result(record)


def _thinned(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What is large is kept by the minute after an hour."""
    later = [row | {"length_s": float(LATER_S)} for row in rows if row["second"] >= EACH_SECOND_S]
    return [*rows[:EACH_SECOND_S], *(row for row in later if row["second"] % LATER_S == 0)]


def _nodes(names: Sequence[str], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last has half of the others' operations, twice as slow."""
    table = []
    for row in rows:
        shares = {name: 0.5 if name == names[-1] else 1.0 for name in names}
        per_share = row["ok"] / sum(shares.values())
        table.append(
            {"second": row["second"]}
            | {f"{name}.ok": round(per_share * share) for name, share in shares.items()}
            | {f"{name}.p99_ms": row["p99_ms"] / share for name, share in shares.items()}
            | {f"{name}.errors": 0 for name in names}
        )
    return table


def _record(
    story: Story,
    random: np.random.Generator,
    run: str,
    block: int,
    order: int,
    cell: CellRecord,
    contender: Contender,
    rate: float,
    writes: float,
) -> RunRecord:
    ok = round(rate * story.window_s)
    reads = _times(random, cell.threads / rate, round(ok * (1 - writes)))
    updates = _times(random, 1.4 * cell.threads / rate, ok - round(ok * (1 - writes)))
    series = [_series(name, times) for name, times in (("read", reads), ("update", updates)) if times.count]
    waited = merge([reads, updates])
    return RunRecord(
        id=run,
        block=block,
        cell=cell.id,
        order=order,
        started="2026-11-21T12:00:00+00:00",
        state="done",
        seed=story.seed + block,
        window_s=story.window_s,
        rate_ops_per_s=ok / story.window_s,
        offered_ops_per_s=None,
        completed=ok,
        ok=ok,
        headline=to_document(waited),
        operations=[
            OperationSummary(
                operation=s.operation, part_of=None, ok=s.count, errors={}, response=percentiles(Distribution(times))
            )
            for s, times in zip(series, (t for t in (reads, updates) if t.count), strict=True)
        ],
        series=series,
        stream_hashes=[f"{story.seed + block + thread:016x}" for thread in range(cell.threads)],
        queries=_queries(story, ok),
        retries=3 if any(story.statements) else 0,
        retries_after_conflict=2 if any(story.statements) else 0,
        client_cpu_s=ok * 7.5e-6,
        client_memory_peak_bytes=18 << 20,
        workers_busy_ratio=[min(0.95, rate * 7.5e-6)],
        server=ServerSide(
            cpu_s=ok * 38e-6 if contender.kind != "sqlite" else None,
            memory_peak_bytes=contender.memory_bytes,
            size_on_disk_bytes=150_000_000,
            write_bytes_with_debt=round(ok * writes * 2_600),
            write_bytes_per_user_byte=26.0 if writes else None,
        ),
        validity=[
            Validity(name="errors", severity="invalid", ok=True, words="no errors"),
            Validity(name="client", severity="warning", ok=True, words="no sign that the client was the limit"),
            Validity(name="steady state", severity="warning", ok=True, words="steady"),
        ],
        client=f"{contender.kind}_async",
        runner="tokio",
        engine_version="0.1.0",
        rerun=f"bakeoff-engine --now runs/{run}/run.json",
    )


def _settled(run: RunRecord) -> RunRecord:
    """With what follows from the run's counts and times, so that a story changes causes and no figure contradicts."""
    if run.state == "failed":
        return run
    failed = sum(run.errors.values())
    failures = sum(count for outcome, count in run.errors.items() if outcome not in ("unknown", "revoked"))
    return run.model_copy(
        update={
            "rate_ops_per_s": run.ok / run.window_s,
            "error_ratio": failed / (run.ok + failed),
            "failures": failures,
            "offered_ops_per_s": None if run.due is None else run.due / run.window_s,
            "client_cpu_us_per_op": _us_per_op(run.client_cpu_s, run.ok),
            "server_cpu_us_per_op": _us_per_op(run.server.cpu_s, run.ok),
            "response": percentiles(merged_distribution([run]), overloaded=is_overloaded(run)),
        }
    )


def _us_per_op(cpu_s: float | None, operations: int) -> float | None:
    return cpu_s * 1e6 / operations if cpu_s is not None and operations else None


def _queries(story: Story, operations: int) -> QueryCounts:
    read, write, other = (operations * each for each in story.statements)
    return QueryCounts(read=read, write=write, other=other)


def busy(run: RunRecord) -> RunRecord:
    """The run while something else took the machine."""
    words = "85 % of the CPU time went to other processes, most to cc1plus, pid 7 (from 10 % on a run is disturbed)"
    found = Validity(
        name="other processes", severity="disturbed", ok=False, words=words, value=0.85, value_words="85 %"
    )
    return run.model_copy(update={"validity": [*run.validity, found]})


def invalid(run: RunRecord, words: str = "2.5 % of the operations did not end ok; the budget is 0.1 %") -> RunRecord:
    """The run with too many errors to count."""
    failed = run.ok // 40
    return run.model_copy(
        update={
            "errors": {"fail_other": failed},
            "error_samples": [
                ErrorSample(
                    operation="update",
                    outcome="fail_other",
                    code="1205",
                    message="Lock wait timeout exceeded",
                    statement="UPDATE usertable SET field0 = ? WHERE ycsb_key = ?",
                    endpoint=0,
                    at_s=12.5,
                )
            ],
            "validity": [Validity(name="errors", severity="invalid", ok=False, words=words)],
        }
    )


def failed(run: RunRecord, words: str = "the server died or froze during the run") -> RunRecord:
    """The run that could not be completed."""
    return RunRecord(
        id=run.id,
        block=run.block,
        cell=run.cell,
        order=run.order,
        started=run.started,
        state="failed",
        failure=words,
        seed=run.seed,
    )


def _times(random: np.random.Generator, mean_s: float, count: int) -> Histogram:
    """`count` log-normal times, their tail a hundred times the middle; drawn once and scaled, which is quick."""
    if count <= 0:
        return Histogram.empty()
    sample = random.lognormal(math.log(mean_s * 1e9 * 0.82), 0.55, _SAMPLES)
    slow = random.random(_SAMPLES) < 0.002
    histogram = Histogram.from_values(np.where(slow, sample * 12, sample).astype(np.int64))
    scaled = np.diff(np.cumsum(histogram.counts) * count // _SAMPLES, prepend=0)
    held = scaled > 0
    return Histogram.from_hdr(to_hdr(Histogram(histogram.indices[held], scaled[held])))


def _series(operation: str, times: Histogram) -> Series:
    document: HistogramDoc = to_document(times)
    return Series(
        operation=operation,
        part_of=None,
        outcome="ok",
        count=times.count,
        response=document,
        service=document,
    )


def _intervals(story: Story, random: np.random.Generator, rate: float, threads: int) -> list[dict[str, Any]]:
    rows = []
    for second in range(story.warm_up_s + story.window_s):
        warming = 1 - 0.5 * math.exp(-second / 3)
        stall = 0.6 if second % 23 == 19 else 1.0
        if story.over_time is not None:
            warming, stall = story.over_time(max(0, second - story.warm_up_s) / story.window_s), 1.0
        now = rate * warming * stall * math.exp(random.normal(0, 0.03))
        mean_ms = 1000 * threads / now
        rows.append(
            {
                "second": second,
                "length_s": 1.0,
                "warm_up": second < story.warm_up_s,
                "ok": round(now),
                "errors": 0,
                "rate_ops_per_s": now,
                "mean_ms": mean_ms,
                "p50_ms": mean_ms * 0.85,
                "p95_ms": mean_ms * 1.9,
                "p99_ms": mean_ms * 3.1 / stall,
                "max_ms": mean_ms * 9 / stall,
                "reads": round(now) * story.statements[0],
                "writes": round(now) * story.statements[1],
                "others": round(now) * story.statements[2],
                "retries": 0,
                "retries_after_conflict": 0,
                "reconnects": 0,
            }
        )
    return rows


def _second_histograms(
    random: np.random.Generator, rows: list[dict[str, Any]], operations: Sequence[str]
) -> list[dict[str, Any]]:
    """Every second of a single operation has the same times, which is quick; several share the second's operations."""
    hdr = ""
    found = []
    for row in rows:
        seconds = round(row["length_s"])
        for operation in operations:
            if len(operations) > 1 or not hdr:
                share = row["ok"] * seconds // len(operations)
                hdr = to_hdr(_times(random, row["mean_ms"] / 1e3, share))
            found.append(
                {"second": row["second"], "seconds": seconds, "operation": operation, "outcome": "ok", "hdr": hdr}
            )
    return found


def _server(
    story: Story, random: np.random.Generator, contender: Contender, rate: float, writes: float
) -> list[dict[str, float]]:
    rows = []
    for second in range(story.warm_up_s + story.window_s):
        stall = 0.6 if second % 23 == 19 else 1.0
        noise = math.exp(random.normal(0, 0.05))
        row = {
            "second": float(second),
            "length_s": 1.0,
            "os.cpu_user_s_per_s": rate * 26e-6 * stall * noise,
            "os.cpu_system_s_per_s": rate * 12e-6 * stall * noise,
            "os.rss_bytes": contender.memory_bytes * (0.6 + 0.3 * second / (second + 10)),
            "os.write_bytes_per_s": rate * writes * 2_600 * noise + 1_000,
            "machine.cpu_busy_s_per_s": rate * 48e-6 * stall * noise,
            "machine.dirty_bytes": 4e6 * noise,
        }
        if contender.kind == "mariadb":
            row |= {
                "db.Innodb_os_log_fsyncs_per_s": rate * writes * noise,
                "db.Innodb_buffer_pool_pages_dirty": 900 + (second % 23) * 60 * writes,
                "db.Innodb_checkpoint_age": 2e6 + (second % 23) * 1e5,
                "db.Questions_per_s": rate * stall * noise,
                "db.Threads_running": 4 * noise,
            }
            row |= {f"db.Counter_{n:02d}_per_s": rate * noise * n for n in range(story.more_counters)}
        rows.append(row)
    return rows


def overloaded(run: RunRecord) -> RunRecord:
    """As many operations as ended had fallen due besides, and not begun."""
    waiting = Histogram.from_values([10**9] * run.completed)
    return run.model_copy(
        update={
            "due": 2 * run.completed,
            "backlog": waiting.count,
            "headline": to_document(merge([decode(run.headline), waiting])),
        }
    )
