"""Headline percentiles: those of all the operations users asked for, not only of the ones that were answered well.

Percentiles of the `ok` operations alone reward a system that fails fast and a client with a short timeout. So every
operation due in the window takes part: those of unknown outcome, unfinished or never begun with at least the time they
had waited, those that failed or were answered wrongly above all others.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from bakeoff.analysis.histograms import Histogram, SpectrumPoint, merge, rank_of
from bakeoff.analysis.wording import count_words, duration_words, percent_words

SAMPLES_ABOVE_MIN = 10
#: Those that every record has.
QUANTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "p999": 0.999}
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
        rank = rank_of(q, self.count) + self.revoked
        if rank > self.waited.count:
            return Percentile(q, None, f"not defined ({percent_words(self.failed_ratio)} failed)")
        if not self.can_state(q):
            have, need = count_words(self.count), count_words(samples_needed(q))
            return Percentile(q, None, f"too few samples ({have} of {need})")
        value = self.waited.value_at_rank(rank)
        at_least = rank > self.waited.count - self.unknown
        return Percentile(q, value, f"{'at least ' if at_least else ''}{duration_words(value)}", at_least)

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
