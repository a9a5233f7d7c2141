"""What a run's faults did to its load: the events of its clients as the series that `analysis.faults` reads."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from ..analysis import faults as analysis
from ..model import faults as model
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
    """records: in the order of time. The effect of an event stands on the first of its faults that was carried out in
    the window. timeline: made of the intervals."""
    window_s = max(result.window_end_s for result in results) - warm_up_s
    records = [_late(record) if _began(record) >= window_s else record for record in records]
    numbered = model.events([record.planned for record in records])
    carried_out = [[n for n in numbers if _began(records[n]) < window_s] for numbers in numbered]
    events = [numbers for numbers in carried_out if numbers]
    if not events or not timeline.tenths:
        return records
    tenths, seconds = tenths_of(timeline.tenths, warm_up_s), seconds_of(intervals, warm_up_s)
    failures_s = [sample.at_s - warm_up_s for result in results for sample in result.errors]
    begun_s = [min(_began(records[n]) for n in numbers) for numbers in events]
    oldest_s = max((_oldest_s(result) for result in results), default=0.0)
    effects = {
        numbers[0]: analysis.effect(
            analysis.Fault(at_s, _over_s([records[n] for n in numbers]), window_s, next_s),
            begun_s[0],
            tenths,
            seconds,
            failures_s,
            oldest_s,
        )
        for numbers, at_s, next_s in zip(events, begun_s, [*begun_s[1:], None], strict=True)
    }
    return [record.model_copy(update={"effect": effects.get(n)}) for n, record in enumerate(records)]


def _began(record: FaultRecord) -> float:
    """Seconds since the window's start; never is later than any end."""
    return math.inf if record.begun_s is None else record.begun_s


def _over_s(event: Sequence[FaultRecord]) -> float | None:
    """When all of its servers served again; None: not while the load was watched."""
    back_s = [None if record.after_load else record.back_s for record in event]
    return None if None in back_s else max(at_s for at_s in back_s if at_s is not None)


def _late(record: FaultRecord) -> FaultRecord:
    """As it is, where it never began."""
    failure = record.failure or "the window had ended before it was done"
    return record if record.begun_s is None else record.model_copy(update={"failure": failure})


def _oldest_s(result: RunResult) -> float:
    """Of what had not ended when the window did."""
    return max(result.unfinished.max_ns, result.backlog.max_ns) / 1e9


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
