"""A figure over many bundles: each with its repetitions' range, the levels, and where they change."""

from __future__ import annotations

from collections.abc import Callable

from ...findings.track import Point, Track
from .panel import Panel
from .scales import Linear
from .svg import INVALID, WARM_UP, Canvas, fill, stroke

WIDTH = 1000.0
CAPTION = (
    "Each dot is a bundle, its line the range of its repetitions. Dashed: a change of the level, and grey where it may"
    " lie with 95 % certainty. The axis does not begin at zero."
)
MACHINES_CAPTION = (
    " Each value is drawn as it would be on the machine with most bundles, by the level of its own machine; grey where"
    " that is not known yet."
)
_HEIGHT = 220.0
_LEFT = 86.0
#: Of the range of values, above and below it.
_ROOM_RATIO = 0.08


def history(track: Track, words: Callable[[float], str], label: str) -> Canvas:
    """words: of a value, with its unit."""
    canvas = Canvas(WIDTH, _HEIGHT + 84)
    panel = _panel(track, words)
    for shift in track.shifts:
        left, right = panel.x_scale(shift.first - 1), panel.x_scale(shift.last)
        canvas.add("rect", x=left, y=panel.y, width=right - left, height=panel.height, fill=WARM_UP, class_="warm-up")
    panel.axes(canvas, title=track.cell, y_title="")
    for shift in track.shifts:
        at = panel.x_scale(shift.at - 0.5)
        canvas.line(at, panel.y, at, panel.bottom, stroke=INVALID, stroke_dasharray="6 3", class_="fault")
    _levels(canvas, panel, track)
    with canvas.group(**panel.readable(label, x_unit="", y_unit="")):
        for place, point in enumerate(track.points):
            x, y = panel.x_scale(place), panel.y_scale(_drawn(point, point.value))
            low, high = (panel.y_scale(_drawn(point, value)) for value in (point.low, point.high))
            canvas.line(x, low, x, high, **stroke(0, width=1.0, opacity=0.5))
            where = f" on {point.machine}" if len(track.machines) > 1 else ""
            said = f"{point.name}: {words(point.value)}{where} ({point.runs} runs); {point.bundle}"
            canvas.tip(
                said, "circle", cx=x, cy=y, r=3, **({"fill": INVALID} if point.machine_ratio is None else fill(0))
            )
    return canvas


def _drawn(point: Point, value: float) -> float:
    """As on the track's first machine, as far as that is known."""
    return value / (point.machine_ratio or 1.0)


def _panel(track: Track, words: Callable[[float], str]) -> Panel:
    low = min(_drawn(point, point.low) for point in track.points)
    high = max(_drawn(point, point.high) for point in track.points)
    room = (high - low or abs(high) or 1.0) * _ROOM_RATIO
    top, last = 36.0, len(track.points) - 1
    width = WIDTH - _LEFT - 20
    return Panel(
        x=_LEFT,
        y=top,
        width=width,
        height=_HEIGHT,
        x_scale=Linear(-0.5, last + 0.5, _LEFT, _LEFT + width, max(1.0, -(-(last + 1) // 8))),
        y_scale=Linear.over(low - room, high + room, top + _HEIGHT, top, 4),
        x_words=lambda place: track.points[min(max(round(place), 0), last)].name,
        y_words=words,
    )


def _levels(canvas: Canvas, panel: Panel, track: Track) -> None:
    """Before and after each change; the same line twice where two changes follow each other."""
    edges = [0, *(shift.at for shift in track.shifts), len(track.points)]
    for number, shift in enumerate(track.shifts):
        for first, end, value in (
            (edges[number], edges[number + 1], shift.before),
            (edges[number + 1], edges[number + 2], shift.after),
        ):
            left, right = panel.x_scale(first - 0.5), panel.x_scale(end - 0.5)
            canvas.line(left, panel.y_scale(value), right, panel.y_scale(value), **stroke(1, width=1.5))
