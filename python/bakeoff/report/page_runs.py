"""Runs, loads and the machine as rows of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..analysis.wording import bytes_words, grouped, size_words
from ..findings.contestants import Contest, setting_words
from ..findings.run_values import time_words
from ..findings.source import Source
from ..model.boundary import Check, ErrorSample
from ..model.records import LoadRecord, RunRecord
from . import client_places


def run_row(contest: Contest, run: RunRecord) -> dict[str, Any]:
    cell = next(cell for cell in contest.plan.cells if cell.id == run.cell)
    against = [{"severity": v.severity, "text": f"{v.name}: {v.words}"} for v in run.validity if v.ok is False]
    if run.state == "failed":
        against.insert(0, {"severity": "invalid", "text": run.failure})
    untested = ", ".join(v.name for v in run.validity if v.ok is None)
    return {
        "id": run.id,
        "contestant": contest.contestant(cell),
        "setting": setting_words(contest.setting(cell)),
        "block": run.block,
        "rate": grouped(run.rate_ops_per_s) if run.state == "done" else "–",
        "p99": time_words(run.response, "p99_ms") or "–",
        "valid": run.standing == "valid",
        "against": against,
        "untested": f"not tested: {untested}" if untested else "",
    }


def first_errors(bundle: Source) -> Iterator[tuple[str, ErrorSample]]:
    """One of each operation, outcome and code: the first."""
    seen = set()
    for run in bundle.runs:
        for sample in run.error_samples:
            kind = (run.cell, sample.operation, sample.outcome, sample.code)
            if kind not in seen:
                seen.add(kind)
                yield run.id, sample


def broken_checks(bundle: Source) -> Iterator[tuple[str, Check]]:
    for load in bundle.loads:
        yield from ((f"after loading {load.system}", check) for check in load.checks if not check.ok)
    for run in bundle.runs:
        yield from ((run.id, check) for check in run.checks if not check.ok)


def load_row(load: LoadRecord) -> dict[str, Any]:
    broken = sum(not check.ok for check in load.checks)
    size = load.size_on_disk_bytes
    return {
        "system": load.system,
        "dataset": load.dataset,
        "figures": [
            f"{load.rows:,}",
            f"{grouped(load.elapsed_s)} s" if load.elapsed_s else "there before",
            grouped(load.rows_per_s) if load.elapsed_s else "–",
            "–" if size is None else size_words(size, load.file_size_bytes),
        ],
        "checks": f"{broken} of {len(load.checks)} failed" if broken else _held_words(len(load.checks)),
    }


def _held_words(checks: int) -> str:
    return {0: "none was made", 1: "the one held"}.get(checks, f"all {checks} held")


def machine_rows(bundle: Source) -> Iterator[tuple[str, str]]:
    m = bundle.machine
    yield "CPU", f"{m.cpu_model}, {m.cores} cores; governor {m.cpu_governor or 'not known'}"
    yield "Memory", f"{bytes_words(m.memory_bytes)}; swap {bytes_words(m.swap_bytes) if m.swap_bytes else 'none'}"
    yield "System", f"{m.os}, kernel {m.kernel}"
    yield "Virtualisation", m.virtualisation or "none"
    yield "File system", m.filesystem
    yield "Clock", m.clock_source
    yield "Engine", f"{m.engine}; Python {m.python}"
    if clients := client_places.row_words(bundle.runs):
        yield "Clients", clients
    placement = bundle.plan.placement
    yield "Placement", "; ".join(f"{k} on cores {', '.join(map(str, v))}" for k, v in placement.items()) or "not pinned"
    yield "Data", f"reset: {bundle.plan.reset}; cache: {bundle.plan.cache}"
    yield "Error budget", f"{bundle.plan.error_budget_ratio * 100:g} % of the operations of a run"
    yield "Seed", str(bundle.plan.seed)
