"""Response times of all the operations that users asked for, not only of the ones that were answered well:
distributions, merged exactly from their histograms, and percentiles.

Percentiles of the `ok` operations alone reward a system that fails fast and a client with a short timeout. So every
operation due in the window takes part: those of unknown outcome, unfinished or never begun with at least the time
they had waited, those that failed or were answered wrongly above all others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Protocol, get_args

import numpy as np

from bakeoff.analysis.histograms import QUANTILES, Histogram, SpectrumPoint, merge, rank_of
from bakeoff.analysis.wording import count_words, duration_words, percent_words

from ..model.boundary import HistogramDoc, OperationTimes, OutcomeName, Series
from ..model.records.run import OperationSummary, Percentiles, RunRecord
from .histograms import to_document
from .validity.checks import overloaded

SAMPLES_ABOVE_MIN = 10
_WAITED = ("ok", "unknown")
#: Of all operations. Up to here a mean counts failed operations with the time that they took, and is a lower bound;
#: beyond it the mean says more of how quickly operations fail than of how long users wait.
MEAN_FAILED_RATIO_MAX = 0.01


@dataclass(frozen=True, slots=True)
class Percentile:
    """value_ns is None when the percentile may not be stated; `words` then say why."""

    quantile: float
    value_ns: int | None
    words: str
    #: Operations that timed out, of which nobody knows how long they would have taken, reach down to it.
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """A time in ns, or only the least that it can be. value_ns is None where it is not defined; `words` say why."""

    value_ns: float | None
    at_least: bool = False
    words: str = ""


@dataclass(frozen=True, slots=True)
class Distribution:
    """waited: ok, unknown, unfinished and backlog together, the last two at their age when the window ended.
    failed: operations that ended `fail` or `wrong`: above every value. failed_after: when they ended, as far as known.
    revoked: counted `ok` in `waited`, but their transaction did not commit: above every value too. Which values they
        had is not known, so the smallest ones are taken away; the percentile can only come out higher for it.
    unknown: those in `waited` that timed out or lost their connection, at the time they had waited. A percentile that
        they reach down to is a lower bound.
    """

    waited: Histogram
    failed: int = 0
    revoked: int = 0
    unknown: int = 0
    failed_after: Histogram = field(default_factory=Histogram.empty)

    @property
    def count(self) -> int:
        return self.waited.count + self.failed

    @property
    def failed_ratio(self) -> float:
        return (self.failed + self.revoked) / self.count if self.count else 0.0

    def percentile(self, q: float) -> Percentile:
        """Stated only if failures do not reach up to it and at least ten samples lie above it."""
        if self.count == 0:
            return Percentile(q, None, "no samples")
        value_ns, rank = self.value_ns(q), rank_of(q, self.count) + self.revoked
        if rank > self.waited.count:
            return Percentile(q, None, f"not defined ({percent_words(self.failed_ratio)} failed)")
        if value_ns is None:
            have, need = count_words(self.count), count_words(samples_needed(q))
            return Percentile(q, None, f"too few samples ({have} of {need})")
        at_least = rank > self.waited.count - self.unknown
        return Percentile(q, value_ns, f"{'at least ' if at_least else ''}{duration_words(value_ns)}", at_least)

    def value_ns(self, q: float) -> int | None:
        """Of a percentile; None where it may not be stated."""
        rank = rank_of(q, self.count) + self.revoked if self.can_state(q) else 0
        return self.waited.value_at_rank(rank) if 0 < rank <= self.waited.count else None

    @property
    def is_bounded_below(self) -> bool:
        """Whether nobody knows how long some operations would have taken until they were answered."""
        return bool(self.failed or self.revoked or self.unknown)

    def mean(self) -> Bound:
        """Operations that failed or timed out are in it with the time that they took, which is the least."""
        if self.count == 0:
            return Bound(None, words="no samples")
        if self.failed_ratio > MEAN_FAILED_RATIO_MAX:
            return Bound(None, words=f"not defined ({percent_words(self.failed_ratio)} failed)")
        return Bound(merge([self.waited, self.failed_after]).mean_ns(), self.is_bounded_below)

    def longest(self) -> Bound:
        longest_ns = merge([self.waited, self.failed_after]).max_ns
        return Bound(longest_ns, self.is_bounded_below, "" if longest_ns is not None else "no samples")

    def can_state(self, q: float) -> bool:
        """Whether at least ten samples lie above it."""
        return self.count >= samples_needed(q)

    def has_too_few(self, q: float) -> bool:
        """Whether nothing but their number keeps a percentile from being stated."""
        reached_by_failures = self.count > 0 and rank_of(q, self.count) + self.revoked > self.waited.count
        return not self.can_state(q) and not reached_by_failures

    def half_exceed(self, value_ns: float) -> bool:
        """Whether half of all operations took longer, however few they are."""
        rank = rank_of(0.5, self.count) + self.revoked if self.count else 0
        return rank > self.waited.count or (rank > 0 and self.waited.value_at_rank(rank) > value_ns)

    def spectrum(self, points: int = 200) -> list[SpectrumPoint]:
        return self.waited.spectrum(points, failed=self.failed, revoked=self.revoked)


def samples_needed(q: float) -> int:
    """How many operations make a percentile statable: n * (1 - q) >= 10."""
    return math.ceil(SAMPLES_ABOVE_MIN / (1 - q) - 1e-6) if q < 1 else 1


def distribution(
    histograms: Mapping[str, Histogram],
    *,
    unfinished: Histogram | None = None,
    backlog: Histogram | None = None,
    revoked: int = 0,
) -> Distribution:
    """histograms: response times of the window by outcome name (`ok`, `wrong`, `unknown`, `fail_conflict`, ...)."""
    waited = [histograms[outcome] for outcome in _WAITED if outcome in histograms]
    waited += [h for h in (unfinished, backlog) if h is not None]
    failed_after = merge([h for outcome, h in histograms.items() if outcome not in _WAITED])
    unknown = histograms["unknown"].count if "unknown" in histograms else 0
    return Distribution(merge(waited), failed_after.count, revoked, unknown, failed_after)


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
    return Histogram.from_document(document)


def merge_documents(documents: Sequence[HistogramDoc]) -> HistogramDoc:
    """One document stays as it is; several are decoded, added and encoded again."""
    filled = [d for d in documents if d.count] or list(documents[:1])
    if len(filled) == 1:
        return filled[0]
    total = sum(d.count for d in filled)
    mean_ns = sum(d.mean_ns * d.count for d in filled) / total
    return to_document(merge([decode(d) for d in filled]), mean_ns)


def is_overloaded(run: RunRecord) -> bool:
    return overloaded(run.due, run.completed, run.backlog)


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
        if not run.unfinished_by_operation and not run.backlog_ages.count:
            continue
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
