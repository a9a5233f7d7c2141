"""One cell over its repetitions. docs/reference/python.md promises that `summarise` stays here."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .statistics import t_critical


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
