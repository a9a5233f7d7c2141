"""Within runs: trend over time, a change at one moment, and laws that hold in each run."""

from __future__ import annotations

from collections.abc import Iterator

from .. import figures
from ..document import Change, Law, Trend
from ..measured import Measured, Part, around_one, part, toward


def trend(test: Trend, measured: Measured) -> Iterator[Part]:
    metric = figures.trend(measured)
    bounds = around_one(test.within) if test.is_ == "flat" else toward(test.is_, 1.0)
    for cell in measured.cells.chosen(test.where):
        about = f"{measured.metric.label} of {measured.label(cell)}, from start to end of the run"
        yield part(about, measured.alone(cell, metric), *bounds, wanted=test.is_)


def change(test: Change, measured: Measured) -> Iterator[Part]:
    for cell in measured.cells.chosen(test.where):
        metric = figures.change(measured, cell)
        about = f"{measured.metric.label} of {measured.label(cell)}, after its change against before it"
        yield part(about, measured.alone(cell, metric), *toward(test.is_, test.by_at_least))


def law(test: Law, measured: Measured) -> Iterator[Part]:
    for cell in measured.cells.chosen(test.where):
        metric = figures.users_by_littles_law(measured, cell)
        about = f"throughput x mean response time against users, {measured.label(cell)}"
        yield part(about, measured.alone(cell, metric), *around_one(test.within))
