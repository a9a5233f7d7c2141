"""A percentile of response time over threads or another factor; logarithmic where the range asks for it."""

from __future__ import annotations

from collections.abc import Sequence

from .scales import for_latency
from .svg import Canvas
from .sweep import Facet, Sweep, draw
from .ticks import milliseconds_tick

TITLE = "Response time"
CAPTION = (
    "From the intended start of an operation to its answer, retries included. Timeouts and unanswered operations count"
    " with at least the time they had waited. Marker: typical repetition; bar: 95 % interval; rings: repetitions;"
    " cross: a run that is not valid."
)


def latency(
    percentile: str, facets: Sequence[Facet], names: Sequence[str], levels: Sequence[str], x_title: str
) -> Canvas:
    y_title = f"{percentile} response time"
    sweep = Sweep(tuple(facets), tuple(names), tuple(levels), x_title, y_title, milliseconds_tick, for_latency, "ms")
    return draw(sweep)
