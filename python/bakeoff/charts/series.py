"""Values over time, as arrays: a report draws hundreds of thousands of points, too many for one at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .scales import Linear, Log, Scale

FloatArray = NDArray[np.float64]

#: More points than this are not told apart on paper; longer runs are drawn in steps of several seconds.
POINTS_MAX = 300
#: Looks at a server are some milliseconds early or late; a missing one leaves twice the distance.
_GAP_RATIO = 1.75


@dataclass(frozen=True, eq=False)
class Series:
    """seconds, values: of equal length, seconds ascending; what is missing is left out."""

    seconds: FloatArray
    values: FloatArray

    @classmethod
    def of(cls, seconds: FloatArray, values: FloatArray) -> Series:
        there = np.isfinite(values)
        return cls(seconds, values) if there.all() else cls(seconds[there], values[there])

    def __len__(self) -> int:
        return int(self.values.size)

    def __add__(self, other: Series) -> Series:
        return Series(self.seconds, self.values + other.values)

    @property
    def highest(self) -> float:
        return float(self.values.max()) if len(self) else 0.0

    @property
    def lowest_positive(self) -> float | None:
        positive = self.values[self.values > 0]
        return float(positive.min()) if positive.size else None

    def until(self, second: float) -> Series:
        """Up to and with that second."""
        count = int(np.searchsorted(self.seconds, second + 0.5))
        return self if count == len(self) else Series(self.seconds[:count], self.values[:count])

    def drawn(self) -> list[Series]:
        """As lines of at most about POINTS_MAX points together: one ends where a second is missing, and another begins
        after it. What happened in between is not known, or was nothing."""
        step = math.ceil(len(self) / POINTS_MAX)
        return [piece._thinned(step) for piece in self._unbroken()]

    def _unbroken(self) -> list[Series]:
        if len(self) < 2:
            return [self] if len(self) else []
        apart = np.diff(self.seconds)
        breaks = np.flatnonzero(apart > _GAP_RATIO * np.percentile(apart, 25)) + 1
        return [
            Series(seconds, values)
            for seconds, values in zip(np.split(self.seconds, breaks), np.split(self.values, breaks), strict=True)
        ]

    def _thinned(self, step: int) -> Series:
        """Means over steps of so many points, each at its step's begin."""
        if step <= 1:
            return self
        starts = np.arange(0, len(self), step)
        sums = np.add.reduceat(self.values, starts)
        return Series(self.seconds[starts], sums / np.diff(np.append(starts, len(self))))


EMPTY = Series(np.empty(0), np.empty(0))


def pixels(scale: Scale, values: FloatArray) -> FloatArray:
    """The scale for many values at once."""
    if isinstance(scale, Linear):
        return scale.start + (values - scale.low) / (scale.high - scale.low) * (scale.end - scale.start)
    if isinstance(scale, Log):
        shares = np.log(np.maximum(values, scale.low * 1e-3) / scale.low) / math.log(scale.high / scale.low)
        return scale.start + shares * (scale.end - scale.start)
    return np.asarray([scale(value) for value in values.tolist()])
