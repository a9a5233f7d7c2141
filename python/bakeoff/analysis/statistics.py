"""The t distribution, as the few numbers that intervals, decisions and power need, and the chance of a false claim that
each of several analyses of one question may take. scipy is imported on first use (0.4 s when cold), because most
commands never get here.

Who reads an answer, adds repetitions because it was undecided, and reads again, has two chances to be misled. So the
chance that is allowed in all is shared out: each interim analysis is judged, over all repetitions made until then, at
four fifths of what the analyses before it left. What they spend adds up to `alpha` at most, however many there will
be and whatever was seen before, and whatever questions are added: a verdict that was given stands, so each analysis
asks only what is still open, and answers it at its own share. See docs/method/interim-analyses.md and
benches/looking.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from bakeoff.analysis.wording import are_times, percent_words, significant


@cache
def _special() -> Any:
    from scipy import special

    return special


def t_critical(alpha: float, df: float) -> float:
    """The t that is exceeded in absolute value with probability `alpha`; df > 0, need not be whole (Welch)."""
    return float(_special().stdtrit(df, 1 - alpha / 2))


def t_equivalence(alpha: float, df: float, power: float) -> float:
    """Non-centrality of the bounds within which an interval at 1 - `alpha` lies with probability `power` where there is
    no difference; each end may lie beyond in half of the rest."""
    return float(_special().nctdtrinc(df, (1 - power) / 2, t_critical(alpha, df)))


def t_two_sided_p(t: float, df: float) -> float:
    """Probability of |T| >= |t|."""
    return float(2 * _special().stdtr(df, -abs(t)))


def f_p(f: float, df_between: float, df_within: float) -> float:
    """Probability of an F of at least `f`."""
    return float(_special().fdtrc(df_between, df_within, f))


def t_detectable(alpha: float, df: float, power: float) -> float:
    """Non-centrality at which a two-sided t test at `alpha` rejects with probability `power`.

    In units of the standard error: multiply by it to get the smallest difference that would be seen. The chance of
    rejecting on the wrong side is left out; at power 0.8 it is below one in a million.
    """
    return float(_special().nctdtrinc(df, 1 - power, t_critical(alpha, df)))


#: Of what is left, spent on the next analysis: most on the first, which for most plans is the only one.
SPENT_RATIO = 0.8
#: So little that nothing is claimed at it, and not zero, at which there is no interval.
_ALPHA_MIN = 1e-9


def alpha_at(analysis: int, alpha: float) -> float:
    """analysis: from 1. The chance of a false claim that this analysis may take, of `alpha` in all."""
    return alpha * SPENT_RATIO * (1 - SPENT_RATIO) ** (analysis - 1)


def alpha_after(spent: Sequence[float], alpha: float) -> float:
    """What the next analysis may take, where those before it took `spent`."""
    return max(_ALPHA_MIN, SPENT_RATIO * (alpha - sum(spent)))


#: Of the variance of a bundle's mean: where runs make up so much of it, more of them help.
WITHIN_MATTERS = 0.5


@dataclass(frozen=True, slots=True)
class Parts:
    """Standard deviations of logs, so nearly ratios: 0.021 is 2.1 %. runs: of a typical bundle (harmonic mean).

    between: 0 where the bundles differ no more than their runs explain.
    """

    between: float
    within: float
    runs: float

    @property
    def share_within(self) -> float:
        """Of the variance of a bundle's mean, what its runs make up."""
        of_runs = self.within**2 / self.runs
        whole = self.between**2 + of_runs
        return of_runs / whole if whole else 0.0


def parts(sides: Sequence[Sequence[Sequence[float]]]) -> Parts | None:
    """sides: for each, its bundles' values, all above 0. None where no side has two bundles, or no bundle two
    runs: then the two variances cannot be separated.

    A nested design with random effects: the variance within is pooled over bundles; that of the bundles' means,
    pooled over sides, less what the runs put into it, is what lies between. With a handful of bundles it is rough.
    Source: Kalibera and Jones, "Rigorous Benchmarking in Reasonable Time" (2013), section 6.
    """
    logs = [[np.log(np.asarray(runs, dtype=float)) for runs in side] for side in sides]
    bundles = [runs for side in logs for runs in side]
    df_between = sum(len(side) - 1 for side in logs)
    df_within = sum(runs.size - 1 for runs in bundles)
    if df_between < 1 or df_within < 1:
        return None
    within = sum(float(((runs - runs.mean()) ** 2).sum()) for runs in bundles) / df_within
    means = [np.asarray([runs.mean() for runs in side]) for side in logs]
    of_means = sum(float(((found - found.mean()) ** 2).sum()) for found in means) / df_between
    each = len(bundles) / sum(1 / runs.size for runs in bundles)
    return Parts(math.sqrt(max(0.0, of_means - within / each)), math.sqrt(within), each)


def parts_words(found: Sequence[Parts]) -> str:
    """Of one objective in some cells, at least one: how far bundles and their runs differ, and what would help."""
    within = _spread([one.within for one in found])
    if not any(one.between for one in found):
        said = f"runs of one bundle vary by {within} (standard deviation), and bundles by no more than that explains"
    else:
        between = _spread([one.between for one in found])
        said = f"bundles vary by {between} (standard deviation), runs of one bundle by {within}"
    if np.median([one.share_within for one in found]) >= WITHIN_MATTERS:
        return f"{said}: more bundles would narrow the intervals, and so would more repetitions of each"
    return f"{said}: more bundles would narrow the intervals, more repetitions hardly"


def _spread(deviations: Sequence[float]) -> str:
    """ "about 2.1 %", "0 % to 2.1 %" over several cells, "a factor of about 2.1"."""
    low, high = (math.exp(one) for one in (min(deviations), max(deviations)))
    if are_times(high):
        ends = [significant(low, 2), significant(high, 2)]
        return f"a factor of {'about ' if ends[0] == ends[1] else ''}{' to '.join(dict.fromkeys(ends))}"
    ends = [percent_words(one - 1) if one > 1 else "0 %" for one in (low, high)]
    return f"about {ends[0]}" if ends[0] == ends[1] else " to ".join(ends)
