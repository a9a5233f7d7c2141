"""Which of a run's clients fell behind the others, although all were given the same work.

The others are the better half of the clients: where three of six are slow, the three that are not say what was
possible. A client is behind where it lacks more of their rate than three things explain: what is worth telling
(`LACK_MIN`), how much the better clients themselves differ, and chance. Chance is known from parts of the window in
which all are seen side by side, so that what slows every client for a while (a checkpoint) sets none apart.

benches/clients.py counts how often equal clients are told apart, and how often one with half the CPU is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .student import t_critical
from .wording import percent_words, significant

FloatArray = NDArray[np.float64]

#: Of the others' rate: less than that is what equal clients differ by from run to run.
LACK_MIN = 0.2
#: In scatters of the clients, where so many are the better half that it tells.
SCATTERS_MIN = 3.0
_TELL_SCATTER = 5
#: The better half of what is normally distributed scatters by so much of the whole, and its middle lies so far above
#: the middle of all, in scatters.
_BETTER_SCATTER, _BETTER_MIDDLE = 0.603, 0.674
#: Of the others' mean response time, in an open loop. Nothing is far from nothing: that much must lie between, too.
EXCESS_MIN = 0.5
EXCESS_NS_MIN = 100_000
#: Of runs of equal clients, those in which chance alone may set one apart.
ALPHA = 0.05
#: Of the window; each long enough that little of what happens by chance reaches into the next.
PARTS_MAX = 10
PARTS_MIN = 3
TENTHS_OF_A_PART_MIN = 3


@dataclass(frozen=True, slots=True)
class Behind:
    """client: its place among them. ratio: of the others' rate (below 1) or mean response time (above 1)."""

    client: int
    ratio: float
    words: str


def behind_in_rate(ended: FloatArray) -> list[Behind]:
    """ended: operations that ended ok, of each client (rows) in each tenth of a second of the window (columns)."""
    parts = _parts(ended, ended.shape[1] // TENTHS_OF_A_PART_MIN)
    return [
        Behind(client, ratio, f"{percent_words(ratio)} of the rate of the others")
        for client, ratio in _apart(parts, LACK_MIN)
    ]


def behind_in_response(ended: FloatArray, mean_ns: FloatArray) -> list[Behind]:
    """Of an open loop, where all have the rate that they are asked for. Both of each client (rows) in each second of
    the window; a mean of nothing counts for nothing, and may be NaN."""
    counts = _parts(ended, seconds := ended.shape[1])
    if not counts.size or (counts == 0).any():
        return []
    means = _parts(np.where(ended > 0, ended * np.nan_to_num(mean_ns), 0.0), seconds) / counts
    least_ns = EXCESS_NS_MIN / float(np.median(_better(-means).mean(axis=1)))
    return [
        Behind(client, ratio, f"{significant(ratio, 2)} times the mean response time of the others")
        for client, ratio in _apart(-means, max(EXCESS_MIN, -least_ns))
    ]


def _parts(values: FloatArray, count: int) -> FloatArray:
    """The sums of `count` parts of the window, or of PARTS_MAX; of none where these are too few, or there is but one
    client."""
    if len(values) < 2 or count < PARTS_MIN:
        return np.empty((len(values), 0))
    return np.stack([part.sum(axis=1) for part in np.array_split(values, min(PARTS_MAX, count), axis=1)], axis=1)


def _better(values: FloatArray) -> FloatArray:
    """The better half of the clients by all of the window, more than half of an odd number. More is better."""
    order = np.argsort(-values.sum(axis=1), kind="stable")
    return values[order[: math.ceil(len(values) / 2)]]


def _apart(values: FloatArray, least: float) -> list[tuple[int, float]]:
    """Clients that differ for the worse from the others, and the ratio in which they do. values: of each client (rows)
    in each part, all of one sign; more is better. least: the difference from 1 that is worth telling."""
    clients, parts = values.shape
    if not parts or not values.any():
        return []
    better = _better(values)
    middle = float(np.median(better.sum(axis=1)))
    others = better.mean(axis=0) * (middle / better.sum(axis=1).mean())
    ratios = values.sum(axis=1) / middle
    own_noise = values - ratios[:, None] * others
    freedom = (clients - 1) * (parts - 1)
    error = math.sqrt(float((own_noise**2).sum()) / freedom * parts) / abs(middle)
    chance = (t_critical(ALPHA / clients, freedom) + _BETTER_MIDDLE) * error
    scatter = float(np.std(better.sum(axis=1))) / abs(middle) / _BETTER_SCATTER if len(better) >= _TELL_SCATTER else 0.0
    bound = math.hypot(max(least, SCATTERS_MIN * scatter), chance)
    worse = np.sign(middle) * (1 - ratios)
    return [(client, float(ratio)) for client, ratio in enumerate(ratios) if worse[client] > bound]
