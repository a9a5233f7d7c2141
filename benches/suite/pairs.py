"""Shuffled rounds, and the statistics of what they gave. Pure functions."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """A median, with bounds where there were values enough for them."""

    mid: float
    low: float | None
    high: float | None

    def __str__(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.mid:.2f}"
        return f"{self.mid:.2f} ({self.low:.2f}-{self.high:.2f})"


def shuffled_rounds(names: Sequence[str], count: int, seed: int) -> Iterator[list[str]]:
    """`count` rounds, each with every name once, in random order: drift affects all alike."""
    rng = random.Random(seed)
    for _ in range(count):
        order = list(names)
        rng.shuffle(order)
        yield order


def median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def median_interval(values: Sequence[float], level: float = 0.95) -> Interval:
    """The median and an interval for it between two order statistics, whose coverage is at least `level`.

    values: n >= 1 independent rounds. The interval holds for any distribution; it needs n >= 6 for 95 %, and is at
    n = 7 the whole range (98.4 %). Below that there are no bounds.
    Source: David and Nagaraja, "Order Statistics" (2003), section 7.1.
    """
    ordered = sorted(values)
    n = len(ordered)
    cut = -1  # values left out at either end
    tail = 0.0  # probability that the median lies beyond the bound, per end
    for k in range(n // 2):
        tail += math.comb(n, k) / 2**n
        if 1 - 2 * tail < level:
            break
        cut = k
    if cut < 0:
        return Interval(median(ordered), None, None)
    return Interval(median(ordered), ordered[cut], ordered[n - 1 - cut])


def ratio_interval(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """Of ours over theirs, round by round; both of the same rounds."""
    return median_interval([a / b for a, b in zip(ours, theirs, strict=True)])
