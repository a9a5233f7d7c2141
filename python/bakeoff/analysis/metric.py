"""What is said of a run in one number. Any metric can be what a comparison is judged by, what a threshold is set on, a
column, a chart. `registry` lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NewType

from ..model.boundary import Series
from ..model.prices import Prices
from ..model.records.bundle import LoadRecord
from ..model.records.run import RunRecord
from ..model.resolve import Rate
from .percentiles import (
    Bound,
    Distribution,
    Percentile,
    is_overloaded,
    merged_distribution,
    operation_distribution,
    same_operation,
)
from .wording import bytes_words, grouped, milliseconds_words, percent_words

Unit = Literal["ops/s", "1/s", "1/min", "rows/s", "ms", "s", "ratio", "bytes", "bytes/op", "µs/op", "count", ""]
#: Of a cost: "USD".
Currency = NewType("Currency", str)
Better = Literal["higher", "lower", "neither"]


@dataclass(frozen=True)
class Observed:
    """What a metric is taken from. load: of the run's data, None where they were not loaded by this plan. rates: that
    the run's workload has of its own. server_mean: of one column of server.parquet over the window; None where it was
    not watched. lags_s: how far each replica was behind, second by second of the window. prices: of its system;
    None where the plan says none."""

    run: RunRecord
    load: LoadRecord | None = None
    rates: Sequence[Rate] = ()
    server_mean: Callable[[str], float | None] = lambda _: None
    lags_s: Callable[[], Mapping[str, Sequence[float]]] = dict
    prices: Prices | None = None

    @cached_property
    def response(self) -> Distribution | None:
        """Of all operations; None where the queue grew, so that times say only how long the window was."""
        return None if is_overloaded(self.run) else merged_distribution([self.run])

    def per_op(self, total: float | None) -> float | None:
        """Of the operations that the rate counts."""
        achieved = self.run.rate_ops_per_s * self.run.window_s
        return None if total is None or achieved <= 0 else total / achieved

    def operation(self, name: str) -> list[Series]:
        """By outcome; of an operation that is only a part of others, those parts."""
        own = [series for series in self.run.series if same_operation(series.operation, name) and series.count]
        return [series for series in own if series.part_of is None] or own

    def response_of(self, operation: str) -> Distribution | None:
        return None if is_overloaded(self.run) else operation_distribution([self.run], operation)


OfRun = Callable[[Observed], float | None]
OfOperation = Callable[[Observed, str], float | None]


@dataclass(frozen=True, slots=True)
class Metric:
    """name: as plans and options have it. label: in a sentence ("the p99 of ..."). of: its value for one run, None
    where it is not defined or not known. per: `load` where all runs on the same data share one value, which is one
    piece of evidence however many runs there are."""

    name: str
    unit: Unit | Currency
    better: Better
    label: str
    about: str
    of: OfRun
    #: The same of one operation, if it is known.
    of_operation: OfOperation | None = None
    per: Literal["run", "load"] = "run"
    #: Of the percentile at this quantile.
    quantile: float | None = None
    #: Of a percentile, a mean or an extreme of response times.
    bound: Callable[[Distribution], Bound | Percentile] | None = None
    #: Whether the value is only the least that it can be, where that is not a response time's.
    is_least: Callable[[Observed], bool] | None = None
    #: The operation or the column that the name ends in.
    part: str = ""

    def at_least(self, seen: Observed) -> bool:
        """Whether the value is only the least that it can be."""
        if self.bound is None:
            return self.is_least is not None and self.is_least(seen)
        spread = seen.response_of(self.part) if self.part else seen.response
        return spread is not None and self.bound(spread).at_least

    def of_one(self, operation: str) -> Metric:
        """The same of one operation, of a metric that has `of_operation`."""
        of_operation = self.of_operation
        assert of_operation is not None, self.name
        return replace(
            self,
            name=f"{self.name}.{operation}",
            label=f"{operation} {self.label}",
            about=f"{self.about} Of {operation}.",
            of=lambda seen: of_operation(seen, operation),
            of_operation=None,
            part=operation,
        )

    def words(self, value: float) -> str:
        """With its unit: "12,345/s", "1.25 ms", "150 MiB"."""
        if self.unit in ("ops/s", "1/s", "rows/s"):
            return f"{grouped(value)}/s"
        if self.unit == "1/min":
            return f"{grouped(value)}/min"
        if self.unit in ("ms", "s"):
            return milliseconds_words(value if self.unit == "ms" else value * 1e3)
        if self.unit == "ratio":
            return percent_words(value, digits=3)
        if self.unit in ("bytes", "bytes/op"):
            return bytes_words(value)
        unit = {"µs/op": "µs", "count": ""}.get(self.unit, self.unit)
        return f"{grouped(value)} {unit}".rstrip()
