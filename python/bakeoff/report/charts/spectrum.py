"""Latency spectrum: response time at every percentile, the tail given as much room as the middle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .panel import Panel, apart
from .scales import Nines, for_latency, milliseconds_tick
from .svg import INVALID, Attributes, Canvas, fill, fitted, legend, stroke, text_width

TITLE = "Latency spectrum"
CAPTION = (
    "All valid repetitions together, from p10 up to where ten operations were slower. Each step to the right is the"
    " tenth of operations that were slowest. A line that ends in a cross: failed operations begin there, so higher"
    " percentiles are not defined."
)
WIDTH = 1000.0
_LEFT = 66.0


@dataclass(frozen=True)
class Curve:
    """points: (share of operations, ms), ascending. failed_from: the share where failures begin, if any."""

    series: int
    name: str
    points: tuple[tuple[float, float], ...]
    failed_from: float | None = None


@dataclass(frozen=True)
class Facet:
    title: str
    curves: tuple[Curve, ...]


def spectrum(facets: Sequence[Facet], names: Sequence[str]) -> Canvas:
    points = [point for facet in facets for curve in facet.curves for point in curve.points]
    highest = max((share for share, _ in points), default=0.99)
    columns = 1 if len(facets) == 1 else 2 if len(facets) in (2, 4) else 3
    rows = -(-len(facets) // columns)
    labelled = len(names) > 1 and columns < 3
    room = min(max((text_width(n, 12) for n in names), default=0.0) + 14, 150.0) if labelled else 14.0
    height = 300.0 if rows == 1 else 200.0
    pitch = WIDTH / columns
    canvas = Canvas(WIDTH, 0)
    top = 48.0 + (legend(canvas, _LEFT, 14, list(names), WIDTH - _LEFT) if len(names) > 1 else 0)
    for index, facet in enumerate(facets):
        x, y = index % columns * pitch + _LEFT, top + index // columns * (height + 84)
        width = pitch - _LEFT - room
        y_scale = for_latency([ms for _, ms in points], y + height, y)
        panel = Panel(
            *(x, y, width, height, Nines(max(highest, 0.9), x, x + width), y_scale, share_words, milliseconds_tick),
            room=room,
        )
        first = index % columns == 0
        panel.axes(canvas, title=facet.title, x_title="percentile", y_title="response time" if first else "")
        with canvas.group(**panel.readable(facet.title, x_unit="percentile", y_unit="ms")):
            for curve in facet.curves:
                _curve(canvas, panel, curve)
        if labelled:
            _end_labels(canvas, panel, facet, room)
    canvas.height = top + rows * (height + 84) - 84 + 48
    return canvas


def share_words(share: float) -> str:
    """0.999 -> p99.9"""
    return f"p{share * 100:.10g}"


def _curve(canvas: Canvas, panel: Panel, curve: Curve) -> None:
    if not curve.points:
        return
    places = [(panel.x_scale(share), panel.y_scale(ms)) for share, ms in curve.points]
    with canvas.group(data_series=str(curve.series), data_name=curve.name):
        canvas.polyline(places, **stroke(curve.series))
        if curve.failed_from is not None:
            x, y = places[-1]
            words = f"{curve.name}: failures begin at {share_words(curve.failed_from)}"
            for dx in (-4.0, 4.0):
                canvas.line(x - dx, y - 4, x + dx, y + 4, stroke=INVALID, stroke_width=1.6, class_="invalid")
            canvas.tip(words, "circle", cx=x, cy=y, r=6, fill=INVALID, fill_opacity="0")


def _end_labels(canvas: Canvas, panel: Panel, facet: Facet, room: float) -> None:
    shown = [curve for curve in facet.curves if curve.points]
    ends = [(panel.x_scale(c.points[-1][0]), panel.y_scale(c.points[-1][1])) for c in shown]
    places = apart([y for _, y in ends], 15, panel.y + 6, panel.bottom - 6)
    for curve, (x, _), y in zip(shown, ends, places, strict=True):
        attributes: Attributes = {**fill(curve.series), "data-series": str(curve.series)}
        canvas.text(x + 8, y, fitted(curve.name, room - 8, 12), "name", middle=True, attributes=attributes)
