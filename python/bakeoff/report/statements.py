"""Statements per second beside the operations that they belong to, where the workload counts them: the fields that
users of sysbench look for."""

from __future__ import annotations

from collections.abc import Sequence

from ..model.boundary import Document
from ..model.records import RunRecord


class StatementFigures(Document):
    """Of one cell, per second of the typical run: its rate, and what its runs did for each operation."""

    transactions_per_s: float
    queries_per_s: float
    reads_per_s: float
    writes_per_s: float
    #: Begin, commit, and writes that touched no row.
    others_per_s: float
    #: Attempts after an error that the plan (or sysbench's `mysql_ignore_errors`) passes over.
    ignored_errors_per_s: float
    reconnects_per_s: float
    #: The fastest operation. Mean, p95 and max stand with the cell.
    min_ms: float | None


def statement_figures(runs: Sequence[RunRecord], rate_ops_per_s: float) -> StatementFigures | None:
    """rate_ops_per_s: the typical run's. None where nothing was counted: the workload does not say what its operations
    consist of."""
    ok = sum(run.ok for run in runs)
    read, write, other = (sum(getattr(run.queries, kind) for run in runs) for kind in ("read", "write", "other"))
    if not (read or write or other) or not ok:
        return None
    per_s = rate_ops_per_s / ok
    timed = [fastest for run in runs if (fastest := fastest_ns(run)) is not None]
    return StatementFigures(
        transactions_per_s=rate_ops_per_s,
        queries_per_s=(read + write + other) * per_s,
        reads_per_s=read * per_s,
        writes_per_s=write * per_s,
        others_per_s=other * per_s,
        ignored_errors_per_s=sum(run.retries for run in runs) * per_s,
        reconnects_per_s=sum(run.reconnects for run in runs) * per_s,
        min_ms=min(timed) / 1e6 if timed else None,
    )


def fastest_ns(run: RunRecord) -> int | None:
    """Of the operations that ended well. The headline's minimum may be the age of one that the window's end cut off."""
    ended = [s.response.min_ns for s in run.series if s.part_of is None and s.outcome == "ok" and s.count]
    return min(ended, default=None)
