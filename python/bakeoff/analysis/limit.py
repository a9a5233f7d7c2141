"""A bound that a metric must keep: "latency_p99 < 2ms", "error_ratio < 0.1%", "rate > 5000/s".

Every run is checked against it by itself: repetitions are the evidence, and "in 3 of 5" says more than one mean. A run
that does not say what the metric is (overloaded, too many failures, not valid) does not keep the limit: what cannot be
shown is not promised. One of too few operations for the percentile is no evidence against it either, unless half of
them were beyond the limit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import ge, gt, le, lt
from typing import Final, Literal

from ..model.prices import Priced
from ..model.resolve import Rate
from .metric import Currency, Metric, Observed, Unit
from .percentiles import is_overloaded
from .registry import metric

Sign = Literal["<", "<=", ">", ">="]
Status = Literal[
    "met", "not met", "overloaded", "too many failed", "not valid", "disturbed", "too few operations", "not stated"
]

TOO_FEW: Final = "too few operations"
#: Of these a run missed the limit, whether its value is known or not.
MISSED: Final = ("not met", "overloaded", "too many failed")

_LIMIT = re.compile(r"\s*([^\s<>=]+)\s*(<=|>=|<|>)\s*([^\s<>=].*?)\s*", re.ASCII)
_QUANTITY = re.compile(r"([0-9][0-9_]*(?:\.[0-9]+)?|\.[0-9]+)\s*(\S*)")
_LAST_ZEROS = re.compile(r"\.0+(?!\d)|(?<=\.\d)0+(?!\d)|(?<=\.\d\d)0+(?!\d)")
_SIGNS: dict[str, Sign] = {"<": "<", "<=": "<=", ">": ">", ">=": ">="}
_KEPT = {"<": lt, "<=": le, ">": gt, ">=": ge}
_OPPOSITE: dict[Sign, Sign] = {"<": ">=", "<=": ">", ">": "<=", ">=": "<"}

_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_PER_S = {"/s": 1.0, "/min": 1 / 60, "/m": 1 / 60, "/h": 1 / 3600}
_COUNT = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6}
#: Powers of 1024 however they are written, as servers read their settings.
_BYTES = {"": 1.0, "B": 1.0}
_BYTES |= {f"{prefix}{end}": 1024.0**n for n, prefix in enumerate("KMGT", 1) for end in ("", "B", "iB")}


@dataclass(frozen=True, slots=True)
class _Units:
    """sizes: what people write, in the metric's own unit. hint: how it is written."""

    sizes: dict[str, float]
    hint: str


def _times(own_s: float) -> _Units:
    """A bare number is refused, as everywhere in a plan."""
    sizes = {name: size_s / own_s for name, size_s in _S.items()}
    return _Units(sizes, 'times are written with us, ms, s, m or h, as in "2ms"')


def _rates(own_per_s: float) -> _Units:
    """A bare number is one in the metric's own unit."""
    per = {f"{k}{unit}": n * size / own_per_s for k, n in _COUNT.items() for unit, size in _PER_S.items()}
    return _Units(per | _COUNT, 'rates are written as 5000, "5000/s", "5k/s" or "300/min"')


def _amounts(currency: str) -> _Units:
    return _Units({"": 1.0, currency: 1.0}, f"it is an amount in the plan's currency, as in 20 or 20 {currency}")


_SIZES = _Units(_BYTES, "sizes are written in powers of 1024, as 64MiB, 64MB or 64M")
_NUMBERS = _Units(_COUNT, "it is a plain number, as in 20 or 5k")
_UNITS: dict[Unit | Currency, _Units] = {
    "ms": _times(1e-3),
    "s": _times(1.0),
    "µs/op": _Units(_times(1e-6).sizes | {"": 1.0}, "CPU time per operation is written with us or ms, as in 50us"),
    "ratio": _Units({"%": 0.01, "": 1.0}, 'shares are written as "0.1%" or 0.001'),
    "ops/s": _rates(1.0),
    "1/s": _rates(1.0),
    "rows/s": _rates(1.0),
    "1/min": _rates(1 / 60),
    "bytes": _SIZES,
    "bytes/op": _SIZES,
    "count": _NUMBERS,
    "": _NUMBERS,
}
_HINT = 'write for example "latency_p99 < 2ms", "error_ratio < 0.1%" or "rate > 5000/s"'


