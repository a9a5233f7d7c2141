"""What points of a history have from the machine that they were measured on.

Each machine has a level of its own, constant over time on a scale on which differences add up, and a noise of its own.
Levels of the history and effects of machines are fitted by medians in turns, so that a bad night moves neither. Source:
the median polish of Tukey (1977), "Exploratory data analysis", chapter 11.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
#: Points of a machine from which its effect is known.
RUNS_MIN = 3
#: The latest that tell of effects, of all machines together: machines age.
EFFECTS_MAX = 90
#: Points that the common noise counts as, in a machine's own.
NOISE_SHARED = 10
#: A value counts as this many standard deviations at most, in a spread.
CLIP = 2.5
#: A standard deviation, where values are normal.
_MAD = 1.4826
#: The least that counts as a spread: so little is that of a clock, not of a machine.
SPREAD_MIN = 1e-6
#: Rounds of levels and effects; with few levels more change nothing.
_ROUNDS = 5
#: Of a median over a mean, where values are normal.
_MEDIAN_VARIANCE_RATIO = math.pi / 2


@dataclass(frozen=True, slots=True)
class Effects:
    """of: by machine, less that of the machine with most points; NaN with fewer than RUNS_MIN. sizes: of how many
    points. weights: of one point, the inverse of its machine's variance; 1.0 on average over all points."""

    of: FloatArray
    sizes: IntArray
    weights: FloatArray

    def known(self, machines: IntArray) -> NDArray[np.bool_]:
        return ~np.isnan(self.of)[machines]

    def variance_ratio(self, apart: FloatArray) -> FloatArray:
        """What the uncertainty of effects adds to the variance of a difference of means, over that of one point. apart:
        shares of the machines in one mean less those in the other, shape (..., machines); 0 where both are alike."""
        of_effects = _MEDIAN_VARIANCE_RATIO / (np.maximum(self.sizes, 1) * self.weights)
        found: FloatArray = (apart**2 * of_effects).sum(axis=-1)
        return found

    def variance_ratio_of_medians(self, before: IntArray, after: IntArray) -> float:
        """Of a difference of medians, over the variance of a point of weight 1. before, after: their points' machines,
        all known."""
        sides = [(side.size, np.bincount(side, minlength=self.of.size)) for side in (before, after)]
        own = sum(size / float((sizes * np.sqrt(self.weights)).sum()) ** 2 for size, sizes in sides)
        apart = sides[1][1] / sides[1][0] - sides[0][1] / sides[0][0]
        return _MEDIAN_VARIANCE_RATIO * own + float(self.variance_ratio(apart))


def effects_of(
    values: FloatArray, machines: IntArray, starts: Sequence[int], number: int, *, latest: int | None = None
) -> Effects:
    """values: in their order. machines: of each value its machine, below `number`. starts: the first points of levels
    after the first. latest: how many tell, the last ones; None: all."""
    since = 0 if latest is None else max(0, values.size - latest)
    values, machines = values[since:], machines[since:]
    sizes = np.bincount(machines, minlength=number)
    effects, weights = np.zeros(number), np.ones(number)
    if np.count_nonzero(sizes) > 1:
        edges = [0, *(start - since for start in starts if 0 < start - since < values.size), values.size]
        effects, rest = _polished(values, machines, edges, number)
        effects -= effects[np.argmax(sizes)]
        weights = _weights(rest, machines, sizes)
    return Effects(np.where(sizes >= RUNS_MIN, effects, np.nan), sizes, weights)


def _polished(
    values: FloatArray, machines: IntArray, edges: Sequence[int], number: int
) -> tuple[FloatArray, FloatArray]:
    """Effects of machines, and what they and the levels leave of each value."""
    levels = [slice(begin, end) for begin, end in pairwise(edges)]
    theirs = [np.flatnonzero(machines == machine) for machine in range(number)]
    effects, rest = np.zeros(number), values.copy()
    for _ in range(_ROUNDS if len(levels) > 1 else 1):
        for level in levels:
            rest[level] = values[level] - np.median(values[level] - effects[machines[level]])
        for machine, own in enumerate(theirs):
            effects[machine] = np.median(rest[own]) if own.size else 0.0
    return effects, rest - effects[machines]


def _weights(rest: FloatArray, machines: IntArray, sizes: IntArray) -> FloatArray:
    """A machine's variance is its own as far as it has points, and the common one as NOISE_SHARED more of them."""
    free = np.maximum(sizes - 1, 0)
    squares = np.zeros(sizes.size)
    for machine in np.flatnonzero(free):
        squares[machine] = float((clipped(rest[machines == machine], 0.0) ** 2).sum())
    common = squares.sum() / max(free.sum(), 1)
    found = 1 / np.maximum((NOISE_SHARED * common + squares) / (NOISE_SHARED + free), SPREAD_MIN**2)
    weights: FloatArray = found * sizes.sum() / (sizes * found).sum()
    return weights


def clipped(values: FloatArray, middle: float) -> FloatArray:
    """Each at most CLIP standard deviations from the middle, those being estimated by the median distance."""
    rough = max(SPREAD_MIN, _MAD * float(np.median(np.abs(values - middle))))
    found: FloatArray = np.clip(values, middle - CLIP * rough, middle + CLIP * rough)
    return found
