"""What was still waiting when a window ended, by operation."""

from __future__ import annotations

from dataclasses import dataclass, field

from bakeoff.analysis.histograms import Histogram, to_document
from bakeoff.analysis.percentiles import unanswered
from bakeoff.model.boundary import HistogramDoc, OperationTimes, Series


@dataclass
class Run:
    series: list[Series]
    backlog_ages: HistogramDoc
    unfinished_by_operation: list[OperationTimes] = field(default_factory=list)


def ended(operation: str, count: int) -> Series:
    none = HistogramDoc.empty()
    return Series(operation=operation, part_of=None, outcome="ok", count=count, response=none, service=none)


def share_of(ages: Histogram, percent: int) -> dict[int, int]:
    """Of an operation that made up so much of all that ended: counts by value in ns."""
    run = Run([ended("update", percent), ended("read", 100 - percent)], to_document(ages))
    found = unanswered([run], "update")
    return dict(zip(found.edges_ns()[0].tolist(), found.counts.tolist(), strict=True))


AGES = Histogram.from_values([1_000, 1_000, 1_500, 1_800, 2_000, 2_040])


def test_an_operation_has_its_share_of_the_backlog_evenly_and_the_longest_wait() -> None:
    assert share_of(AGES, 100) == {1_000: 2, 1_500: 1, 1_800: 1, 2_000: 1, 2_040: 1}
    assert share_of(AGES, 50) == {1_000: 1, 1_800: 1, 2_040: 1}
    assert share_of(AGES, 1) == {2_040: 1}
    assert share_of(AGES, 0) == {}


def test_a_backlog_costs_no_more_for_its_size() -> None:
    many = Histogram(AGES.indices, AGES.counts * 10**10, AGES.min_ns, AGES.max_ns)
    assert sum(share_of(many, 25).values()) == 15 * 10**9
