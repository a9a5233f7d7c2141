"""A run second by second, all clients as one: counts added, histograms merged exactly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from ..analysis.response import merge_documents
from ..analysis.surroundings import TENTH_NS
from ..model.boundary import HistogramDoc, Interval, OutcomeName
from .merge import add_outcomes, add_queries

#: Of response times, in a second's row.
_FIGURES = ("mean", "p50", "p95", "p99", "max")


@dataclass(frozen=True)
class Timeline:
    #: A row a second.
    rows: list[dict[str, Any]]
    #: A row for each second, operation and outcome.
    histograms: list[dict[str, Any]]
    #: A row for each tenth of a second: what ended ok in it.
    tenths: list[dict[str, float]]
    #: A row a second, with columns "NODE.*"; empty where there is but one node.
    nodes: list[dict[str, Any]]


def merge_intervals(intervals: Sequence[Interval], *, clock_bound_ns: int = 0) -> Timeline:
    """`intervals` of all clients, in any order. A second's row counts whole operations only (no parts). clock_bound_ns:
    beyond a tenth of a second, nobody knows what the clients did in the same one."""
    seconds: dict[int, list[Interval]] = defaultdict(list)
    for interval in intervals:
        seconds[interval.second].append(interval)
    timeline = Timeline([], [], [], [])
    for second in sorted(seconds):
        group = seconds[second]
        timeline.rows.append(_interval_row(second, group))
        timeline.histograms.extend(_interval_histograms(second, group))
        if clock_bound_ns <= TENTH_NS:
            timeline.tenths.extend(_tenths(second, group))
        if group[0].nodes:
            timeline.nodes.append(_nodes_row(second, group))
    return timeline


def _interval_row(second: int, group: Sequence[Interval]) -> dict[str, Any]:
    whole = [s for interval in group for s in interval.series if not s.part]
    ok = [s.response for s in whole if s.outcome == "ok" and s.response.count]
    length_s = max(interval.length_s for interval in group)
    count = sum(h.count for h in ok)
    queries = add_queries(interval.queries for interval in group)
    return {
        "second": second,
        "length_s": length_s,
        "warm_up": any(interval.warm_up for interval in group),
        "ok": count,
        "errors": sum(s.response.count for s in whole if s.outcome != "ok"),
        "rate_ops_per_s": count / length_s if length_s > 0 else 0.0,
        **_response_ms(ok),
        "reads": queries.read,
        "writes": queries.write,
        "others": queries.other,
        "retries": sum(interval.retries for interval in group),
        "retries_after_conflict": sum(interval.retries_after_conflict for interval in group),
        "reconnects": sum(interval.reconnects for interval in group),
    }


def _interval_histograms(second: int, group: Sequence[Interval]) -> list[dict[str, Any]]:
    by_series: dict[tuple[str, str], list[HistogramDoc]] = defaultdict(list)
    for interval in group:
        for s in interval.series:
            if s.response.count:
                by_series[(s.operation, s.outcome)].append(s.response)
    return [
        {"second": second, "operation": operation, "outcome": outcome, "hdr": merge_documents(documents).hdr}
        for (operation, outcome), documents in by_series.items()
    ]


def _response_ms(documents: Sequence[HistogramDoc]) -> dict[str, float | None]:
    """None where nothing ended."""
    some = [document for document in documents if document.count]
    merged = merge_documents(some) if some else None
    return {f"{figure}_ms": None if merged is None else getattr(merged, f"{figure}_ns") / 1e6 for figure in _FIGURES}


def _tenths(second: int, group: Sequence[Interval]) -> list[dict[str, float]]:
    """Those that lie in the second, which may be shorter than one."""
    length_s = max(interval.length_s for interval in group)
    ok = [sum(counts) for counts in zip(*(interval.tenths.ok for interval in group), strict=True)]
    writes = [sum(counts) for counts in zip(*(interval.tenths.writes for interval in group), strict=True)]
    return [
        {"at_s": second + place / 10, "ok": counted, "writes": of_them}
        for place, (counted, of_them) in enumerate(zip(ok, writes, strict=True))
        if place / 10 < length_s
    ]


def _nodes_row(second: int, group: Sequence[Interval]) -> dict[str, Any]:
    row: dict[str, Any] = {"second": second}
    for same in zip(*(interval.nodes for interval in group), strict=True):
        outcomes = add_outcomes(node.outcomes for node in same)
        figures = {
            "ok": outcomes.get("ok", 0),
            "errors": sum(count for outcome, count in outcomes.items() if outcome != "ok"),
            **{outcome: outcomes.get(outcome, 0) for outcome in get_args(OutcomeName) if outcome != "ok"},
            **_response_ms([node.response for node in same]),
            "reconnects": sum(node.reconnects for node in same),
        }
        row |= {f"{same[0].name}.{figure}": value for figure, value in figures.items()}
    return row
