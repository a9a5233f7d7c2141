"""A level that changes from one point of a history to the next (nights, commits, versions), among points that differ
anyway.

The point is the unit of evidence: how much points differ without a change is estimated from the history itself, so what
a night has in common (a busy host, a file system that filled up) is no change of the product. At each point the mean of
the last few is compared with that of those before them, for every number from AFTER_MIN to AFTER_MAX; one or two points
are never a change: however far from all others, a value counts only so far that three alike are just enough. So a bad
night among others is no change either. Source: the generalized likelihood ratio of a mean, Lai (1995), "Sequential
changepoint detection in quality control and dynamical systems", with a window as there. Counted in
tests/unit/test_analysis_shifts.py.

Where points are of several machines, the effect of each is subtracted first, and what is not known of it adds to the
variance of a difference. So a machine is compared with its own earlier points; one with fewer than RUNS_MIN is no
evidence (machine_effects.py). Points of a noisier machine weigh less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from .machine_effects import (
    EFFECTS_MAX,
    SPREAD_MIN,
    Effects,
    FloatArray,
    IntArray,
    clipped,
    effects_of,
)
from .statistics import t_critical

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
    """shifts: in their order. spread: of the last level, None where too few points tell. effects: of machines, from all
    points."""

    shifts: list[Shift]
    spread: Spread | None
    effects: Effects

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


def levels_of(values: FloatArray, series: int = 1, machines: IntArray | None = None) -> Levels:
    """values: one for each point, in their order, of a scale on which differences add up (logs of a rate). series: how
    many histories are looked at together; all share the false alarms. machines: of each point the number of its
    machine, from 0; None: all are of one."""
    if machines is None:
        machines = np.zeros(values.size, np.intp)
    number = int(machines.max(initial=0)) + 1
    found: list[tuple[int, int]] = []
    start, known = 0, None
    for now in range(values.size):
        settled = max(start, now - UNSPREAD + 1)
        starts = [at for at, _ in found]
        effects = effects_of(values[:settled], machines[:settled], starts, number, latest=EFFECTS_MAX)
        usable = start + np.flatnonzero(effects.known(machines[start : now + 1]))
        theirs = machines[usable]
        level = values[usable] - effects.of[theirs]
        weights = effects.weights[theirs]
        last = int(np.searchsorted(usable, settled))
        spread_of = slice(max(0, last - BEFORE_MAX), last)
        own = _spread(level[spread_of], theirs[spread_of], weights[spread_of])
        known = own or known
        if known is None:
            continue
        at = _shift_at(level, theirs, effects, known, series, BEFORE_MIN if own else BEFORE_MIN_AGAIN)
        if at is not None:
            start = int(usable[at])
            found.append((start, now))
    effects = effects_of(values, machines, [at for at, _ in found], number)
    return Levels(list(_described(values, machines, effects, found, known)), known, effects)


def _spread(values: FloatArray, machines: IntArray, weights: FloatArray) -> Spread | None:
    """Of a point of weight 1 around its machine's mean. size: as if all were of one machine."""
    sizes = np.bincount(machines)
    size = values.size - max(0, int(np.count_nonzero(sizes)) - 1)
    if size < BEFORE_MIN:
        return None
    middle = float(np.median(values))
    rest = clipped((values - middle) * np.sqrt(weights), 0.0)
    means = np.bincount(machines, rest) / np.maximum(sizes, 1)
    deviation = math.sqrt(float(((rest - means[machines]) ** 2).sum()) / (size - 1))
    return Spread(max(SPREAD_MIN, deviation), size)


