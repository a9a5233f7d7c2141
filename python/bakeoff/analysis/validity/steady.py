"""Did the run settle? Judged after it ended, and the judgement only warns.

The series is one value a second of the measurement window: the rate in a closed loop, the mean response time in an
open one (whose rate is what was offered and shows nothing). Four questions: did it stand still (silent seconds), where
did the first transient end (MSER-5), did the level still move after that (trend), how restless was it (variation). See
docs/method/steady-state.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..statistics import t_two_sided_p
from ..wording import percent_words

SECONDS_MIN = 30  # the default window; docs/method/steady-state.md has how well it is judged
BATCH_S = 5
TREND_BATCHES = 10
TREND_RATIO_MIN = 0.05
TRANSIENT_RATIO_MIN = 0.05
TREND_ALPHA = 0.05
SLICE_S = 10
# From this rate on a second without any operation is no chance (a Poisson stream has one in 500 million).
SILENCE_OPS_PER_S_MIN = 20

Verdict = Literal["steady", "transient", "trend", "stalled", "not tested"]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trend:
    """change_ratio: what the fitted line gains over the series, relative to its mean; p_value: of its slope."""

    change_ratio: float
    p_value: float

    @property
    def shown(self) -> bool:
        return self.p_value < TREND_ALPHA and abs(self.change_ratio) > TREND_RATIO_MIN


@dataclass(frozen=True, slots=True)
class SteadyState:
    """verdict: the first of `stalled`, `not tested`, `trend`, `transient`, `steady` that holds.

    settled_after_s: where MSER-5 would cut, seconds from the start of the window.
    transient_ratio: how far the mean of the whole window lies from that of the settled part.
    cv: standard deviation of the one-second values over their mean.
    largest_deviation_ratio: of 10 s means from the mean, signed; None below 20 s.
    silent_s: seconds in which no operation ended well.
    """

    verdict: Verdict
    words: str
    seconds: int
    silent_s: int = 0
    settled_after_s: int | None = None
    transient_ratio: float | None = None
    trend: Trend | None = None
    cv: float | None = None
    largest_deviation_ratio: float | None = None

    @property
    def ok(self) -> bool | None:
        """None: nothing can be said."""
        return None if self.verdict == "not tested" else self.verdict == "steady"


def judge(
    rates: Sequence[float] | FloatArray, *, response_ms: Sequence[float] | FloatArray | None = None
) -> SteadyState:
    """rates: operations/s that ended well in each second of the window, in order, zeros included. response_ms: their
    mean response times, NaN in silent seconds; where given (an open loop) it is what is judged."""
    rate = np.asarray(rates, dtype=float)
    silent_s = int((rate == 0).sum())
    what, values = "rate", rate
    if response_ms is not None:
        what, values = "mean response time", _waited_through(np.asarray(response_ms, dtype=float))
    cv, deviation = variation(values), largest_deviation(values)
    if words := _stalled(rate):
        return SteadyState("stalled", words, values.size, silent_s, cv=cv, largest_deviation_ratio=deviation)
    if values.size < SECONDS_MIN or values.mean() <= 0:
        words = f"not tested: {values.size} one-second values of the {what}, needs {SECONDS_MIN}"
        if values.size >= SECONDS_MIN:
            words = f"not tested: the {what} was zero throughout"
        return SteadyState("not tested", words, values.size, silent_s, cv=cv, largest_deviation_ratio=deviation)
    cut = mser5(values)
    settled = values[cut:]
    transient = float(values.mean() / settled.mean() - 1) if settled.mean() > 0 else math.inf
    trend = fit_trend(settled)
    verdict, words = _verdict(what, cut, transient, trend, deviation)
    return SteadyState(verdict, words, values.size, silent_s, cut, transient, trend, cv, deviation)


def _stalled(rate: FloatArray) -> str:
    """In words; empty if no second was silent, or so little was done that silent seconds are to be expected."""
    silent = np.flatnonzero(rate == 0)
    if silent.size in (0, rate.size) or rate[rate > 0].mean() < SILENCE_OPS_PER_S_MIN:
        return ""
    return (
        f"nothing ended well in {silent.size} of {rate.size} seconds, first in second {silent[0]} of the window:"
        " the system stood still"
    )


def _waited_through(response_ms: FloatArray) -> FloatArray:
    """Every second in its place: a silent one has the time of the next that is not, because whoever was answered then
    was waiting meanwhile. Without silent seconds at the end, which nobody knows."""
    answered = np.flatnonzero(np.isfinite(response_ms))
    if answered.size == 0:
        return np.empty(0)
    seconds = np.arange(answered[-1] + 1)
    filled: FloatArray = response_ms[answered[np.searchsorted(answered, seconds)]]
    return filled


def _verdict(what: str, cut: int, transient: float, trend: Trend, deviation: float | None) -> tuple[Verdict, str]:
    if trend.shown:  # first, because a series that still moves has no settled part to compare with
        verb = "rose" if trend.change_ratio > 0 else "fell"
        over = f"between second {cut} and the end of the window" if cut else "over the window"
        return "trend", f"the {what} still {verb} by {percent_words(abs(trend.change_ratio))} {over}"
    if abs(transient) > TRANSIENT_RATIO_MIN:
        side = "above" if transient > 0 else "below"
        return "transient", (
            f"the {what} had settled only by second {cut} of the window; its mean over the whole window is"
            f" {percent_words(abs(transient))} {side} that of the settled part (use a longer warm-up)"
        )
    within = "" if deviation is None else f"; 10 s means stayed within {percent_words(abs(deviation))} of the mean"
    return "steady", f"no trend of the {what} shown{within}"


def mser5(values: FloatArray) -> int:
    """Seconds to cut from the start: the multiple of 5, at most half, that minimises s^2 / (n - d) of what remains.

    s^2: variance of the means of batches of five; n batches, d of them cut. A tie goes to the shorter cut.
    Retrospective: it cannot end a warm-up. A stationary but correlated series is often cut too, so the cut alone
    proves nothing. Source: White and Spratt (2000), MSER-5.
    """
    batches = _batch_means(values, values.size // BATCH_S, from_end=False)
    n = batches.size
    if n < 2:
        return 0
    scores = [float(np.var(batches[d:])) / (n - d) for d in range(n // 2 + 1)]
    return BATCH_S * int(np.argmin(scores))


def fit_trend(values: FloatArray) -> Trend:
    """Least-squares line through ten batch means (a few values before the first whole batch are left out).

    p_value: t test of the slope with 8 degrees of freedom. Assumes batch means are independent; correlation longer
    than a batch raises false alarms, which is why the change must also be above 5 %.
    """
    y = _batch_means(values, TREND_BATCHES, from_end=True)
    x = np.arange(TREND_BATCHES) - (TREND_BATCHES - 1) / 2
    slope = float(x @ y / (x @ x))
    residuals = y - y.mean() - slope * x
    df = TREND_BATCHES - 2
    error = math.sqrt(float(residuals @ residuals) / df / float(x @ x))
    change = slope * TREND_BATCHES / float(y.mean()) if y.mean() > 0 else math.inf
    if error <= abs(slope) * 1e-12:  # a perfect line, or a constant
        return Trend(change, 0.0 if slope else 1.0)
    return Trend(change, t_two_sided_p(slope / error, df))


def variation(values: FloatArray) -> float | None:
    """Coefficient of variation of the one-second values (sample standard deviation over mean)."""
    if values.size < 2 or values.mean() <= 0:
        return None
    return float(values.std(ddof=1) / values.mean())


def largest_deviation(values: FloatArray) -> float | None:
    """The 10 s mean farthest from the mean, as a signed ratio; None below two slices."""
    slices = values.size // SLICE_S
    if slices < 2 or values.mean() <= 0:
        return None
    deviations = _batch_means(values, slices, from_end=False, length=SLICE_S) / values.mean() - 1
    return float(deviations[np.argmax(np.abs(deviations))])


def _batch_means(values: FloatArray, batches: int, *, from_end: bool, length: int | None = None) -> FloatArray:
    """Means of `batches` equal batches; what does not fill one is left out at the start or at the end."""
    if batches == 0:
        return np.empty(0)
    length = length or values.size // batches
    used = batches * length
    part = values[values.size - used :] if from_end else values[:used]
    means: FloatArray = part.reshape(batches, length).mean(axis=1)
    return means
