"""An absolute value that a plan must not reach: failed, passed or undecided.

One run: its value decides. Several runs: the interval of the typical run decides, and it is undecided where the
interval reaches across the threshold. Each end of the interval is wrong with a probability of at most `alpha`, so a
check that should pass fails with at most that probability, and the other way round.

The interval. Of up to TYPICAL_RUNS_MAX runs the means of all subsets of the logarithms are sorted; the true centre is
as likely to lie in any of the gaps between them, whatever the scatter, as long as it is symmetric: Hartigan (1969),
"Using subsample values as typical values". With five runs the ends are the lowest and the highest run: it fails where
all five runs do. An outlying run cannot widen it without bound. Where there are too few runs for it, or too many
to list the subsets, the t interval of the logarithms is used.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bakeoff.analysis.limit import Limit
from bakeoff.analysis.student import t_critical

#: A chance of error at which nothing is claimed.
NOTHING = 1e-9
#: 4,096 subsets.
TYPICAL_RUNS_MAX = 12

ValueStatus = Literal["failed", "passed", "undecided"]


@dataclass(frozen=True, slots=True)
class RunReading:
    """One run's value of the metric. at_least: the true value may be larger."""

    value: float
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """low, high: the interval that decided, None where one run did; beyond: how many runs lie beyond the threshold."""

    status: ValueStatus
    value: float
    at_least: bool
    beyond: int
    runs: int
    low: float | None = None
    high: float | None = None
    #: Of the interval.
    level: float | None = None


def alpha_of_each(judged: int, alpha: float | None) -> float:
    """Of one end of one interval, where so many values are judged by intervals and this analysis may be wrong with the
    probability `alpha`; None: it may claim nothing."""
    return (alpha or NOTHING) / max(1, judged)


def judge(fails: Limit, runs: Sequence[RunReading], alpha: float) -> Judged:
    """fails: a value that is "kept" by it fails. runs: all of them, at least one. alpha: of each end."""
    values = np.array([run.value for run in runs], dtype=float)
    logs = bool((values > 0).all())
    steps = np.log(values) if logs else values
    back = math.exp if logs else float
    at_least = any(run.at_least for run in runs)
    beyond = sum(fails.kept_by(run.value) for run in runs)
    value = back(float(steps.mean()))
    low = high = level = None
    if len(runs) == 1 or float(np.ptp(values)) == 0:
        value = float(values[0])  # exactly
        status: ValueStatus = "failed" if fails.kept_by(value) else "passed"
    else:
        low, high = (back(end) for end in interval(steps, alpha))
        level = 1 - 2 * alpha
        far = fails.kept_by(low), fails.kept_by(high)
        status = "failed" if all(far) else "undecided" if any(far) else "passed"
    # What is only a lower bound may be larger: that changes an answer that rests on its being small.
    if at_least and status == ("failed" if fails.is_ceiling else "passed"):
        status = "undecided"
    return Judged(status, value, at_least, beyond, len(runs), low, high, level)


def interval(values: Sequence[float] | NDArray[np.float64], alpha: float) -> tuple[float, float]:
    """Of the centre: each end is wrong with a probability of at most alpha. values: two or more."""
    x = np.asarray(values, dtype=float)
    n = x.size
    gaps = math.floor(alpha * 2**n + 1e-9) if n <= TYPICAL_RUNS_MAX else 0
    if gaps >= 1:
        chosen = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
        means = np.sort(chosen @ x / chosen.sum(axis=1))
        return float(means[gaps - 1]), float(means[-gaps])
    half = t_critical(2 * alpha, n - 1) * float(x.std(ddof=1)) / math.sqrt(n)
    return float(x.mean()) - half, float(x.mean()) + half
