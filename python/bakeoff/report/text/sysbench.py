"""Runs in the layout of sysbench 1.0.20's own output, for eyes and parsers that know it. Only what was recorded is
printed: sysbench's fairness needs counts of each thread, which nobody keeps here, and the words say so."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...bundle.read import Bundle
from ...errors import BundleError
from ...findings.cells import fastest_ns
from ...model.records.plan import CellRecord
from ...model.records.run import RunRecord

NOT_RECORDED = "not recorded"


def render(bundle: Bundle) -> str:
    """Every run in the order it was made. Raises BundleError where no run counted statements."""
    cells = {cell.id: cell for cell in bundle.plan.cells}
    runs = bundle.runs
    if not any(_counted(run) for run in runs):
        works = ", ".join(dict.fromkeys(cell.workload for cell in bundle.plan.cells))
        raise BundleError(
            f"no run of this bundle counted statements (its work: {works})",
            where=str(bundle.folder),
            hint='sysbench\'s layout is of runs with kind = "sysbench"; leave out --format',
        )
    head = f"bakeoff {bundle.info.bakeoff_version}, in the layout of sysbench 1.0.20"
    blocks = [_block(bundle, cells[run.cell], run) for run in runs]
    return "\n\n\n".join([head, *("\n".join(block) for block in blocks)]) + "\n"


def _counted(run: RunRecord) -> bool:
    return run.queries.read + run.queries.write + run.queries.other > 0


def _block(bundle: Bundle, cell: CellRecord, run: RunRecord) -> Iterator[str]:
    yield f"Run {run.id}: {cell.label}; {cell.workload}"
    if run.state == "failed":
        yield f"FATAL: {run.failure}"
        return
    yield from (f"WARNING: {v.name}: {v.words}" for v in run.validity if v.ok is False)
    yield ""
    yield "Running the test with following options:"
    yield f"Number of threads: {cell.threads * cell.clients}"
    if cell.rate_ops_per_s is not None:
        yield f"Target transaction rate: {cell.rate_ops_per_s:g}/sec"
    yield ""
    yield from _seconds(bundle, cell, run)
    yield from _totals(run)


def _seconds(bundle: Bundle, cell: CellRecord, run: RunRecord) -> Iterator[str]:
    """One line for each whole second of the window, as of --report-interval=1."""
    table = bundle.intervals(run.id)
    if table is None or "p95_ms" not in table.column_names:
        return  # a bundle of an older bakeoff
    counted = (row for row in table.to_pylist() if not row["warm_up"] and row["length_s"] > 0.99)
    for number, row in enumerate(counted, 1):
        yield _second(number, cell.threads * cell.clients, row)


def _second(number: int, threads: int, row: Mapping[str, Any]) -> str:
    def per_s(*names: str) -> float:
        return float(sum(row[name] for name in names)) / float(row["length_s"])

    return (
        f"[ {number}s ] thds: {threads} tps: {per_s('ok'):.2f} qps: {per_s('reads', 'writes', 'others'):.2f}"
        f" (r/w/o: {per_s('reads'):.2f}/{per_s('writes'):.2f}/{per_s('others'):.2f})"
        f" lat (ms,95%): {row['p95_ms'] or 0.0:.2f} err/s: {per_s('retries'):.2f}"
        f" reconn/s: {per_s('reconnects'):.2f}"
    )


def _totals(run: RunRecord) -> Iterator[str]:
    queries = run.queries
    total = queries.read + queries.write + queries.other
    yield "SQL statistics:"
    yield "    queries performed:"
    yield from _aligned([("read", queries.read), ("write", queries.write), ("other", queries.other), ("total", total)])
    for label, count in (
        ("transactions:", run.ok),
        ("queries:", total),
        ("ignored errors:", run.retries),
        ("reconnects:", run.reconnects),
    ):
        per_s = count / run.window_s if run.window_s > 0 else 0.0
        yield f"    {label:<36} {count:<6} ({per_s:.2f} per sec.)"
    yield ""
    yield "General statistics:"
    yield f"    {'total time:':<36} {run.window_s:.4f}s"
    yield f"    {'total number of events:':<36} {run.ok}"
    yield ""
    yield "Latency (ms):"
    times = run.headline
    for name, value_ns in (
        ("min", fastest_ns(run) or 0),
        ("avg", times.mean_ns),
        ("max", times.max_ns),
        ("95th percentile", times.p95_ns),
        ("sum", times.mean_ns * times.count),
    ):
        yield f"         {name + ':':<32} {value_ns / 1e6:>11.2f}"
    yield ""
    yield "Threads fairness:"
    yield f"    {'events (avg/stddev):':<30} {NOT_RECORDED}"
    yield f"    {'execution time (avg/stddev):':<30} {NOT_RECORDED}"


def _aligned(counts: Iterable[tuple[str, int]]) -> Iterator[str]:
    for name, count in counts:
        yield f"        {name + ':':<32} {count}"
