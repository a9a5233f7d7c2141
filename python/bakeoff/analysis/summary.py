"""One cell over its repetitions, and two audits of a single run: how much its seconds are worth, and Little's law."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bakeoff.analysis.student import t_critical


@dataclass(frozen=True, slots=True)
class Summary:
    """low, high: t interval of the mean at `level`, None below two values; cv: standard deviation over mean.

    geometric_mean: None unless all values are above zero. Comparisons are of geometric means, because ratios are
    compared.
    """

    count: int
    mean: float
    median: float
    minimum: float
    maximum: float
    level: float
    sd: float | None = None
    cv: float | None = None
    low: float | None = None
    high: float | None = None
    geometric_mean: float | None = None


def summarise(values: Sequence[float], *, level: float = 0.95) -> Summary | None:
    """values: one a repetition, at least one, else None.

    The interval says where the mean of many such repetitions would lie on this machine in this state; it assumes that
    they are independent and roughly normal, and knows nothing of other machines or days.
    """
    x = np.asarray(values, dtype=float)
    if x.size == 0:
        return None
    mean = float(x.mean())
    sd = float(x.std(ddof=1)) if x.size > 1 else None
    half = None if sd is None else t_critical(1 - level, x.size - 1) * sd / math.sqrt(x.size)
    return Summary(
        count=int(x.size),
        mean=mean,
        median=float(np.median(x)),
        minimum=float(x.min()),
        maximum=float(x.max()),
        level=level,
        sd=sd,
        cv=None if sd is None or mean == 0 else sd / abs(mean),
        low=None if half is None else mean - half,
        high=None if half is None else mean + half,
        geometric_mean=float(np.exp(np.log(x).mean())) if (x > 0).all() else None,
    )


def effective_sample_size(values: Sequence[float]) -> float:
    """How many independent seconds a correlated series is worth: n / (1 + 2 * sum of autocorrelations).

    values: one a second, in order, without gaps. The sum runs over pairs of lags while their sum is positive (Geyer's
    initial positive sequence), which keeps the noise of long lags out. At most n; a constant series counts as n.
    Source: Geyer (1992). It is biased upwards for short series (below about 50 values), and says nothing about drift.
    """
    x = np.asarray(values, dtype=float)
    n = x.size
    centred = x - x.mean() if n else x
    variance = float(centred @ centred)
    if n < 4 or variance <= 0:
        return float(n)
    padded = np.fft.rfft(centred, 2 * n)
    correlations = np.fft.irfft(padded * padded.conj(), 2 * n)[:n] / variance
    pairs = correlations[: n - n % 2].reshape(-1, 2).sum(axis=1)
    negative = np.flatnonzero(pairs <= 0)
    positive = pairs[: negative[0]] if negative.size else pairs
    return float(n / max(1.0, 2 * positive.sum() - 1))


@dataclass(frozen=True, slots=True)
class LittleAudit:
    """Little's law: users in the system = rate x mean response time.

    users: as the law has it. ratio: users over those there were, None if that is not known.
    """

    users: float
    ratio: float | None = None


def littles_law(rate_ops_per_s: float, mean_response_s: float, *, users: float | None = None) -> LittleAudit:
    """Audits published figures, and pools in which users wait (use the response time with the wait).

    In a closed loop without pauses the ratio is 1 up to the ends of the window. It cannot expose a client that is
    itself the queue: that wait lies inside the timed interval, and the law holds all the same.
    """
    implied = rate_ops_per_s * mean_response_s
    return LittleAudit(implied, implied / users if users else None)
