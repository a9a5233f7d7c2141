"""The interval of one comparison, small enough to stand in a table row; all rows of a table share the axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .svg import AXIS, Canvas, fill, stroke

WIDTH = 160.0
HEIGHT = 20.0
_EDGE = 6.0


def reach_of(ratios: Sequence[float]) -> float:
    """How far the shared axis must go to either side of "equal", as a log-ratio; at least 5 %."""
    return max([abs(math.log(ratio)) for ratio in ratios if ratio > 0], default=0.0) * 1.05 + math.log(1.05)


def interval(ratio: float, low: float, high: float, *, series: int, reach: float, words: str) -> Canvas:
    """ratio, low, high: other / base. Right of the middle line: the other has more. series: of whom it colours."""
    canvas = Canvas(WIDTH, HEIGHT)
    middle = HEIGHT / 2

    def place(value: float) -> float:
        share = max(-1.0, min(1.0, math.log(value) / reach))
        return WIDTH / 2 + share * (WIDTH / 2 - _EDGE)

    canvas.line(WIDTH / 2, 1, WIDTH / 2, HEIGHT - 1, stroke=AXIS, class_="axis", stroke_dasharray="2 2")
    canvas.line(place(low), middle, place(high), middle, **stroke(series, width=2.0))
    for end in (low, high):
        canvas.line(place(end), middle - 4, place(end), middle + 4, **stroke(series, width=1.5))
    canvas.tip(words, "circle", cx=place(ratio), cy=middle, r=4, **fill(series))
    return canvas
