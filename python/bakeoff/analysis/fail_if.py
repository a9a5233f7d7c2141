"""`--fail-if` of `bakeoff compare`: a threshold on the change of an objective, decided on its interval.

    rate < -5%            latency_p99 > 10%            rate < -5% , latency_p99 > 10%   (either)

The change is the new bundle's value relative to the old one's. A condition *fails* when the whole interval lies beyond
the threshold: "worse than 5 %, with confidence". It *passes* when the whole interval lies on the other side. An
interval that crosses the threshold is *undecided*: the check was not sharp enough. With `on="estimate"` the middle of
the interval decides, which finds more and is wrong more often. Where the cell could not be judged at all it is *not
judged*, which counts as failing: a check that cannot see must not pass for ever.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import gt, lt
from typing import Literal

from bakeoff.analysis.compare import Comparison
from bakeoff.analysis.limit import TOO_FEW, Limit
from bakeoff.analysis.limit import parse as parse_limit
from bakeoff.analysis.metric import Metric
from bakeoff.analysis.registry import metric
from bakeoff.analysis.wording import percent_words
from bakeoff.model.boundary import Rate

On = Literal["interval", "estimate"]
Status = Literal["passed", "failed", "undecided", "not judged"]

_CONDITION = re.compile(r"\s*([^\s<>]+)\s*([<>])\s*([+-]?\d+(?:\.\d+)?|[+-]?\.\d+)\s*%\s*\Z", re.ASCII)


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


def parse(text: str, rates: Sequence[Rate] = ()) -> list[Condition]:
    """One or more conditions, separated by commas; rates: metrics of the workloads' own. ValueError with a hint for
    anything else."""
    return [_parse_one(part, rates) for part in text.split(",")]


def parse_threshold(text: str, rates: Sequence[Rate] = ()) -> Condition | Limit:
    """Of a plan: a change against the baseline ("rate < -5%") or an absolute value ("latency_p99 > 2ms"). A percentage
    of a share is a value ("error_ratio > 1%"), unless it has a sign. ValueError with a hint for anything else."""
    match = _CONDITION.match(text)
    if match and (metric(match[1], rates).unit != "ratio" or match[3][0] in "+-"):
        return _parse_one(text, rates)
    return parse_limit(text, rates)


def _parse_one(text: str, rates: Sequence[Rate]) -> Condition:
    match = _CONDITION.match(text)
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
