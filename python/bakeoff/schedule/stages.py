"""What each stage of a changing rate was like, from the seconds that lie wholly within it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..analysis.histograms import Histogram, merge, to_document
from ..analysis.percentiles import decode
from ..analysis.stages import Part, parts_of
from ..analysis.validity.checks import overloaded
from ..model.boundary import HistogramDoc, Interval, Stage
from ..model.records.run import StageRecord

_WAITED = ("ok", "unknown")
#: A second that ends so little beyond a stage lies within it.
_SLACK_S = 1e-6


@dataclass
class _Sums:
    part: Part
    length_s: float = 0.0
    due: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    response: Histogram = field(default_factory=Histogram.empty)
    service: Histogram = field(default_factory=Histogram.empty)
    #: Operations due and not ended, when the first of its seconds begins and when the last one ends.
    open_before: int = 0
    open_after: int = 0


class StageSums:
    """stages: those of each client; users: how many operations can be in flight at most."""

    def __init__(self, stages: Sequence[Stage], clients: int, users: int, warm_up_s: float) -> None:
        self._sums = [_Sums(part) for part in parts_of(stages, clients)]
        self._users = users
        self._warm_up_s = warm_up_s
        self._open = 0

    def add(self, group: Sequence[Interval]) -> None:
        """The same second of all clients, in the order of time, the warm-up included."""
        before = self._open
        due = sum(interval.due or 0 for interval in group)
        outcomes: Counter[str] = Counter()
        for series in (s for interval in group for s in interval.series if not s.part and s.response.count):
            outcomes[series.outcome] += series.response.count
        self._open += due - outcomes.total()
        length_s = max(interval.length_s for interval in group)
        sums = self._within(group[0].second - self._warm_up_s, length_s)
        if sums is None:
            return
        if not sums.length_s:
            sums.open_before = before
        sums.length_s += length_s
        sums.due += due
        sums.outcomes.update(outcomes)
        waited = [s.response for each in group for s in each.series if not s.part and s.outcome in _WAITED]
        sums.response = _with(sums.response, waited)
        sums.service = _with(sums.service, [each.service for each in group if each.service is not None])
        sums.open_after = self._open

    def records(self) -> list[StageRecord]:
        return [self._record(sums) for sums in self._sums]

    def _within(self, from_s: float, length_s: float) -> _Sums | None:
        """The one that has all of this stretch in it."""
        for sums in self._sums:
            if sums.part.from_s - _SLACK_S <= from_s and from_s + length_s <= sums.part.to_s + _SLACK_S:
                return sums
        return None

    def _record(self, sums: _Sums) -> StageRecord:
        part = sums.part
        # What is in flight is no queue, and a user who is free takes what waits.
        backlog = max(0, sums.open_after - self._users)
        return StageRecord(
            name=part.name,
            from_s=part.from_s,
            to_s=part.to_s,
            from_ops_per_s=part.from_ops_per_s,
            to_ops_per_s=part.to_ops_per_s,
            length_s=sums.length_s,
            due=sums.due,
            ok=sums.outcomes["ok"],
            errors={outcome: count for outcome, count in sums.outcomes.items() if outcome != "ok"},
            backlog_before=max(0, sums.open_before - self._users),
            backlog=backlog,
            overloaded=overloaded(sums.due, sums.outcomes.total(), backlog),
            response=_document(sums.response),
            service=_document(sums.service),
        )


def _with(sum_of: Histogram, documents: Sequence[HistogramDoc]) -> Histogram:
    return merge([sum_of, *map(decode, documents)])


def _document(histogram: Histogram) -> HistogramDoc:
    return to_document(histogram) if histogram.count else HistogramDoc.empty()
