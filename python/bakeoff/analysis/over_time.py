"""One run second by second, as one figure: how much it changed from its start to its end, where it changed at once, how
far it varies. A run gives one value of each, so an interval is over the repetitions, and the seconds of a run, which
are not independent of each other, need not be.

Tested by counting, in tests/unit/test_analysis_over_time.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
#: Of a run, on either side of a change: less is a single stall.
SIDE_RATIO = 0.1
SECONDS_MIN = 10
#: Of this number of runs one says where a change is.
LOCATING = 4


def end_over_start(seconds: FloatArray, values: FloatArray) -> float | None:
    """The ratio of the ends of the line of least squares; None with too few seconds, or where it passes zero."""
    if values.size < SECONDS_MIN:
        return None
    slope, _ = np.polyfit(seconds - seconds.mean(), values, 1)
    half, mean = float(slope) * float(np.ptp(seconds)) / 2, float(values.mean())
    return (mean + half) / (mean - half) if abs(half) < mean else None


def change_at(values: FloatArray) -> int:
    """The index at which the level changes: of all ways to cut the values in two, that with the least squares left.

    values: at least SECONDS_MIN. At least SIDE_RATIO of them lie on either side. It is an index for any values: whether
    there is a change at all is for `change_of`. Source: Hinkley (1970), "Inference about the change-point in a
    sequence of random variables"; with one change the same as step detection by least squares.
    """
    size = values.size
    side = max(1, int(size * SIDE_RATIO))
    sums = np.cumsum(values - values.mean())
    cuts = np.arange(side, size - side + 1)
    gain = sums[cuts - 1] ** 2 * size / (cuts * (size - cuts))
    return int(cuts[int(np.argmax(gain))])


@dataclass(frozen=True, slots=True)
class Change:
    """at: the index. ratios: of the runs from `located_by` on, the mean after it over that before it."""

    at: int
    located_by: int
    ratios: list[float]


def change_of(runs: Sequence[FloatArray]) -> Change | None:
    """Some runs say where the level changes, the others how much: by a run's own best cut it always changes, and five
    runs without any change agree about its direction in one of sixteen experiments. (Cutting each run where all others
    change is no way out: simulated, an interval of 95 % then excludes 1 in 9 % of experiments without a change.)

    Assumes that the level changes at about the same time in every run. None with less than two runs, with a run that is
    too short, or one with nothing on a side.
    """
    if len(runs) < 2 or min(run.size for run in runs) < SECONDS_MIN or any(run.mean() <= 0 for run in runs):
        return None
    common = min(run.size for run in runs)
    locating = max(1, len(runs) // LOCATING)
    at = change_at(np.mean([run[:common] / run.mean() for run in runs[:locating]], axis=0))
    sides = [(float(run[:at].mean()), float(run[at:].mean())) for run in runs[locating:]]
    if any(min(before, after) <= 0 for before, after in sides):
        return None
    return Change(at, locating, [after / before for before, after in sides])


def by_interval(seconds: FloatArray, values: FloatArray, length_s: float) -> FloatArray:
    """Means of whole intervals of this length; what is left at the end is left out. seconds: when each began; every
    value is of one second."""
    count = int((np.ptp(seconds) + 1 + 1e-9) // length_s)
    place = ((seconds - seconds[0]) / length_s + 1e-9).astype(int)
    inside = place < count
    sums, rows = np.bincount(place[inside], values[inside]), np.bincount(place[inside])
    means: FloatArray = sums[rows > 0] / rows[rows > 0]
    return means


def _largest_deviation(values: FloatArray) -> float:
    return float(np.abs(values - values.mean()).max() / values.mean())


def _cv(values: FloatArray) -> float:
    return float(values.std(ddof=1) / values.mean())


def _iqr(values: FloatArray) -> float:
    low, middle, high = np.percentile(values, (25, 50, 75))
    return float((high - low) / middle) if middle else math.nan


#: How far the intervals of a run vary, as a share, by what articles call it: the largest deviation from their mean, the
#: standard deviation over the mean, the distance of the quartiles over the median. The first grows with the number of
#: intervals: compare runs of one length. values: of at least three intervals, with a mean above zero.
VARIATIONS: Mapping[str, Callable[[FloatArray], float]] = {
    "largest": _largest_deviation,
    "cv": _cv,
    "iqr": _iqr,
}


def slope_weights(places: Sequence[float]) -> FloatArray:
    """What the logs at these places are weighted by, so that their sum is the log of the last over the first on the
    line of least squares. places: at least two different ones."""
    x = np.asarray(places, dtype=float)
    apart = x - x.mean()
    weights: FloatArray = apart / (apart**2).sum() * float(x[-1] - x[0])
    return weights
