"""Seconds of a run's axis, of all clients as one. They are written into the bundle as they come, and a few numbers of
each are kept to judge the run by, so that memory hardly grows with the length of a run."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from ..analysis.faults import Second, Tenths
from ..analysis.percentiles import merge_documents
from ..analysis.validity.checks import TENTH_NS
from ..bundle.run_files import EACH_SECOND_S, LATER_S, Row, RunFiles
from ..model.boundary import HistogramDoc, Interval, OutcomeName
from .merge import add_outcomes, add_queries
from .stages import StageSums

#: Of response times, in a second's row.
_FIGURES = ("mean", "p50", "p95", "p99", "max")


_TENTHS = 10


@dataclass(frozen=True)
class MergedSecond:
    row: dict[str, Any]
    #: Columns "ok.OPERATION": operations that ended ok, parts of others included.
    ok: dict[str, int]
    #: By operation and outcome.
    responses: dict[tuple[str, str], HistogramDoc]
    #: A row for each tenth of a second: what ended ok in it.
    tenths: list[dict[str, float]]
    #: With columns "NODE.*"; empty where there is but one node.
    nodes: dict[str, Any]


def merge_second(group: Sequence[Interval]) -> MergedSecond:
    """group: the same second of all clients. Its row counts whole operations only (no parts)."""
    second = group[0].second
    return MergedSecond(
        row=_interval_row(second, group),
        ok=_ok_by_operation(group),
        responses=_responses(group),
        tenths=_tenths(second, group),
        nodes=_nodes_row(second, group) if group[0].nodes else {},
    )


@dataclass(frozen=True, slots=True)
class RatedSecond:
    """mean_ms: of the response times; None where nothing ended."""

    second: int
    length_s: float
    warm_up: bool
    rate_ops_per_s: float
    mean_ms: float | None


@dataclass
class ClientSeconds:
    """What ended ok in the window of one client: operations by tenth of a second, and by second, with the sum of their
    response times."""

    tenths: array[float] = field(default_factory=lambda: array("d"))
    ok: array[float] = field(default_factory=lambda: array("d"))
    response_ns: array[float] = field(default_factory=lambda: array("d"))

    def add(self, interval: Interval) -> None:
        if interval.warm_up:
            return
        ok = [s.response for s in interval.series if not s.part and s.outcome == "ok"]
        self.tenths.extend(interval.tenths.ok[: round(_TENTHS * interval.length_s)])
        self.ok.append(sum(times.count for times in ok))
        self.response_ns.append(sum(times.mean_ns * times.count for times in ok))


class Seconds:
    """All seconds of a run. faults: whether some are planned, whose effect will be sought in its tenths. stages: of a
    rate that changes. tell: gets the row of each second that all clients have reported."""

    def __init__(
        self,
        kept: RunFiles,
        clients: int,
        warm_up_s: float,
        *,
        faults: bool,
        stages: StageSums | None = None,
        tell: Callable[[Row], None] = lambda row: None,
    ) -> None:
        self.rated: list[RatedSecond] = []
        self.clients = [ClientSeconds() for _ in range(clients)]
        #: Of the run's time axis since the window's start; empty without faults.
        self.judged: list[Second] = []
        self._tenths: tuple[array[float], array[float], array[float]] = (array("d"), array("d"), array("d"))
        self._kept = kept
        self._warm_up_s = warm_up_s
        self._faults = faults
        self.stages = stages
        self._tell = tell
        self._open: dict[int, list[Interval]] = defaultdict(list)
        #: By client that has not ended: its last second.
        self._last = dict.fromkeys(range(clients), -1)
        #: Of seconds from `_later_from` on, not yet written.
        self._later: dict[tuple[str, str], list[HistogramDoc]] = defaultdict(list)
        self._later_from = self._later_until = EACH_SECOND_S
        self._later_warms_up = False

    @property
    def empty(self) -> bool:
        return not self.rated and not self._open

    @property
    def tenths(self) -> Tenths:
        at_s, ok, writes = (np.array(column, dtype=np.float64) for column in self._tenths)
        return Tenths(at_s - self._warm_up_s, ok, writes)

    def add(self, client: int, interval: Interval) -> None:
        """Every client reports its seconds in their order."""
        self._open[interval.second].append(interval)
        self._last[client] = interval.second
        if len(self.clients) > 1:
            self.clients[client].add(interval)
        self._keep_complete()

    def client_ended(self, client: int) -> None:
        """It has no more seconds; those of the others need not wait for it."""
        self._last.pop(client, None)
        self._keep_complete()

    def _keep_complete(self) -> None:
        if self._last:
            until = min(self._last.values())
            for second in sorted(second for second in self._open if second <= until):
                self._tell(self._keep(self._open.pop(second)))

    def finish(self, *, clock_bound_ns: int = 0) -> None:
        """Writes the files. clock_bound_ns: beyond a tenth of a second, nobody knows what the clients did in the same
        one, and no tenths are kept."""
        for second in sorted(self._open):  # not reported by all
            self._keep(self._open.pop(second))
        self._keep_later()
        if clock_bound_ns > TENTH_NS:
            self._tenths = (array("d"), array("d"), array("d"))
        self._kept.finish(tenths=clock_bound_ns <= TENTH_NS)

    def _keep(self, group: Sequence[Interval]) -> Row:
        """Returns its row."""
        merged = merge_second(group)
        row = merged.row
        self.rated.append(RatedSecond(**{name: row[name] for name in RatedSecond.__slots__}))
        self._kept.intervals.add(row | merged.ok)
        if merged.nodes:
            self._kept.nodes.add(merged.nodes)
        for tenth in merged.tenths:
            self._kept.tenths.add(tenth)
        self._keep_responses(row, merged.responses)
        if self.stages is not None:
            self.stages.add(group)
        if self._faults:
            self.judged.append(_judged(row["second"] - self._warm_up_s, group))
            for column, name in zip(self._tenths, ("at_s", "ok", "writes"), strict=True):
                column.extend(tenth[name] for tenth in merged.tenths)
        return row

    def _keep_responses(self, row: Mapping[str, Any], responses: Mapping[tuple[str, str], HistogramDoc]) -> None:
        """A stretch ends with the warm-up."""
        second, warms_up = row["second"], row["warm_up"]
        if second < EACH_SECOND_S:
            self._write(second, 1, responses)
            return
        if not self._later or second // LATER_S != self._later_from // LATER_S or warms_up != self._later_warms_up:
            self._keep_later()
            self._later_from, self._later_warms_up = second, warms_up
        self._later_until = second + 1
        for series, document in responses.items():
            self._later[series].append(document)

    def _keep_later(self) -> None:
        merged = {series: merge_documents(documents) for series, documents in self._later.items()}
        self._write(self._later_from, self._later_until - self._later_from, merged)
        self._later.clear()

    def _write(self, second: int, seconds: int, responses: Mapping[tuple[str, str], HistogramDoc]) -> None:
        for (operation, outcome), document in responses.items():
            self._kept.histograms.add(
                {"second": second, "seconds": seconds, "operation": operation, "outcome": outcome, "hdr": document.hdr}
            )


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
        **_due(group),
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


def _due(group: Sequence[Interval]) -> dict[str, int]:
    """Nothing where the rate does not change."""
    counts = [interval.due for interval in group if interval.due is not None]
    return {"due": sum(counts)} if counts else {}


def _ok_by_operation(group: Sequence[Interval]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for interval in group:
        counts.update({f"ok.{s.operation}": s.response.count for s in interval.series if s.outcome == "ok"})
    return dict(counts)


def _responses(group: Sequence[Interval]) -> dict[tuple[str, str], HistogramDoc]:
    by_series: dict[tuple[str, str], list[HistogramDoc]] = defaultdict(list)
    for interval in group:
        for s in interval.series:
            if s.response.count:
                by_series[(s.operation, s.outcome)].append(s.response)
    return {series: merge_documents(documents) for series, documents in by_series.items()}


def _response_ms(documents: Sequence[HistogramDoc]) -> dict[str, float | None]:
    """None where nothing ended."""
    some = [document for document in documents if document.count]
    merged = merge_documents(some) if some else None
    return {f"{figure}_ms": None if merged is None else getattr(merged, f"{figure}_ns") / 1e6 for figure in _FIGURES}


def _tenths(second: int, group: Sequence[Interval]) -> list[dict[str, float]]:
    """Those within the second, which may be shorter than one."""
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


def _judged(start_s: float, group: Sequence[Interval]) -> Second:
    whole = [series for interval in group for series in interval.series if not series.part and series.response.count]
    return Second(
        start_s=start_s,
        ok=sum(s.response.count for s in whole if s.outcome == "ok"),
        failed=sum(s.response.count for s in whole if s.outcome not in ("ok", "unknown")),
        unknown=sum(s.response.count for s in whole if s.outcome == "unknown"),
        longest_ms=max((s.response.max_ns / 1e6 for s in whole), default=0.0),
    )
