"""All clients of one run as one: counts added, histograms merged exactly, percentiles taken from the merged ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..analysis.histograms import Histogram, merge, to_document
from ..analysis.percentiles import Distribution, decode, distribution, merge_documents
from ..model.boundary import (
    CapacityUnits,
    HistogramDoc,
    NodeResult,
    OperationTimes,
    OutcomeName,
    QueryCounts,
    RunResult,
    Series,
)


@dataclass(frozen=True)
class Merged:
    """The merged results of one run's clients."""

    series: list[Series]
    unfinished: HistogramDoc
    backlog: HistogramDoc
    unfinished_by_operation: list[OperationTimes]
    lateness: HistogramDoc
    pool_wait: HistogramDoc
    #: Of the operations that `ok` counts, failed attempts included.
    queries: QueryCounts
    capacity_units: CapacityUnits | None
    distribution: Distribution
    headline: HistogramDoc
    nodes: list[NodeResult]
    user_bytes_written: int
    window_s: float
    due: int
    #: Operations that ended in the window, with any outcome and whenever they fell due.
    completed: int
    #: Those of them that ended ok and had fallen due before the window of an open loop.
    ok_from_warm_up: int
    revoked: int

    @property
    def backlog_ages(self) -> HistogramDoc:
        return self.backlog

    @property
    def ok(self) -> int:
        """Acknowledged, correct and (where a transaction spans operations) committed, in the window."""
        counted = sum(s.count for s in self.series if s.part_of is None and s.outcome == "ok")
        return max(0, counted - self.revoked)

    @property
    def achieved(self) -> int:
        """The operations that the throughput counts. In an open loop an operation's times belong to the moment when it
        fell due, but throughput counts the operations that ended in the window: else it would miss those in flight at
        the window's edges, and of an overloaded system all its work on the queue. Never more than fell due: working off
        a backlog of the warm-up is no throughput of this window."""
        return min(self.ok + self.ok_from_warm_up, max(self.due, self.ok))

    @property
    def errors(self) -> dict[str, int]:
        counts: dict[str, int] = defaultdict(int)
        for s in self.series:
            if s.part_of is None and s.outcome != "ok" and s.count:
                counts[s.outcome] += s.count
        if self.revoked:
            counts["revoked"] += self.revoked
        return dict(counts)

    @property
    def error_ratio(self) -> float:
        """Of the operations that `ok` and `errors` count. 1.0 if none has ended."""
        failed = sum(self.errors.values())
        ended = self.ok + failed
        return failed / ended if ended else 1.0

    @property
    def rate_ops_per_s(self) -> float:
        return self.achieved / self.window_s if self.window_s > 0 else 0.0


def merge_results(results: Sequence[RunResult]) -> Merged:
    """`results`: one per client, at least one; their windows share an epoch."""
    series = merge_series(s for result in results for s in result.series)
    unfinished = merge_documents([r.unfinished for r in results])
    backlog = merge_documents([r.backlog for r in results])
    revoked = sum(r.revoked for r in results)
    by_outcome: dict[str, Histogram] = {
        outcome: merge([decode(s.response) for s in series if s.part_of is None and s.outcome == outcome])
        for outcome in dict.fromkeys(s.outcome for s in series)
    }
    spread = distribution(by_outcome, unfinished=decode(unfinished), backlog=decode(backlog), revoked=revoked)
    return Merged(
        series=series,
        unfinished=unfinished,
        backlog=backlog,
        unfinished_by_operation=merge_operation_times(one for r in results for one in r.unfinished_by_operation),
        lateness=merge_documents([r.lateness for r in results]),
        pool_wait=merge_documents([r.pool_wait for r in results]),
        queries=add_queries(r.queries for r in results),
        capacity_units=add_units(r.capacity_units for r in results),
        distribution=spread,
        headline=to_document(spread.waited),
        nodes=merge_nodes([r.nodes for r in results]),
        user_bytes_written=sum(r.user_bytes_written for r in results),
        window_s=max(r.window_end_s for r in results) - min(r.window_start_s for r in results),
        due=sum(r.due for r in results),
        completed=sum(r.completed for r in results),
        ok_from_warm_up=sum(r.ok_from_warm_up for r in results),
        revoked=revoked,
    )


def merge_nodes(clients: Sequence[Sequence[NodeResult]]) -> list[NodeResult]:
    """All clients have the same nodes, in the same order. A single node has the figures of the run."""
    return [
        NodeResult(
            name=same[0].name,
            role=same[0].role,
            operations=sum(node.operations for node in same),
            outcomes=add_outcomes(node.outcomes for node in same),
            response=merge_documents([node.response for node in same]),
            reconnects=sum(node.reconnects or 0 for node in same),
        )
        for same in (zip(*clients, strict=True) if len(clients[0]) > 1 else ())
    ]


def add_outcomes(counts: Iterable[Mapping[OutcomeName, int]]) -> dict[OutcomeName, int]:
    total: dict[OutcomeName, int] = defaultdict(int)
    for counted in counts:
        for outcome, count in counted.items():
            total[outcome] += count
    return dict(total)


def add_queries(counts: Iterable[QueryCounts]) -> QueryCounts:
    listed = list(counts)
    return QueryCounts(**{kind: sum(getattr(c, kind) for c in listed) for kind in QueryCounts.model_fields})


def add_units(consumed: Iterable[CapacityUnits | None]) -> CapacityUnits | None:
    known = [units for units in consumed if units is not None]
    total = CapacityUnits(read=sum(units.read for units in known), write=sum(units.write for units in known))
    return total if known else None


def merge_operation_times(times: Iterable[OperationTimes]) -> list[OperationTimes]:
    by_operation: dict[str, list[HistogramDoc]] = defaultdict(list)
    for one in times:
        by_operation[one.operation].append(one.times)
    return [OperationTimes(operation=name, times=merge_documents(found)) for name, found in by_operation.items()]


def merge_series(series: Iterable[Series]) -> list[Series]:
    groups: dict[tuple[str, str | None, str], list[Series]] = defaultdict(list)
    for s in series:
        groups[(s.operation, s.part_of, s.outcome)].append(s)
    return [
        Series(
            operation=first.operation,
            part_of=first.part_of,
            outcome=first.outcome,
            count=sum(s.count for s in group),
            response=merge_documents([s.response for s in group]),
            service=merge_documents([s.service for s in group]),
        )
        for group in groups.values()
        for first in group[:1]
    ]
