"""A level that changes from one point of a history to the next (nights, commits, versions), among points that differ
anyway.

The point is the unit of evidence: how much points differ without a change is estimated from the history itself, so what
a night has in common (a busy host, a file system that filled up) is no change of the product. At each point the mean of
the last few is compared with that of those before them, for every number from AFTER_MIN to AFTER_MAX; one or two points
are never a change: however far from all others, a value counts only so far that three alike are just enough. So a bad
night among others is no change either. Source: the generalized likelihood ratio of a mean, Lai (1995), "Sequential
changepoint detection in quality control and dynamical systems", with a window as there. Counted in
tests/unit/test_analysis_shifts.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .statistics import t_critical

FloatArray = NDArray[np.float64]
#: Over all series that are looked at, where there is a point each night.
FALSE_ALARMS_PER_YEAR = 1.0
POINTS_PER_YEAR = 365
#: Points of a new level that are compared, and of the one before.
AFTER_MIN, AFTER_MAX = 3, 10
BEFORE_MIN, BEFORE_MAX = 10, 30
#: Of a level that was found a moment ago, whose spread is taken from the one before.
BEFORE_MIN_AGAIN = 3
#: The latest are left out of the spread: they may be of another level.
UNSPREAD = 5
#: In the spread, a value counts as this many standard deviations at most.
CLIP = 2.5
#: A standard deviation, where values are normal.
_MAD = 1.4826
#: The least that counts as a spread: so little is that of a clock, not of a machine.
_SPREAD_MIN = 1e-6
#: Of the place of a change.
CERTAINTY = 0.95


@dataclass(frozen=True, slots=True)
class Spread:
    """Of single points around their level, from `size` of them."""

    deviation: float
    size: int


@dataclass(frozen=True, slots=True)
class Shift:
    """at: the first point of the new level, which lies from `first` to `last` with 95 % certainty. found: the point at
    which it was seen. before, after: the levels; low, high: a 95 % interval of their difference."""

    at: int
    first: int
    last: int
    found: int
    before: float
    after: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Levels:
    """shifts: in their order. spread: of the last level, None where too few points tell."""

    shifts: list[Shift]
    spread: Spread | None

    def detectable(self, series: int, points: int = 5) -> float | None:
        """The change that would be seen within this many points in nine of ten histories; None: not known yet."""
        if self.spread is None:
            return None
        noise = self.spread.deviation * math.sqrt(1 / points + 1 / max(self.spread.size, 1))
        return noise * (_critical(series, self.spread.size - 1) + 1.2816)


@cache
def _critical(series: int, df: int) -> float:
    tests = POINTS_PER_YEAR * (AFTER_MAX - AFTER_MIN + 1) * series
    return t_critical(FALSE_ALARMS_PER_YEAR / tests, max(df, 1))


def levels_of(values: FloatArray, series: int = 1) -> Levels:
    """values: one for each point, in their order, of a scale on which differences add up (logs of a rate). series: how
    many histories are looked at together; all share the false alarms."""
    found: list[tuple[int, int]] = []
    start, known = 0, None
    for now in range(values.size):
        own = _spread(values[max(start, now - UNSPREAD - BEFORE_MAX + 1) : max(start, now - UNSPREAD + 1)])
        known = own or known
        if known is None:
            continue
        at = _shift_at(values[start : now + 1], known, series, BEFORE_MIN if own else BEFORE_MIN_AGAIN)
        if at is not None:
            start += at
            found.append((start, now))
    return Levels(list(_described(values, found, known)), known)


def _spread(values: FloatArray) -> Spread | None:
    if values.size < BEFORE_MIN:
        return None
    middle = np.median(values)
    rough = max(_SPREAD_MIN, _MAD * float(np.median(np.abs(values - middle))))
    clipped = np.clip(values, middle - CLIP * rough, middle + CLIP * rough)
    return Spread(max(_SPREAD_MIN, float(clipped.std(ddof=1))), values.size)


def _shift_at(values: FloatArray, spread: Spread, series: int, before_min: int) -> int | None:
    """Where the latest points begin to lie elsewhere; None where they do not. values: since the last change."""
    size = values.size
    at = np.arange(max(before_min, size - AFTER_MAX), size - AFTER_MIN + 1)
    if not at.size:
        return None
    critical = _critical(series, spread.size - 1)
    known = values[: int(at[-1])][-BEFORE_MAX:]
    middle, edge = float(np.median(known)), spread.deviation * _edge(critical, known.size)
    sums = np.concatenate([[0.0], np.cumsum(np.clip(values, middle - edge, middle + edge))])
    after, before = size - at, np.minimum(at, BEFORE_MAX)
    apart = (sums[size] - sums[at]) / after - (sums[at] - sums[at - before]) / before
    t = np.abs(apart) / (spread.deviation * np.sqrt(1 / after + 1 / before))
    best = int(np.argmax(t))
    return int(at[best]) if t[best] > critical else None


def _edge(critical: float, before: int) -> float:
    """In standard deviations, what a value counts as at most: AFTER_MIN of them alike are enough, with some room."""
    return 1.2 * critical * math.sqrt(1 / AFTER_MIN + 1 / before)


def _described(values: FloatArray, found: list[tuple[int, int]], spread: Spread | None) -> list[Shift]:
    """Each with all points that are known today, of which those until the next change tell where it was."""
    edges = [0, *(at for at, _ in found), values.size]
    described = []
    for number, (at, seen) in enumerate(found, 1):
        assert spread is not None
        begin, end = edges[number - 1], edges[number + 1]
        first, last = _place(values[begin:end], at - begin, spread.deviation)
        before, after = values[max(begin, at - BEFORE_MAX) : at], values[at:end]
        apart = float(np.median(after)) - float(np.median(before))
        noise = spread.deviation * math.sqrt(math.pi / 2) * math.sqrt(1 / before.size + 1 / after.size)  # of medians
        half = t_critical(1 - CERTAINTY, max(spread.size - 1, 1)) * noise
        levels = float(np.median(before)), float(np.median(after))
        described.append(Shift(at, begin + first, begin + last, seen, *levels, apart - half, apart + half))
    return described


def _place(values: FloatArray, at: int, deviation: float) -> tuple[int, int]:
    """The shortest run of places that holds CERTAINTY of the likelihood, each place being as likely as any other
    before the values were known."""
    places = np.arange(1, values.size)
    sums = np.cumsum(values)
    before, after = sums[places - 1] / places, (sums[-1] - sums[places - 1]) / (values.size - places)
    explained = places * before**2 + (values.size - places) * after**2
    weights = np.exp((explained - explained.max()) / (2 * deviation**2))
    weights /= weights.sum()
    low = high = at - 1
    held = weights[low]
    while held < CERTAINTY and (low > 0 or high < weights.size - 1):
        left = weights[low - 1] if low > 0 else -1.0
        right = weights[high + 1] if high < weights.size - 1 else -1.0
        if left >= right:
            low, held = low - 1, held + left
        else:
            high, held = high + 1, held + right
    return int(places[low]), int(places[high])
