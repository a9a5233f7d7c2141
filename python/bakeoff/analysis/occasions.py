"""How much of what runs differ by lies between occasions, and how much within one: whether more days or more
repetitions would narrow an interval. See docs/method/comparison.md."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.analysis.wording import percent_words

#: Of the variance of an occasion's mean: where runs make up so much of it, more of them help.
WITHIN_MATTERS = 0.5


@dataclass(frozen=True, slots=True)
class Parts:
    """Standard deviations of logs, so nearly ratios: 0.021 is 2.1 %. runs: of a typical occasion (harmonic mean).

    between: 0 where the occasions differ no more than their runs explain.
    """

    between: float
    within: float
    runs: float

    @property
    def share_within(self) -> float:
        """Of the variance of an occasion's mean, what its runs make up."""
        of_runs = self.within**2 / self.runs
        whole = self.between**2 + of_runs
        return of_runs / whole if whole else 0.0


def parts(sides: Sequence[Sequence[Sequence[float]]]) -> Parts | None:
    """sides: for each, its occasions' values, all above 0. None where no side has two occasions, or no occasion two
    runs: then one cannot be told from the other.

    A nested design with random effects: the variance within is pooled over occasions; that of the occasions' means,
    pooled over sides, less what the runs put into it, is what lies between. With a handful of occasions it is rough.
    Source: Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time" (2013), section 6.
    """
    logs = [[np.log(np.asarray(runs, dtype=float)) for runs in side] for side in sides]
    occasions = [runs for side in logs for runs in side]
    df_between = sum(len(side) - 1 for side in logs)
    df_within = sum(runs.size - 1 for runs in occasions)
    if df_between < 1 or df_within < 1:
        return None
    within = sum(float(((runs - runs.mean()) ** 2).sum()) for runs in occasions) / df_within
    means = [np.asarray([runs.mean() for runs in side]) for side in logs]
    of_means = sum(float(((found - found.mean()) ** 2).sum()) for found in means) / df_between
    each = len(occasions) / sum(1 / runs.size for runs in occasions)
    return Parts(math.sqrt(max(0.0, of_means - within / each)), math.sqrt(within), each)


def words(found: Sequence[Parts]) -> str:
    """Of one objective in some cells, at least one: how far occasions and their runs differ, and what would help."""
    within = _spread([one.within for one in found])
    if not any(one.between for one in found):
        said = f"occasions differ no more than their runs do (by {within})"
    else:
        said = f"occasions differ by about {_spread([one.between for one in found])}, runs within one by {within}"
    if np.median([one.share_within for one in found]) >= WITHIN_MATTERS:
        return f"{said}: more occasions would narrow the intervals, and so would more repetitions of each"
    return f"{said}: more occasions would narrow the intervals, more repetitions hardly"


def _spread(deviations: Sequence[float]) -> str:
    """ "2.1 %", or "0 to 2.1 %" over several cells."""
    low, high = (percent_words(math.expm1(one)) if one else "0 %" for one in (min(deviations), max(deviations)))
    return low if low == high else f"{low} to {high}"
