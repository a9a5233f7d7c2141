"""The typical repetition of a cell: what stands in tables, charts and headlines is what comparisons are made of.

A figure of a cell is the geometric mean of its repetitions' own, percentiles included: the repetition is the unit of
evidence, so its interval is over repetitions. See docs/decisions/0041-one-percentile-a-page.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..analysis.summary import summarise
from ..model.records import Percentiles, RunRecord
from .answer import QUANTILE_WORDS, Spread

_TIMES = (*QUANTILE_WORDS, "mean_ms")


def typical_response(runs: Sequence[RunRecord]) -> tuple[Percentiles, dict[str, Spread]]:
    """Response times of the typical run, and each with its spread. A percentile that one of the runs does not have is
    not stated; `words` say why. The longest time is that of all of them."""
    spreads: dict[str, Spread] = {}
    words: dict[str, str] = {}
    for name in _TIMES:
        values = [value for run in runs if (value := getattr(run.response, name)) is not None]
        if len(values) == len(runs) and (spread := spread_of(values)):
            spreads[name] = spread
        elif name in QUANTILE_WORDS:
            words[name] = _why_not(name, runs)
    response = Percentiles(
        **{name: spread.value for name, spread in spreads.items()},
        max_ms=max((run.response.max_ms for run in runs if run.response.max_ms is not None), default=None),
        words=words,
        at_least=[name for name in (*spreads, "max_ms") if any(name in run.response.at_least for run in runs)],
    )
    return response, spreads


def _why_not(name: str, runs: Sequence[RunRecord]) -> str:
    """ "not defined (2.0 % failed) in 1 of 5 runs": in the words of the first that has none."""
    without = [run for run in runs if getattr(run.response, name) is None]
    why = without[0].response.words.get(name, "not known") if without else "no samples"
    return why if len(without) == len(runs) else f"{why} in {len(without)} of {len(runs)} runs"


def spread_of(values: Sequence[float]) -> Spread | None:
    """The typical repetition is the geometric mean and its interval that of the logarithms, because comparisons are of
    ratios: what is printed of two cells is then the ratio that is printed of their comparison."""
    plain = summarise(values)
    if plain is None:
        return None
    value, low, high = plain.mean, plain.low, plain.high
    if plain.minimum > 0 and (logs := summarise([math.log(value) for value in values])):
        value = math.exp(logs.mean)
        low, high = (None if edge is None else math.exp(edge) for edge in (logs.low, logs.high))
    return Spread(
        value=value,
        low=None if low is None else max(0.0, low),
        high=high,
        minimum=plain.minimum,
        maximum=plain.maximum,
        cv=plain.cv,
    )
