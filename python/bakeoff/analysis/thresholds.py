"""Thresholds: of the change of an objective (`--fail-if` of `bakeoff compare`, decided on its interval), and of an
absolute value that a plan must not reach.

    rate < -5%            latency_p99 > 10%            rate < -5% , latency_p99 > 10%   (either)

The change is the new bundle's value relative to the old one's. A condition *fails* when the whole interval lies
beyond the threshold: "worse than 5 %, with confidence". It *passes* when the whole interval lies on the other side.
An interval that crosses the threshold is *undecided*: the check was not sharp enough. With `on="estimate"` the middle
of the interval decides, which finds more and is wrong more often. Where the cell could not be judged at all it is
*not judged*, which counts as failing: a check that cannot see must not pass for ever.

An absolute value. One run: its value decides. Several runs: the interval of the typical run decides, and it is
undecided where the interval reaches across the threshold. Each end of the interval is wrong with a probability of at
most `alpha`, so a check that should pass fails with at most that probability, and the other way round.

The interval. Of up to TYPICAL_RUNS_MAX runs the means of all subsets of the logarithms are sorted; the true centre is
as likely to lie in any of the gaps between them, whatever the scatter, as long as it is symmetric: Hartigan (1969),
"Using subsample values as typical values". With five runs the ends are the lowest and the highest run: it fails where
all five runs do. An outlying run cannot widen it without bound. Where there are too few runs for it, or too many to
list the subsets, the t interval of the logarithms is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import gt, lt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bakeoff.analysis.compare import Comparison
from bakeoff.analysis.limit import TOO_FEW, Limit
from bakeoff.analysis.limit import parse as parse_limit
from bakeoff.analysis.metric import Metric
from bakeoff.analysis.registry import metric
from bakeoff.analysis.wording import percent_words
from bakeoff.model.prices import Priced
from bakeoff.model.resolve import Rate

from .statistics import t_critical

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
    """Of one end of one interval, if `judged` values are judged by intervals and this analysis may be wrong with the
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


On = Literal["interval", "estimate"]
Status = Literal["passed", "failed", "undecided", "not judged"]

_CONDITION = re.compile(r"\s*([^\s<>]+)\s*([<>])\s*([+-]?\d+(?:\.\d+)?|[+-]?\.\d+)\s*%\s*\Z", re.ASCII)
#: A change whose percent sign was forgotten: values have no sign.
_SIGNED = re.compile(r"\s*([^\s<>]+\s*[<>]\s*[+-][\d.]+)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Condition:
    """Fails when the relative change of the objective lies below (`<`) or above (`>`) `threshold_ratio`."""

    objective: Metric
    sign: Literal["<", ">"]
    threshold_ratio: float

    def __str__(self) -> str:
        return f"{self.objective.name} {self.sign} {self.threshold_ratio * 100:+.10g}%"

    @property
    def words(self) -> str:
        """For people: "rate lower by more than 5 %", "p99 higher"; what a change may not even reach: "rate not higher
        by 5 %"."""
        size = f"{abs(self.threshold_ratio) * 100:.10g} %"
        way = "higher" if self.sign == ">" else "lower"
        if self.threshold_ratio == 0:
            return f"{self.objective.label} {way}"
        if (self.threshold_ratio > 0) == (self.sign == ">"):
            return f"{self.objective.label} {way} by more than {size}"
        return f"{self.objective.label} not {'lower' if self.sign == '>' else 'higher'} by {size}"


@dataclass(frozen=True, slots=True)
class Outcome:
    condition: Condition
    comparison: Comparison
    status: Status
    words: str

    @property
    def fails(self) -> bool:
        return self.status in ("failed", "not judged")


#: Of a threshold on a value, which begins with a digit.
_LIMIT_SIGNS = re.compile(r"[<>]=?\s*[0-9.]")


def parse(text: str, rates: Sequence[Rate | Priced] = ()) -> list[Condition]:
    """One or more conditions, separated by commas; rates: metrics of the workloads' own. ValueError with a hint for
    anything else."""
    return [_parse_one(part, rates) for part in text.split(",")]


def parse_threshold(text: str, rates: Sequence[Rate | Priced] = ()) -> Condition | Limit:
    """Of a plan: a change against the baseline ("rate < -5%") or an absolute value ("latency_p99 > 2ms"). A percentage
    of a share is a value ("error_ratio > 1%"), unless it has a sign. ValueError with a hint for anything else."""
    match = _CONDITION.match(text)
    if match and (metric(match[1], rates).unit != "ratio" or match[3][0] in "+-"):
        return _parse_one(text, rates)
    if match := _SIGNED.fullmatch(text):
        raise ValueError(f'a change is written in percent: "{match[1]}%"')
    return parse_limit(text, rates)


def _parse_one(text: str, rates: Sequence[Rate | Priced]) -> Condition:
    match = _CONDITION.match(text)
    if not match and _LIMIT_SIGNS.search(text) and not text.rstrip().endswith("%"):
        raise ValueError(
            f"{text.strip()!r} is a value, and bundles are compared by changes in percent: write for example"
            ' "rate < -5%" or "latency_p99 > 10%" (`bakeoff run --fail-if` takes values, too)'
        )
    if not match:
        raise ValueError(f'cannot read {text.strip()!r}: write for example "rate < -5%" or "latency_p99 > 10%"')
    threshold = float(match[3]) / 100
    if threshold <= -1:
        raise ValueError(f"{text.strip()!r} can never hold: nothing changes by -100 % or less")
    return Condition(metric(match[1], rates), "<" if match[2] == "<" else ">", threshold)


def evaluate(
    conditions: Iterable[Condition], comparisons: Iterable[Comparison], *, on: On = "interval"
) -> list[Outcome]:
    """Each condition against every comparison of its objective. Base of the comparisons: the old bundle.

    ValueError if a condition has no comparison at all, because it would pass without having looked.
    """
    comparisons = list(comparisons)
    outcomes = []
    for condition in conditions:
        matching = [c for c in comparisons if c.objective.name == condition.objective.name]
        if not matching:
            raise ValueError(f"nothing to hold {str(condition)!r} against: no {condition.objective.name} was compared")
        outcomes += [_evaluate_one(condition, c, on) for c in matching]
    return outcomes


def _evaluate_one(condition: Condition, c: Comparison, on: On) -> Outcome:
    if c.ratio is None or c.low is None or c.high is None:
        status: Status = "undecided" if c.verdict == TOO_FEW else "not judged"
        return Outcome(condition, c, status, f"{condition}: {status} in {c.cell}: {c.words}")
    status = status_of(condition, c.ratio, c.low, c.high, on=on)
    return Outcome(condition, c, status, f"{condition}: {status} in {c.cell}: {_change_words(c)}")


def status_of(condition: Condition, ratio: float, low: float, high: float, *, on: On = "interval") -> Status:
    """Of a change with its interval, other / base."""
    limit = 1 + condition.threshold_ratio
    beyond, nearest, farthest = (gt, low, high) if condition.sign == ">" else (lt, high, low)
    if on == "estimate":
        return "failed" if beyond(ratio, limit) else "passed"
    if beyond(nearest, limit):
        return "failed"
    return "undecided" if beyond(farthest, limit) else "passed"


def _change_words(c: Comparison) -> str:
    if c.ratio is None or c.low is None or c.high is None:
        return c.words
    change, low, high = (_signed(x - 1) for x in (c.ratio, c.low, c.high))
    return f"{c.objective.label} of {c.other} changed by {change} against {c.base} ({low} to {high})"


def _signed(ratio: float) -> str:
    return ("+" if ratio > 0 else "") + percent_words(ratio)
