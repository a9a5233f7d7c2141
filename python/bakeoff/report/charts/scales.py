"""From values to pixels, and the round numbers at an axis; values over time are arrays, because a report draws hundreds
of thousands of points."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ...analysis.wording import BYTE_UNITS

#: A logarithmic axis only where the values differ by more than this; below, it would hide how little they differ.
LOG_FROM_RATIO = 8.0
_NEARLY = 1 + 1e-9


def nice_step(span: float, count: int) -> float:
    """1, 2 or 5 times a power of ten, so that about `count` of them make up the span."""
    rough = span / max(count, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough * 0.999)


def binary_step(span: float, count: int) -> float:
    """A power of two, so that at most `count` of them make up the span: of bytes, 512 MiB and not 477."""
    return 2.0 ** math.ceil(math.log2(span / max(count, 1)))


class Scale(Protocol):
    @property
    def kind(self) -> str:
        """`linear`, `log`, `points` or `nines`: what the report's script needs to read values back from pixels."""
        ...

    @property
    def domain(self) -> tuple[float, float]: ...

    def __call__(self, value: float) -> float: ...

    def ticks(self) -> list[float]: ...


@dataclass(frozen=True)
class Linear:
    """low, high: the domain; start, end: where it lies in pixels (start is below end on a vertical axis)."""

    low: float
    high: float
    start: float
    end: float
    step: float  # between the numbers at the axis

    kind = "linear"

    @classmethod
    def over(cls, low: float, high: float, start: float, end: float, count: int = 5) -> Linear:
        """Exactly from `low` to `high`, with about `count` numbers between."""
        return cls(low, high, start, end, nice_step(high - low, count))

    @classmethod
    def from_zero(
        cls, high: float, start: float, end: float, count: int = 5, step_of: Callable[[float, int], float] = nice_step
    ) -> Linear:
        """Ends at the round number above `high`; an axis of nothing still has one."""
        high = high if high > 0 else 1.0
        step = step_of(high, count)
        return cls(0.0, math.ceil(high / step - 1e-9) * step, start, end, step)

    @property
    def domain(self) -> tuple[float, float]:
        return self.low, self.high

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        first = math.ceil(self.low / self.step - 1e-9)
        return [n * self.step for n in range(first, math.floor(self.high / self.step + 1e-9) + 1)]


@dataclass(frozen=True)
class Log:
    """0 < low < high."""

    low: float
    high: float
    start: float
    end: float

    kind = "log"

    @classmethod
    def around(cls, low: float, high: float, start: float, end: float) -> Log:
        """Ends at the 1-2-5 numbers around the values."""
        below = max(n for n in _one_two_five(low / 10, low * _NEARLY))
        above = min(n for n in _one_two_five(high / _NEARLY, high * 10))
        return cls(below, above if above > below else below * 10, start, end)

    @property
    def domain(self) -> tuple[float, float]:
        return self.low, self.high

    def __call__(self, value: float) -> float:
        share = math.log(max(value, self.low * 1e-3) / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        numbers = [n for n in _one_two_five(self.low, self.high) if self.low * 0.999 <= n <= self.high * 1.001]
        decades = [n for n in numbers if abs(math.log10(n) - round(math.log10(n))) < 1e-9]
        if len(numbers) * 22 <= abs(self.end - self.start):
            return numbers
        ends = [n for n in (numbers[0], numbers[-1]) if not decades]
        return decades + ends


@dataclass(frozen=True)
class Points:
    """Evenly spaced places for the levels 0 .. count - 1, half a step from either end."""

    count: int
    start: float
    end: float

    kind = "points"

    @property
    def domain(self) -> tuple[float, float]:
        return -0.5, self.count - 0.5

    def __call__(self, value: float) -> float:
        return self.start + (value + 0.5) / self.count * (self.end - self.start)

    def ticks(self) -> list[float]:
        return [float(n) for n in range(self.count)]


@dataclass(frozen=True)
class Levels:
    """Numbers at their values, with room at either end; the axis names these and no others."""

    levels: tuple[float, ...]  # rising, two at least
    start: float
    end: float

    #: Nothing lies between the levels that the pointer could read.
    kind = "points"
    _MARGIN = 0.05

    @property
    def domain(self) -> tuple[float, float]:
        return self.levels[0], self.levels[-1]

    @cached_property
    def is_logarithmic(self) -> bool:
        """Where their ratios are more even than their differences: 1, 2, 4, 8 and 1, 10, 100, and not 10, 20, 30."""
        if self.levels[0] <= 0:
            return False
        return _unevenness([math.log(level) for level in self.levels]) < _unevenness(self.levels)

    def __call__(self, value: float) -> float:
        low, high, at = self.levels[0], self.levels[-1], value
        if self.is_logarithmic:
            low, high, at = math.log(low), math.log(high), math.log(value)
        share = self._MARGIN + (at - low) / (high - low) * (1 - 2 * self._MARGIN)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        return list(self.levels)


def _unevenness(places: Sequence[float]) -> float:
    """How much the steps between them vary: 0 where all are alike."""
    steps = [after - before for before, after in pairwise(places)]
    mean = sum(steps) / len(steps)
    return sum((step - mean) ** 2 for step in steps) / (mean * mean)


@dataclass(frozen=True)
class Nines:
    """Shares of operations, each further nine as wide as the one before: position log10(1 / (1 - share))."""

    high: float  # the largest share, below 1
    start: float
    end: float

    kind = "nines"

    @property
    def domain(self) -> tuple[float, float]:
        return 0.0, nines(self.high)

    def __call__(self, value: float) -> float:
        return self.start + nines(value) / nines(self.high) * (self.end - self.start)

    def ticks(self) -> list[float]:
        shares = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999, 0.9999999]
        return [share for share in shares if share <= self.high]


