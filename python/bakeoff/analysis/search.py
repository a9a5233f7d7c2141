"""The highest load that keeps a limit, found run by run: which level to try next, or what was found.

Every run says how far beyond the limit it was (`Limit.excess`, a log ratio), with noise, and higher loads are beyond it
further. Until one run kept the limit and one did not, levels grow or shrink by steps of four. Then all runs so far are
compared with a family of rising curves, and the next level is one at which they disagree most usefully: at a quartile
of what is still possible, on the side that was tried less. It ends when the 95 % CI is narrow enough and each end
rests on two runs, or when the runs are used up. Nothing is remembered but the runs, so a search can be continued.

Before it ends it makes one run far below the capacity, at half the low end of the interval or less. Where that is
within FLAT of the limit the curve is flat there and crosses it nearly level: the capacity is unknown, whatever the
interval.

The curve: excess = steepness / bend * (exp(bend * d) - 1), d the log distance from the capacity. It is flat far below
the capacity and rises ever faster near it, as queues do; nearly straight for a small bend, a cliff for a large one.
Noise is Student's t, and one run in twenty is allowed to say anything. The posterior of the capacity is summed over a
grid of steepness, bend and noise. Each run counts as EVIDENCE of one, because no curve of the family is quite the
server's: that was chosen so that the interval holds the capacity in 95 of 100 searches (docs/method/search.md).

Isotonic regression with a likelihood ratio was right, too, but seldom became narrow; with each run counted as one the
curves were right in only 50 to 90 of 100 searches.

Sources: Kontsevich and Tyler (1999), Bayesian adaptive estimation of psychometric slope and threshold; Watson (2017),
QUEST+; for evidence that counts in part, Grünwald and van Ommen (2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

GROWTH = 4.0
#: This many runs with the same answer at an end of the range, and no run with the other, end the search there.
ALIKE_AT_AN_END = 3
RUNS_MIN = 8
LEVEL = 0.95
EVIDENCE = 0.5
#: Of the limit, as a log ratio.
FLAT = 0.06
#: What lets a flat curve be claimed, stalled runs and noise notwithstanding.
_FAR_RUNS = 3
_FAR = math.log(2)

_STEEPNESS = np.array([0.3, 0.7, 1.5, 3.5, 8, 20, 50, 150])
_BEND = np.array([0.3, 2, 10, 50, 200])
_NOISE = np.array([0.03, 0.07, 0.17, 0.4])
_T_DF = 6.0
_STRAYS = 0.05
#: Beyond a factor of two a run says only which side it was on: how far a queue grew tells how long the window was, and
#: what happens at a tenth of the limit nothing about the place where it is reached.
_EXCESS_MAX = 0.7
_STRAY_DENSITY = 0.3
_GRID = 41
_DIGITS = 3


@dataclass(frozen=True, slots=True)
class Question:
    """highest: of the levels that keep the limit, the highest is sought; else the lowest. whole: levels are counts.
    precision_ratio: the interval reaches at most so far to either side of its middle."""

    low: float
    high: float
    first: float
    highest: bool = True
    whole: bool = False
    precision_ratio: float = 0.05
    runs_max: int = 25


@dataclass(frozen=True, slots=True)
class Trial:
    """One run. excess: log of metric / limit; below 0 the limit was kept; infinite where the run could not say it; NaN
    where it had too few operations to be evidence either way."""

    level: float
    excess: float

    @property
    def kept(self) -> bool:
        return self.excess < 0

    @property
    def is_silent(self) -> bool:
        return math.isnan(self.excess)


@dataclass(frozen=True, slots=True)
class Outcome:
    """found: low to high holds the capacity with 95 % confidence. not found: so far as is known when the runs were
    used up; an end is None where nothing bounds it. always, never: the limit was kept, or was not, at all levels, the
    last one allowed included. flat: runs far below the capacity (above, where the lowest is sought) are beyond the
    limit by no more than `margin`, a log ratio of at most FLAT to either side. unjudged: at none a run had operations
    enough; silent_to: the highest level below all others where that was so."""

    status: Literal["found", "not found", "always", "never", "flat", "unjudged"]
    estimate: float | None
    low: float | None
    high: float | None
    runs: int
    margin: float | None = None
    silent_to: float | None = None


def next_step(question: Question, trials: Sequence[Trial]) -> float | Outcome:
    """The level to run next, or what was found. trials: in the order in which they were made."""
    if not trials:
        return question.first
    if any(trial.is_silent for trial in trials):
        return _beyond_silence(question, trials)
    if all(trial.kept for trial in trials) or not any(trial.kept for trial in trials):
        return _unbracketed(question, trials)
    sought = _Sought(question, trials)
    found = sought.is_narrow and sought.is_confirmed and len(trials) >= RUNS_MIN
    left = question.runs_max - len(trials)
    if (found or left == 1) and left > 0 and (far := sought.far_level()) is not None:
        return far
    if found or left <= 0:
        return sought.outcome("found" if found else "not found")
    return sought.next_level()


def so_far(question: Question, trials: Sequence[Trial]) -> Outcome | None:
    """What is known, whether the search has ended or was cut short; None before the first run."""
    if not trials:
        return None
    step = next_step(question, trials)
    if not isinstance(step, Outcome):
        step = next_step(replace(question, runs_max=len(trials)), trials)
    assert isinstance(step, Outcome), "no run is left"
    return step


def _beyond_silence(question: Question, trials: Sequence[Trial]) -> float | Outcome:
    """Up from levels whose runs have too few operations, as more load has more; among those that can be judged as if
    the range began there."""
    judgeable = [trial for trial in trials if not trial.is_silent]
    lowest = min((trial.level for trial in judgeable), default=math.inf)
    silent = max((trial.level for trial in trials if trial.is_silent and trial.level < lowest), default=None)
    if not judgeable:
        assert silent is not None, "no run says anything"
        if silent >= question.high or len(trials) >= question.runs_max:
            return Outcome("unjudged", None, None, None, len(trials), silent_to=silent)
        return _rounded(question, min(silent * GROWTH, question.high))
    low = question.low if silent is None else min(_rounded(question, math.ceil(silent * 1.5)), lowest)
    runs_max = question.runs_max - (len(trials) - len(judgeable))
    step = next_step(replace(question, low=low, runs_max=runs_max), judgeable)
    return replace(step, runs=len(trials), silent_to=silent) if isinstance(step, Outcome) else step


def _unbracketed(question: Question, trials: Sequence[Trial]) -> float | Outcome:
    """No run kept the limit, or every one did: on, away from those that were made."""
    kept = trials[0].kept
    up = kept == question.highest
    end = question.high if up else question.low
    levels = [trial.level for trial in trials]
    reached = max(levels) if up else min(levels)
    if levels.count(end) >= ALIKE_AT_AN_END:
        return Outcome("always" if kept else "never", None, None, None, len(trials))
    if len(trials) >= question.runs_max:
        low, high = (reached, None) if up else (None, reached)
        return Outcome("not found", None, low, high, len(trials))
    further = reached * GROWTH if up else reached / GROWTH
    return _rounded(question, min(max(further, question.low), question.high))


def _rounded(question: Question, level: float) -> float:
    """A level that can be named, within the range."""
    named = max(1.0, float(round(level))) if question.whole else float(f"{level:.{_DIGITS - 1}e}")
    return min(max(named, question.low), question.high)


class _Sought:
    """What the runs say of the capacity: the posterior of its log, mirrored where the lowest level is sought."""

    def __init__(self, question: Question, trials: Sequence[Trial]) -> None:
        self._question = question
        self._sign = 1.0 if question.highest else -1.0
        self._trials = trials
        self._places = self._sign * np.log([trial.level for trial in trials])
        self._excess = np.clip([trial.excess for trial in trials], -_EXCESS_MAX, _EXCESS_MAX)
        self._kept = np.array([trial.kept for trial in trials])
        self._capacity, self._weight = self._posterior()
        self._low, self._middle, self._high = (self._quantile(q) for q in ((1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2))
        self._far = self._excess[self._places <= self._low - _FAR]
        self._margin = float(np.median(self._far)) if len(self._far) else -math.inf
        half = (self._high - self._low) / 2
        self._above = int((~self._kept & (self._places <= self._high + half)).sum())
        self._below = int((self._kept & (self._places >= self._low - half)).sum())

    @property
    def is_narrow(self) -> bool:
        low, high = self._ends()
        if self._question.whole and math.floor(low) == math.floor(high):
            return True
        precision = self._question.precision_ratio
        return self._high - self._low <= math.log((1 + precision) / (1 - precision))

    @property
    def is_confirmed(self) -> bool:
        """One run alone decides nothing: each end has two close by."""
        return min(self._above, self._below) >= 2

    def next_level(self) -> float:
        up = self._above < self._below or (self._above == self._below and len(self._trials) % 2 == 0)
        end = self._high if up else self._low
        place = end if self.is_narrow else self._quantile(0.75 if up else 0.25)  # narrow: an end is not confirmed
        return _rounded(self._question, self._level(place))

    def far_level(self) -> float | None:
        """Of a run that is to show whether the curve is flat; None where that is known, or the range ends before."""
        level = _rounded(self._question, self._level(self._low - 1.1 * _FAR))
        is_known = len(self._far) >= _FAR_RUNS or (len(self._far) > 0 and self._margin < -FLAT)
        return None if is_known or self._sign * math.log(level) > self._low - _FAR else level

    def outcome(self, status: Literal["found", "not found"]) -> Outcome:
        if abs(self._margin) <= FLAT:
            return Outcome("flat", None, None, None, len(self._trials), self._margin)
        return Outcome(status, self._level(self._middle), *self._ends(), len(self._trials))

    def _ends(self) -> tuple[float, float]:
        low, high = sorted((self._level(self._low), self._level(self._high)))
        return low, high

    def _level(self, place: float) -> float:
        return math.exp(self._sign * place)

    def _posterior(self) -> tuple[FloatArray, FloatArray]:
        """Log capacities on an even grid, and the weight of each: over the range between the runs at first, then twice
        over what is left of it."""
        range_ends = sorted(self._sign * math.log(end) for end in (self._question.low, self._question.high))
        between = float(self._places[self._kept].max()), float(self._places[~self._kept].min())
        low = max(range_ends[0], min(between) - math.log(2))
        high = min(range_ends[1], max(between) + math.log(2))
        for _ in range(3):
            grid = np.linspace(low, high, _GRID)
            weight = _weights(grid, self._places, self._excess)
            inside = np.flatnonzero(weight > weight.max() * 1e-4)
            low, high = grid[max(inside[0] - 1, 0)], grid[min(inside[-1] + 1, _GRID - 1)]
        return grid, weight

    def _quantile(self, share: float) -> float:
        """Each grid point represents the stretch half way to the adjacent points."""
        half = (self._capacity[1] - self._capacity[0]) / 2
        edges = np.append(self._capacity - half, self._capacity[-1] + half)
        return float(np.interp(share, np.append(0.0, np.cumsum(self._weight)), edges))


def _weights(capacities: FloatArray, places: FloatArray, excess: FloatArray) -> FloatArray:
    """Posterior weights of the log capacities, which sum to 1. places, excess: of the runs."""
    distance = places - capacities[:, None]  # capacity, run
    bend = _BEND[:, None, None]
    curve = np.expm1(np.minimum(bend * distance, 10.0)) / bend  # bend, capacity, run
    expected = np.clip(_STEEPNESS[:, None, None, None] * curve, -_EXCESS_MAX, _EXCESS_MAX)
    logs = []
    for noise in _NOISE:
        density = (1 + ((excess - expected) / noise) ** 2 / _T_DF) ** (-(_T_DF + 1) / 2) / noise
        logs.append(np.log((1 - _STRAYS) * density + _STRAYS * _STRAY_DENSITY).sum(axis=-1))
    total = np.stack(logs) * EVIDENCE
    weight = np.exp(total - total.max()).sum(axis=(0, 1, 2))
    shares: FloatArray = weight / weight.sum()
    return shares


@dataclass(frozen=True, slots=True)
class Difference:
    """Of two capacities, or their costs: other / base, with its 95 % CI."""

    ratio: float
    low: float
    high: float


class Ends(Protocol):
    """What is known of a figure: above 0; low, high: its 95 % CI."""

    @property
    def estimate(self) -> float | None: ...
    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...


def difference(base: Ends, other: Ends) -> Difference | None:
    """None where one of the two has no interval. The interval is recovered from those of the two on the log scale, as
    they are independent: Zou and Donner (2008), MOVER."""
    ends = (base.estimate, base.low, base.high, other.estimate, other.low, other.high)
    if any(end is None for end in ends):
        return None
    base_mid, base_low, base_high, mid, low, high = (math.log(end) for end in ends if end is not None)
    ratio = mid - base_mid
    below = math.hypot(mid - low, base_high - base_mid)
    above = math.hypot(high - mid, base_mid - base_low)
    return Difference(math.exp(ratio), math.exp(ratio - below), math.exp(ratio + above))
