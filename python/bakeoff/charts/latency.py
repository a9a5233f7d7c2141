"""A percentile of response time over threads or another factor; logarithmic where the range asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from .scales import for_latency
from .svg import Canvas
from .sweep import MARKS, Axis, Facet, Limit, Sweep, draw
from .ticks import milliseconds_tick

TITLE = "Response time"
CAPTION = (
    "From the intended start of an operation to its answer, retries included. Timeouts and unanswered operations count"
    f" with at least the time they had waited. {MARKS}"
)


def latency(
    percentile: str, facets: Sequence[Facet], names: Sequence[str], axis: Axis, limits: Sequence[Limit] = ()
) -> Canvas:
    y_title = f"{percentile} response time"
    sweep = Sweep(tuple(facets), tuple(names), axis, y_title, milliseconds_tick, for_latency, "ms", tuple(limits))
    return draw(sweep)
