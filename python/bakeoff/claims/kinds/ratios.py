"""Two sides, or one side and a bound: difference, ratio, equivalent, level, variability."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...analysis.wording import percent_words
from ..document import Difference, Equivalent, Level, RatioTest, Variability
from ..figures import variability as varies
from ..measured import Measured, Part, around_one, of_ratio, part, toward


def difference(test: Difference, measured: Measured) -> Iterator[Part]:
    yield of_ratio(measured.ratio(test.of, test.against), *toward(test.is_, test.by_at_least))


def ratio(test: RatioTest, measured: Measured) -> Iterator[Part]:
    yield of_ratio(measured.ratio(test.of, test.against), test.low or 0.0, test.high or math.inf)


def equivalent(test: Equivalent, measured: Measured) -> Iterator[Part]:
    yield of_ratio(measured.ratio(test.of, test.against), *around_one(test.within))


def level(test: Level, measured: Measured) -> Iterator[Part]:
    low, high = test.low or 0.0, math.inf if test.high is None else test.high
    for cell in measured.cells.chosen(test.of):
        about = f"{measured.metric.label} of {measured.label(cell)}"
        yield part(about, measured.alone(cell, zeros=True), low, high, shown=measured.metric.words)


def variability(test: Variability, measured: Measured) -> Iterator[Part]:
    metric = varies(measured, test.figure, test.interval)
    if test.against is not None and test.is_ is not None:
        yield of_ratio(measured.ratio(test.of, test.against, metric), *toward(test.is_, test.by_at_least))
        return
    low, high = test.at_least or 0.0, math.inf if test.at_most is None else test.at_most
    for cell in measured.cells.chosen(test.of):
        about = f"{metric.label} of {measured.label(cell)}"
        yield part(about, measured.alone(cell, metric), low, high, shown=percent_words)
