"""What a run's faults did to its load: the events of its clients as the series that `analysis.faults` reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..analysis import faults as analysis
from ..model.boundary import Interval, RunResult
from ..model.faults import FaultRecord
from .timeline import Timeline


def with_effects(
    records: Sequence[FaultRecord],
    timeline: Timeline,
    intervals: Sequence[Interval],
    results: Sequence[RunResult],
    warm_up_s: float,
) -> list[FaultRecord]:
    """records: in the order of time; one that was not carried out has no effect. timeline: made of the intervals."""
    begun = [record for record in records if record.begun_s is not None]
    if not begun or not intervals:
        return list(records)
    window_s = max(result.window_end_s for result in results) - warm_up_s
    tenths, seconds = tenths_of(timeline.tenths, warm_up_s), seconds_of(intervals, warm_up_s)
    failures_s = [sample.at_s - warm_up_s for result in results for sample in result.errors]
    nexts_s = [*(record.begun_s for record in begun[1:]), None]
    effects = {
        id(record): analysis.effect(
            analysis.Fault(record.begun_s or 0.0, None if record.after_load else record.back_s, window_s, next_s),
            begun[0].begun_s or 0.0,
            tenths,
            seconds,
            failures_s,
        )
        for record, next_s in zip(begun, nexts_s, strict=True)
    }
    return [record.model_copy(update={"effect": effects.get(id(record))}) for record in records]


def error_ratio_beside(records: Sequence[FaultRecord], intervals: Sequence[Interval], warm_up_s: float) -> float | None:
    """None: nothing was done to a server."""
    felt = [(r.begun_s, r.begun_s + r.effect.felt_s) for r in records if r.begun_s is not None and r.effect is not None]
    return analysis.error_ratio_beside(felt, seconds_of(intervals, warm_up_s)) if felt else None


def tenths_of(rows: Sequence[Mapping[str, float]], warm_up_s: float) -> analysis.Tenths:
    """rows: of tenths.parquet."""
    at_s, ok, writes = (np.array([row[name] for row in rows], dtype=np.float64) for name in ("at_s", "ok", "writes"))
    return analysis.Tenths(at_s - warm_up_s, ok, writes)


def seconds_of(intervals: Iterable[Interval], warm_up_s: float) -> list[analysis.Second]:
    """Of all clients together, whole operations alone."""
    by_second: dict[int, list[Interval]] = defaultdict(list)
    for interval in intervals:
        by_second[interval.second].append(interval)
    return [_second(second - warm_up_s, group) for second, group in sorted(by_second.items())]


def _second(start_s: float, group: Sequence[Interval]) -> analysis.Second:
    whole = [series for interval in group for series in interval.series if not series.part and series.response.count]
    return analysis.Second(
        start_s=start_s,
        ok=sum(s.response.count for s in whole if s.outcome == "ok"),
        failed=sum(s.response.count for s in whole if s.outcome not in ("ok", "unknown")),
        unknown=sum(s.response.count for s in whole if s.outcome == "unknown"),
        longest_ms=max((s.response.max_ns / 1e6 for s in whole), default=0.0),
    )
