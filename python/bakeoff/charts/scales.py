"""From values to pixels, and the round numbers that stand at an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Protocol

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