def nines(share: float) -> float:
    return -math.log10(1 - share)


def from_zero(values: Sequence[float], start: float, end: float) -> Linear:
    return Linear.from_zero(max(values, default=1.0), start, end)


def for_bytes(values: Sequence[float], start: float, end: float) -> Linear:
    return Linear.from_zero(max(values, default=1.0), start, end, step_of=binary_step)


def for_latency(values: Sequence[float], start: float, end: float) -> Linear | Log:
    """From zero while the values are of one size, logarithmic where the range asks for it."""
    positive = [v for v in values if v > 0]
    if not positive or max(positive) / min(positive) <= LOG_FROM_RATIO:
        return Linear.from_zero(max(positive, default=1.0), start, end)
    return Log.around(min(positive), max(positive), start, end)


def _one_two_five(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**p for p in powers for m in (1, 2, 5) if low <= m * 10.0**p <= high * 1.0000001]


def short(value: float) -> str:
    """0, 250, 12k, 1.5M, 2G; below one 0.05."""
    size = abs(value)
    for suffix, unit in (("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if size >= unit * 0.9995:
            return f"{value / unit:.4g}{suffix}"
    return f"{value:.4g}"


def milliseconds_tick(value_ms: float) -> str:
    """500 µs, 2 ms, 1 s."""
    if value_ms == 0:
        return "0"
    for unit, size in (("s", 1e3), ("ms", 1.0), ("µs", 1e-3)):
        if value_ms >= size * 0.9995:
            return f"{value_ms / size:.4g} {unit}"
    return f"{value_ms * 1e6:.4g} ns"


def percent_tick(ratio: float) -> str:
    """0 %, 0.5 %, 40 %."""
    return f"{ratio * 100:.4g} %"


def bytes_tick(value_bytes: float) -> str:
    """0, 512 MiB, 1 GiB."""
    for unit, size in BYTE_UNITS:
        if value_bytes >= size * 0.9995:
            return f"{value_bytes / size:.4g} {unit}"
    return f"{value_bytes:.4g} B" if value_bytes else "0"


FloatArray = NDArray[np.float64]

#: More points than this cannot be distinguished on paper; longer runs are drawn in steps of several seconds.
POINTS_MAX = 300
#: Looks at a server are some milliseconds early or late; a missing one leaves twice the distance.
_GAP_RATIO = 1.75
#: The steps on either side that say what is usual.
_STEPS = 8


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

    def drawn(self, *, extremes: bool = False) -> list[Series]:
        """As lines of at most about POINTS_MAX points together: one ends where a second is missing, and another begins
        after it. What happened in between is not known, or was nothing. extremes: of what has no mean, such as a
        percentile: many points are drawn by the lowest and the highest of each stretch, in their places."""
        step = math.ceil(len(self) / POINTS_MAX)
        return [piece._extremes(step) if extremes else piece._thinned(step) for piece in self._unbroken()]

    def _unbroken(self) -> list[Series]:
        if len(self) < 2:
            return [self] if len(self) else []
        apart = np.diff(self.seconds)
        if apart.max() <= _GAP_RATIO * apart.min() or apart.max() <= _GAP_RATIO * np.percentile(apart, 25):
            return [self]
        breaks = np.flatnonzero(apart > _GAP_RATIO * _usual(apart)) + 1
        return [
            Series(seconds, values)
            for seconds, values in zip(np.split(self.seconds, breaks), np.split(self.values, breaks), strict=True)
        ]

    def _thinned(self, step: int) -> Series:
        """Means over steps of `step` points, each at its step's begin."""
        if step <= 1:
            return self
        starts = np.arange(0, len(self), step)
        sums = np.add.reduceat(self.values, starts)
        return Series(self.seconds[starts], sums / np.diff(np.append(starts, len(self))))

    def _extremes(self, step: int) -> Series:
        """Of twice `step` points the lowest and the highest, each in its place."""
        if step <= 1:
            return self
        starts = range(0, len(self), 2 * step)
        stretches = [self.values[start : start + 2 * step] for start in starts]
        lowest = [start + int(stretch.argmin()) for start, stretch in zip(starts, stretches, strict=True)]
        highest = [start + int(stretch.argmax()) for start, stretch in zip(starts, stretches, strict=True)]
        places = sorted({*lowest, *highest})
        return Series(self.seconds[places], self.values[places])


def _usual(apart: FloatArray) -> FloatArray:
    """The usual step before or after each step, whichever is longer: after an hour they are of a minute."""
    whole = np.percentile(apart, 25)
    around = np.concatenate([np.full(_STEPS, whole), apart, np.full(_STEPS, whole)])
    usual: FloatArray = np.percentile(sliding_window_view(around, _STEPS), 25, axis=1)
    longer: FloatArray = np.maximum(usual[: apart.size], usual[_STEPS + 1 :])
    return longer


EMPTY = Series(np.empty(0), np.empty(0))


def pixels(scale: Scale, values: FloatArray) -> FloatArray:
    """The scale for many values at once."""
    if isinstance(scale, Linear):
        return scale.start + (values - scale.low) / (scale.high - scale.low) * (scale.end - scale.start)
    if isinstance(scale, Log):
        shares = np.log(np.maximum(values, scale.low * 1e-3) / scale.low) / math.log(scale.high / scale.low)
        return scale.start + shares * (scale.end - scale.start)
    return np.asarray([scale(value) for value in values.tolist()])