def _shift_at(
    values: FloatArray, machines: IntArray, effects: Effects, spread: Spread, series: int, before_min: int
) -> int | None:
    """Where the latest points begin to lie elsewhere; None where they do not. values: since the last change, less the
    effects of their machines."""
    size = values.size
    at = np.arange(max(before_min, size - AFTER_MAX), size - AFTER_MIN + 1)
    if not at.size:
        return None
    weights = effects.weights[machines]
    critical = _critical(series, spread.size - 1)
    known = values[: int(at[-1])][-BEFORE_MAX:]
    middle, edge = float(np.median(known)), spread.deviation * _edge(critical, known.size) / np.sqrt(weights)
    of_machines = np.eye(effects.of.size)[machines]
    columns = np.column_stack([np.clip(values, middle - edge, middle + edge), of_machines])
    apart, variance_ratio = _means_apart(columns, weights, at)
    t = np.abs(apart[:, 0]) / (spread.deviation * np.sqrt(variance_ratio + effects.variance_ratio(apart[:, 1:])))
    best = int(np.argmax(t))
    return int(at[best]) if t[best] > critical else None


def _means_apart(columns: FloatArray, weights: FloatArray, at: IntArray) -> tuple[FloatArray, FloatArray]:
    """Of each column the mean from each place on, less that of up to BEFORE_MAX before it, shape (places, columns); and
    the variance of that difference over the one of a value of weight 1, shape (places,)."""
    weighted = np.column_stack([columns * weights[:, None], weights])
    sums = np.vstack([np.zeros(weighted.shape[1]), np.cumsum(weighted, axis=0)])
    after, before = sums[-1] - sums[at], sums[at] - sums[at - np.minimum(at, BEFORE_MAX)]
    apart: FloatArray = after[:, :-1] / after[:, -1:] - before[:, :-1] / before[:, -1:]
    return apart, 1 / after[:, -1] + 1 / before[:, -1]


def _edge(critical: float, before: int) -> float:
    """In standard deviations, what a value counts as at most: AFTER_MIN of them alike are enough, with some room."""
    return 1.2 * critical * math.sqrt(1 / AFTER_MIN + 1 / before)


def _described(
    values: FloatArray, machines: IntArray, effects: Effects, found: list[tuple[int, int]], spread: Spread | None
) -> Iterator[Shift]:
    """Each with all points that are known today, of which those until the next change tell where it was."""
    usable = np.flatnonzero(effects.known(machines))
    level, theirs = values[usable] - effects.of[machines[usable]], machines[usable]
    edges = [0, *(int(np.searchsorted(usable, at)) for at, _ in found), usable.size]
    for number, (at, seen) in enumerate(found, 1):
        assert spread is not None
        begin, middle, end = edges[number - 1 : number + 2]
        weights = effects.weights[theirs[begin:end]] / spread.deviation**2
        first, last = (int(usable[begin + one]) for one in _place(level[begin:end], weights, middle - begin))
        sides = slice(max(begin, middle - BEFORE_MAX), middle), slice(middle, end)
        before, after = (float(np.median(level[side])) for side in sides)
        noise = spread.deviation * math.sqrt(effects.variance_ratio_of_medians(*(theirs[side] for side in sides)))
        half = t_critical(1 - CERTAINTY, max(spread.size - 1, 1)) * noise
        yield Shift(at, first, last, seen, before, after, after - before - half, after - before + half)


def _place(values: FloatArray, weights: FloatArray, at: int) -> tuple[int, int]:
    """The shortest run of places that holds CERTAINTY of the likelihood, each place being as likely as any other
    before the values were known. weights: one over the variance of each value."""
    places = np.arange(1, values.size)
    sums, sizes = np.cumsum(values * weights), np.cumsum(weights)
    before, after = sums[places - 1], sums[-1] - sums[places - 1]
    explained = before**2 / sizes[places - 1] + after**2 / (sizes[-1] - sizes[places - 1])
    likely = np.exp((explained - explained.max()) / 2)
    likely /= likely.sum()
    low = high = at - 1
    held = likely[low]
    while held < CERTAINTY and (low > 0 or high < likely.size - 1):
        left = likely[low - 1] if low > 0 else -1.0
        right = likely[high + 1] if high < likely.size - 1 else -1.0
        if left >= right:
            low, held = low - 1, held + left
        else:
            high, held = high + 1, held + right
    return int(places[low]), int(places[high])
