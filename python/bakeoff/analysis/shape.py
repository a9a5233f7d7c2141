"""Over a swept number (threads, a rate, a size): where a metric is best, and how far the other levels are from there.

Every level is compared with every other by the paired t interval that all comparisons use, and all these pairs are one
family for Holm's procedure. A level is among the best unless another is shown to be better; so the true best is left
out, or a level that is as good as the best is called worse, with a probability of at most 5 % together, whatever the
curve, ties included. See docs/method/sweeps.md.

Source: the set of those that no other beats, by tests of all pairs, is subset selection: J. C. Hsu, "Multiple
Comparisons: Theory and Methods" (1996), chapters 4 and 5. His own critical values assume equal variances, which levels
rarely have; Holm (1979) needs no such assumption. Simulated with equally good levels, multiple comparisons with the
best (Edwards and Hsu 1983) called some of them worse in 10 to 12 % of 300 curves.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from statistics import fmean, geometric_mean
from typing import Generic, Literal, TypeVar

from bakeoff.analysis.compare import Comparison
from bakeoff.analysis.estimate import REPETITIONS_MIN, RunValue
from bakeoff.analysis.metric import Metric, Observed

Level = TypeVar("Level", bound=Hashable)
Direction = Literal["higher", "lower"]
_JUDGED = ("higher", "lower", "no difference")


@dataclass(frozen=True, slots=True)
class Shape(Generic[Level]):
    """top: the level measured as best. best: those that may be, in order, `top` among them. against: of every other
    level the comparison with `top` as its base. left_out: those that could not be compared with it. Where nothing was
    judged, `best` is `top` alone and `left_out` empty."""

    top: Level
    best: list[Level]
    against: dict[Level, Comparison]
    left_out: list[Level]
    judged: bool

    @property
    def detectable_ratio(self) -> float | None:
        """The smallest difference from `top` that could be detected at all of the best; None where it is alone."""
        ratios = [self.against[level].detectable_ratio for level in self.best if level != self.top]
        return max((ratio for ratio in ratios if ratio is not None), default=None)


@dataclass(frozen=True)
class Sweep(Generic[Level]):
    """What the runs at each level say, by block; levels in order. direction: which value is best. shares: zero is a
    value."""

    runs: Mapping[Level, Mapping[int, RunValue]]
    direction: Direction
    shares: bool = False

    @cached_property
    def values(self) -> dict[Level, float]:
        """Geometric means, or means of shares some of which are zero, of levels all of whose runs count: what one does
        when it works says nothing of how it works. Levels with too few runs only where none has more."""
        counted = {level: self._known(values) for level, values in self.runs.items()}
        fit = {level: known for level, known in counted.items() if known}
        enough = {level: known for level, known in fit.items() if len(known) >= REPETITIONS_MIN}
        return {level: _centre(known) for level, known in (enough or fit).items()}

    def _known(self, values: Mapping[int, RunValue]) -> list[float]:
        """None at all where one run has no value."""
        known = [
            v for v in values.values() if isinstance(v, int | float) and math.isfinite(v) and (v > 0 or self.shares)
        ]
        return known if len(known) == len(values) else []

    @cached_property
    def top(self) -> Level | None:
        """None: no level has a value."""
        sign = 1 if self.direction == "higher" else -1
        return max(self.values, key=lambda level: sign * self.values[level], default=None)

    @property
    def pairs(self) -> list[tuple[Level, Level]]:
        """What is to be compared, (base, other): all that have a value, and the rest with `top`, to say why not."""
        if self.top is None:
            return []
        return [*combinations(self.values, 2), *((self.top, level) for level in self.runs if level not in self.values)]

    def shape(self, judged: Mapping[tuple[Level, Level], Comparison]) -> Shape[Level] | None:
        """judged: of each of `pairs`, in one family with all others that are read together."""
        if self.top is None:
            return None
        found = {**judged, **{(other, base): c.swapped() for (base, other), c in judged.items()}}
        against = {level: found[self.top, level] for level in self.runs if level != self.top}
        if not any(c.verdict in _JUDGED for c in against.values()):
            return Shape(self.top, [self.top], against, [], judged=False)
        left_out = [level for level, c in against.items() if c.verdict not in _JUDGED]
        rivals = [level for level in self.values if level not in left_out]
        return Shape(self.top, best_levels(rivals, found, self.direction), against, left_out, judged=True)


def best_levels(
    levels: Sequence[Level], judged: Mapping[tuple[Level, Level], Comparison], direction: Direction
) -> list[Level]:
    """Those that no other is shown to be better than. judged: of all pairs, (base, other), in one family; of a pair,
    one order suffices."""
    found = {**judged, **{(other, base): c.swapped() for (base, other), c in judged.items()}}

    def may_be(level: Level) -> bool:
        against = (found[other, level] for other in levels if other != level)
        return all(not c.claims_difference or c.verdict == direction for c in against)

    return [level for level in levels if may_be(level)]


def _power(seen: Observed) -> float | None:
    """Of a mean that is only a lower bound the most that it can be."""
    mean_ns = None if seen.response is None else seen.response.mean().value_ns
    return seen.run.rate_ops_per_s * 1e6 / mean_ns if mean_ns else None


#: Where it is highest is the knee of a curve over load: up to there throughput grows by more per cent than response
#: time, and by less beyond. Kleinrock, "Power and Deterministic Rules of Thumb for Probabilistic Problems in Computer
#: Communications" (1979); Jain, "The Art of Computer Systems Performance Analysis" (1991).
POWER = Metric("power", "", "higher", "throughput over response time", "Throughput over mean response time.", _power)


def _centre(values: Sequence[float]) -> float:
    return fmean(values) if min(values) <= 0 else geometric_mean(values)
