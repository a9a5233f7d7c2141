"""Achieved rate (acknowledged and right operations per second) over threads or another factor, always from zero."""

from __future__ import annotations

from collections.abc import Sequence

from .scales import from_zero
from .svg import Canvas
from .sweep import MARKS, Axis, Facet, Limit, Sweep, draw
from .ticks import short

TITLE = "Throughput"
CAPTION = (
    f"Acknowledged and right operations per second. {MARKS} Panels share one axis, unless the rates of one are more"
    " than eight times those of another."
)


def throughput(facets: Sequence[Facet], names: Sequence[str], axis: Axis, limits: Sequence[Limit] = ()) -> Canvas:
    y_title = "operations per second"
    return draw(Sweep(tuple(facets), tuple(names), axis, y_title, short, from_zero, "ops/s", tuple(limits)))
