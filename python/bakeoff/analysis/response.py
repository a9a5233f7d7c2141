"""Response times of runs as one distribution, merged exactly from their histograms, and what may be said of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Protocol, get_args

import numpy as np

from ..model.boundary import HistogramDoc, OperationTimes, OutcomeName, Series
from ..model.records import OperationSummary, Percentiles, RunRecord
from .encode import to_document
from .histograms import Histogram, merge
from .percentiles import QUANTILES, Distribution, distribution
from .validity import overloaded

_FAILED: frozenset[OutcomeName] = frozenset(get_args(OutcomeName)) - {"ok", "unknown"}


class HasOperations(Protocol):
    """A run, or what its clients reported of it."""

    @property
    def series(self) -> list[Series]: ...

    @property
    def unfinished_by_operation(self) -> list[OperationTimes]: ...

    @property
    def backlog_ages(self) -> HistogramDoc:
        """Of what fell due in the window and had not begun at its end."""


def same_operation(name: str, other: str) -> bool:
    """Whoever names one may write it in capitals or not."""
    return name.lower() == other.lower()


def decode(document: HistogramDoc) -> Histogram:
    """HistogramError where its summary and its values disagree."""
    return Histogram.from_event(document.model_dump())


def merge_documents(documents: Sequence[HistogramDoc]) -> HistogramDoc:
    """One document stays as it is; several are decoded, added and encoded again."""
    filled = [d for d in documents if d.count] or list(documents[:1])
    if len(filled) == 1:
        return filled[0]
    total = sum(d.count for d in filled)
    mean_ns = sum(d.mean_ns * d.count for d in filled) / total
    return to_document(merge([decode(d) for d in filled]), mean_ns)


def is_overloaded(run: RunRecord) -> bool:
    return overloaded(run.due, run.completed)


def merged_distribution(runs: Sequence[RunRecord]) -> Distribution:
    """All operations of the runs: those that failed rank above every time."""
    return Distribution(
        waited=merge([decode(run.headline) for run in runs]),
        failed=sum(_failed(run) for run in runs),
        revoked=sum(run.revoked for run in runs),
        unknown=sum(run.errors.get("unknown", 0) for run in runs),
        failed_after=merge(
            [decode(s.response) for run in runs for s in run.series if s.part_of is None and s.outcome in _FAILED]
        ),
    )


def percentiles(spread: Distribution, *, overloaded: bool = False) -> Percentiles:
    """Headline times in ms, with words where one may not be stated."""
    found = {f"{name}_ms": spread.percentile(q) for name, q in QUANTILES.items()}
    longest, mean = spread.longest(), spread.mean()
    max_ms = None if longest.value_ns is None else longest.value_ns / 1e6
    bounds = {"max_ms": longest, "mean_ms": mean}
    if overloaded:
        at_least = ["max_ms"] if longest.at_least else []
        return Percentiles(max_ms=max_ms, words=dict.fromkeys(found, "not stated (overloaded)"), at_least=at_least)
    return Percentiles(
        **{name: None if p.value_ns is None else p.value_ns / 1e6 for name, p in found.items()},
        max_ms=max_ms,
        mean_ms=None if mean.value_ns is None else mean.value_ns / 1e6,
        words={name: p.words for name, p in (found | bounds).items() if p.value_ns is None},
        at_least=[name for name, p in (found | bounds).items() if p.at_least and p.value_ns is not None],
    )


def operation_summaries(runs: Sequence[HasOperations]) -> list[OperationSummary]:
    """Each kind of operation, parts of others included and marked; in the order they first occur."""
    series = [s for run in runs for s in run.series]
    groups: dict[tuple[str, str | None], dict[str, list[Series]]] = {}
    for each in (s for s in series if s.count):
        groups.setdefault((each.operation, each.part_of), {}).setdefault(each.outcome, []).append(each)
    return [
        OperationSummary(
            operation=operation,
            part_of=part_of,
            ok=sum(s.count for s in outcomes.get("ok", [])),
            errors={name: sum(s.count for s in found) for name, found in outcomes.items() if name != "ok"},
            response=percentiles(_of_outcomes(outcomes, Histogram.empty() if part_of else unanswered(runs, operation))),
        )
        for (operation, part_of), outcomes in groups.items()
    ]


def unanswered(runs: Iterable[HasOperations], operation: str) -> Histogram:
    """What users of this operation were still waiting for when the windows ended, at its age: what was unfinished, and
    of what had not begun (nobody knows which operations it would have been) the share that this one has of all others,
    rounded up. Empty for a part of others, and in a bundle from before this was kept."""
    found = []
    for run in runs:
        unfinished = {one.operation: one.times.count for one in run.unfinished_by_operation}
        ended: Counter[str] = Counter(unfinished)
        for each in run.series:
            if each.part_of is None:
                ended[each.operation] += each.count
        names = [name for name in ended if same_operation(name, operation)]
        found += [decode(one.times) for one in run.unfinished_by_operation if one.operation in names]
        if run.backlog_ages.count and (total := ended.total()):
            found.append(_part_of(decode(run.backlog_ages), sum(ended[name] for name in names) / total))
    return merge(found)


def _part_of(whole: Histogram, share: float) -> Histogram:
    """Evenly over all its values, the longest among them. In whole numbers, and in the time that its buckets take: a
    backlog has as many values as a schedule can ask for."""
    total = whole.count
    count = math.ceil(total * share - 1e-9)
    if count <= 0:
        return Histogram.empty()
    up_to = [count - -(-(total - below) * count // total) for below in accumulate(map(int, whole.counts))]
    counts = np.asarray(up_to, np.int64) - np.asarray([0, *up_to[:-1]], np.int64)
    held = counts > 0
    lowest_ns = int(whole.edges_ns()[0][held][0])
    return Histogram(whole.indices[held], counts[held], lowest_ns, whole.max_ns, min(whole.out_of_range, count))


def operation_distribution(runs: Sequence[HasOperations], operation: str) -> Distribution | None:
    """Of one kind of operation: all of its outcomes. Of one that is only a part of others, those parts. None: there
    were none."""
    named = [s for run in runs for s in run.series if same_operation(s.operation, operation) and s.count]
    series = [s for s in named if s.part_of is None] or named
    waiting = unanswered(runs, operation)
    if not series and not waiting.count:
        return None
    outcomes: dict[str, list[Series]] = {}
    for each in series:
        outcomes.setdefault(each.outcome, []).append(each)
    return _of_outcomes(outcomes, waiting)


def _of_outcomes(outcomes: Mapping[str, Sequence[Series]], waiting: Histogram) -> Distribution:
    by_outcome = {name: merge([decode(s.response) for s in found]) for name, found in outcomes.items()}
    return distribution(by_outcome, unfinished=waiting)


def _failed(run: RunRecord) -> int:
    """`wrong` and `fail`. Operations of unknown outcome are in the histogram; revoked ones are counted apart."""
    return sum(count for outcome, count in run.errors.items() if outcome not in ("unknown", "revoked"))