class LimitError(ValueError):
    """What is wrong with a limit, and how it is written."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Limit:
    """bound: in the metric's unit, 0 or more. text: as it was written, with even spaces."""

    metric: Metric
    sign: Sign
    bound: float
    text: str

    def __str__(self) -> str:
        return self.text

    @property
    def is_ceiling(self) -> bool:
        return self.sign in ("<", "<=")

    @property
    def words(self) -> str:
        """For people: "p99 below 2 ms", "rate at least 5,000/s"."""
        way = {"<": "below", "<=": "at most", ">": "above", ">=": "at least"}[self.sign]
        bound = _LAST_ZEROS.sub("", self.metric.words(self.bound))  # it was not measured: 2.00 ms claims too much
        return f"{self.metric.label} {way} {bound}"

    def value_words(self, value: float) -> str:
        """As the metric's, but never what reads as the bound of a value that is not the bound."""
        words = self.metric.words(value)
        if value == self.bound or words != self.metric.words(self.bound):
            return words
        return f"just {'below' if value < self.bound else 'above'} {words}"

    @property
    def opposite(self) -> Limit:
        """Kept where this one is missed: "latency_p99 >= 2ms" of "latency_p99 < 2ms"."""
        sign = _OPPOSITE[self.sign]
        return replace(self, sign=sign, text=self.text.replace(f" {self.sign} ", f" {sign} ", 1))

    def implies(self, other: Limit) -> bool:
        """Whether who keeps this one keeps the other, too, but for a value that is exactly the bound."""
        if self.metric.name != other.metric.name or self.is_ceiling != other.is_ceiling:
            return False
        return self.bound <= other.bound if self.is_ceiling else self.bound >= other.bound

    def kept_by(self, value: float) -> bool:
        return bool(_KEPT[self.sign](value, self.bound))

    def status(self, seen: Observed) -> Status:
        """Of one run."""
        if not seen.run.valid:
            return "disturbed" if seen.run.standing == "disturbed" else "not valid"
        value = self.metric.of(seen)
        if value is None:
            return "overloaded" if is_overloaded(seen.run) else self._of_few(seen)
        if self.metric.at_least(seen) and self.is_ceiling and self.kept_by(value):
            return "not stated"  # a lower bound below the limit says nothing
        return "met" if self.kept_by(value) else "not met"

    def _of_few(self, seen: Observed) -> Status:
        """Of a run without a value that was not overloaded."""
        quantile, part = self.metric.quantile, self.metric.part
        spread = seen.response_of(part) if part else seen.response
        if quantile is None or spread is None or spread.count == 0:
            return "not stated"
        if not spread.has_too_few(quantile):
            return "too many failed"
        beyond = self.is_ceiling and quantile > 0.5 and spread.half_exceed(self.bound * 1e6)
        return "not met" if beyond else TOO_FEW

    def excess(self, seen: Observed) -> float:
        """How far beyond the limit a run was: log of value / bound, with the sign turned where more is asked for; below
        0 it was kept. Infinite where the run does not say, or where one of the two is 0; NaN where too few operations,
        or a disturbed run, are no evidence either way."""
        status = self.status(seen)
        if status in (TOO_FEW, "disturbed"):
            return math.nan
        if status not in ("met", "not met"):
            return math.inf
        value = self.metric.of(seen)
        if not value or value < 0 or self.bound <= 0:
            return -math.inf if status == "met" else math.inf
        ratio = math.log(value / self.bound)
        return ratio if self.is_ceiling else -ratio


def parse(text: str, rates: Iterable[Rate | Priced] = ()) -> Limit:
    """One limit. rates: metrics of the workloads' own. LimitError, or UnknownMetric with what may have been meant."""
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise LimitError(f'"{text}" is not a limit', _HINT)
    name, sign, value = match[1], match[2], match[3]
    found = metric(name, rates)
    return Limit(found, _SIGNS[sign], _bound(found, value), f"{name} {sign} {value}")


def _bound(found: Metric, text: str) -> float:
    units = _UNITS.get(found.unit) or _amounts(found.unit)
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise LimitError(f'"{text}" is not a value of {found.name}', units.hint)
    number, unit = match[1], match[2]
    if unit not in units.sizes:
        what = (
            f'"{unit}" is not a unit of {found.name}' if unit else f"{number} has no unit, and {found.name} is a time"
        )
        raise LimitError(what, units.hint)
    return float(number) * units.sizes[unit]
