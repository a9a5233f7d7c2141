"""Any metric over threads or another factor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..analysis.metric import Metric
from .scales import Linear, Log, for_bytes, for_latency, from_zero
from .svg import Canvas
from .sweep import MARKS, Axis, Facet, Limit, Sweep, draw
from .ticks import bytes_tick, milliseconds_tick, percent_tick, short

CAPTION = f"{MARKS} No marker where some repetition has no value."
_TICKS = {
    "ms": milliseconds_tick,
    "s": lambda value_s: milliseconds_tick(value_s * 1e3),
    "bytes": bytes_tick,
    "bytes/op": bytes_tick,
    "ratio": percent_tick,
}
_SCALES: dict[str, Callable[[Sequence[float], float, float], Linear | Log]] = {
    "ms": for_latency,
    "s": for_latency,
    "bytes": for_bytes,
    "bytes/op": for_bytes,
}


@dataclass(frozen=True)
class Values:
    """How a metric's values stand at an axis."""

    title: str
    words: Callable[[float], str]
    scale: Callable[[Sequence[float], float, float], Linear | Log]

    @classmethod
    def of(cls, shown: Metric) -> Values:
        unit = "" if shown.unit in _TICKS or not shown.unit else f", {shown.unit}"
        return cls(f"{shown.label}{unit}", _TICKS.get(shown.unit, short), _SCALES.get(shown.unit, from_zero))


def metric(
    shown: Metric, facets: Sequence[Facet], names: Sequence[str], axis: Axis, limits: Sequence[Limit] = ()
) -> Canvas:
    y = Values.of(shown)
    return draw(Sweep(tuple(facets), tuple(names), axis, y.title, y.words, y.scale, shown.unit, tuple(limits)))
