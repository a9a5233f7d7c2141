"""Two sides, or one side and a bound: difference, ratio, equivalent, value, variability."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ...analysis.decision import Known
from ...analysis.estimate import REPETITIONS_MIN, Obstacle
from ...analysis.wording import percent_words
from ...findings.run_values import run_values
from ...model.records.plan import CellRecord
from ..document import Difference, Equivalent, RatioTest, Value, Variability
from ..figures import variability as varies
from ..measured import Measured, Part, around_one, bounds_words, of_ratio, part, toward


def difference(test: Difference, measured: Measured) -> Iterator[Part]:
    yield of_ratio(measured.ratio(test.of, test.against), *toward(test.is_, test.by_at_least))


def ratio(test: RatioTest, measured: Measured) -> Iterator[Part]:
    yield of_ratio(measured.ratio(test.of, test.against), test.low, test.high)


def equivalent(test: Equivalent, measured: Measured) -> Iterator[Part]:
    yield of_ratio(measured.ratio(test.of, test.against), *around_one(test.within))


def value(test: Value, measured: Measured) -> Iterator[Part]:
    """A metric that is zero in every run, such as errors, has no logarithm and needs none."""
    low, high = test.at_least or 0.0, test.at_most or math.inf
    for cell in measured.cells.chosen(test.of):
        about = f"{measured.metric.label} of {measured.label(cell)}"
        if _is_zero(measured, cell):
            wanted = bounds_words(low, high, measured.metric.words)
            yield Part(about, wanted, Known("fails" if low else "holds"), "0 in every run", measured.metric.words)
        else:
            yield part(about, measured.alone(cell), low, high, shown=measured.metric.words)


def _is_zero(measured: Measured, cell: CellRecord) -> bool:
    if measured.bundle is None or isinstance(measured.alone(cell), Obstacle) is False:
        return False
    values = run_values(measured.bundle, measured.runs[cell.id], measured.metric).values()
    return len(values) >= REPETITIONS_MIN and all(value == 0 for value in values)


def variability(test: Variability, measured: Measured) -> Iterator[Part]:
    metric = varies(measured, test.figure, test.interval)
    if test.against is not None and test.is_ is not None:
        yield of_ratio(measured.ratio(test.of, test.against, metric), *toward(test.is_, test.by_at_least))
        return
    low, high = test.at_least or 0.0, test.at_most or math.inf
    for cell in measured.cells.chosen(test.of):
        about = f"{metric.label} of {measured.label(cell)}"
        yield part(about, measured.alone(cell, metric), low, high, shown=percent_words)
