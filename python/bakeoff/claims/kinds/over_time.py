"""Within runs: trend over time, a change at one moment, and laws that hold in each run."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.estimate import Evidence, Obstacle, of_steps
from ...analysis.wording import counted
from ...errors import PlanError
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
    """The runs that say where the level changes are no evidence of how much."""
    for cell in measured.cells.chosen(test.where):
        found, values = measured.alone(cell), ""
        changed = figures.change(measured, cell)
        if isinstance(found, Evidence):
            found = Obstacle("too few", "the runs are too short to find a change")
            if changed is not None:
                found = of_steps(np.log(np.asarray(changed.ratios)), both=True)
                by = counted(changed.located_by, "run", "runs")
                values = (
                    f"cut after {changed.at} s, where {by} changed, and measured by the {len(changed.ratios)} others"
                )
        about = f"{measured.metric.label} of {measured.label(cell)}, after its change against before it"
        yield part(about, found, *toward(test.is_, test.by_at_least), values=values)


def law(test: Law, measured: Measured) -> Iterator[Part]:
    for cell in measured.cells.chosen(test.where):
        if cell.rate_ops_per_s is not None:
            hint = "the users of an open loop are not those that wait: select cells without `rate`"
            raise PlanError("Little's law is tested in a closed loop", where=measured.cells.place, hint=hint)
        metric = figures.users_by_littles_law(measured, cell)
        about = f"throughput x mean response time against users, {measured.label(cell)}"
        yield part(about, measured.alone(cell, metric), *around_one(test.within))
