"""Achieved rate (acknowledged and right operations per second) over threads or another factor, always from zero."""

from __future__ import annotations

from collections.abc import Sequence

from .scales import from_zero
from .svg import Canvas
from .sweep import Facet, Sweep, draw
from .ticks import short

TITLE = "Throughput"
CAPTION = (
    "Acknowledged and right operations per second. Marker: typical repetition; bar: 95 % interval; rings:"
    " repetitions; cross: a run that is not valid. Panels share one axis, unless the rates of one are more than eight"
    " times those of another."
)


def throughput(facets: Sequence[Facet], names: Sequence[str], levels: Sequence[str], x_title: str) -> Canvas:
    sweep = Sweep(
        tuple(facets), tuple(names), tuple(levels), x_title, "operations per second", short, from_zero, "ops/s"
    )
    return draw(sweep)
