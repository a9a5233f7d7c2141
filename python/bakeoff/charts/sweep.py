"""A value over a factor: the picture that throughput and latency share.

Each line is a contestant; at each level a marker for the typical run, an error bar for the interval, a ring for each
repetition, a cross for a run that is not valid. Without a factor to put on the axis, the contestants stand on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from .panel import Panel, apart
from .scales import LOG_FROM_RATIO, Linear, Log, Points, Scale
from .style import fill, legend, marker, repetition, stroke
from .svg import Canvas, fitted, text_width

WIDTH = 1000.0
_LEFT = 66.0
_TOP = 48.0
_GAP_Y = 84.0


@dataclass(frozen=True)
class Repetition:
    value: float
    valid: bool
    words: str


@dataclass(frozen=True)
class Place:
    """What one cell says. position: of its level on the axis. value: None where none may be stated."""

    position: int
    value: float | None
    low: float | None
    high: float | None
    words: str
    repetitions: tuple[Repetition, ...] = ()


@dataclass(frozen=True)
class Line:
    series: int
    name: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Facet:
    title: str
    lines: tuple[Line, ...]

    def values(self) -> list[float]:
        return [
            value
            for line in self.lines
            for place in line.places
            for value in (place.value, place.low, place.high, *(r.value for r in place.repetitions))
            if value is not None
        ]


@dataclass(frozen=True)
class Sweep:
    """facets share the axes, so that they can be compared, unless one would lie flat on the ground: see `own_axes`.
    levels: words at the x axis."""

    facets: tuple[Facet, ...]
    names: tuple[str, ...]
    levels: tuple[str, ...]
    x_title: str
    y_title: str
    y_words: Callable[[float], str]
    y_scale: Callable[[Sequence[float], float, float], Linear | Log]
    unit: str

    @property
    def own_axes(self) -> bool:
        """Whether some panel could not be read at the scale of the largest. A logarithmic axis has room for all."""
        tops = [top for facet in self.facets if (top := max(facet.values(), default=0.0)) > 0]
        spread = len(tops) > 1 and max(tops) > LOG_FROM_RATIO * min(tops)
        return spread and self.y_scale(self.values(), 1.0, 0.0).kind == "linear"

    def values(self) -> list[float]:
        return [value for facet in self.facets for value in facet.values()]


def draw(sweep: Sweep) -> Canvas:
    columns = 1 if len(sweep.facets) == 1 else 2 if len(sweep.facets) in (2, 4) else 3
    rows = -(-len(sweep.facets) // columns)
    labelled = len(sweep.names) > 1 and sweep.levels != sweep.names and columns < 3
    label_room = min(max(text_width(n, 12) for n in sweep.names) + 8, 150.0) if labelled else 12.0
    height = 300.0 if rows == 1 else 200.0
    pitch = WIDTH / columns
    y_title = f"{sweep.y_title} (axes differ)" if sweep.own_axes else sweep.y_title
    canvas = Canvas(WIDTH, 0)
    top = _TOP + (legend(canvas, _LEFT, 14, list(sweep.names), WIDTH - _LEFT) if len(sweep.names) > 1 else 0)
    for index, facet in enumerate(sweep.facets):
        column, row = index % columns, index // columns
        x = column * pitch + _LEFT
        y = top + row * (height + _GAP_Y)
        width = pitch - _LEFT - label_room
        panel = replace(_panel(sweep, facet, x, y, width, height), room=label_room)
        panel.axes(canvas, title=facet.title, x_title=sweep.x_title, y_title=y_title if column == 0 else "")
        with canvas.group(**panel.readable(facet.title, x_unit="level", y_unit=sweep.unit)):
            for line in facet.lines:
                _line(canvas, panel, line, len(facet.lines))
        if labelled:
            _end_labels(canvas, panel, facet, label_room)
    canvas.height = top + rows * (height + _GAP_Y) - _GAP_Y + 48
    return canvas


def _panel(sweep: Sweep, facet: Facet, x: float, y: float, width: float, height: float) -> Panel:
    values = facet.values() if sweep.own_axes else sweep.values()
    y_scale: Scale = sweep.y_scale(values, y + height, y)

    def level(value: float) -> str:
        return sweep.levels[int(value)]

    return Panel(x, y, width, height, Points(len(sweep.levels), x, x + width), y_scale, level, sweep.y_words)


def _line(canvas: Canvas, panel: Panel, line: Line, lines: int) -> None:
    """Contestants at the same level stand a little apart, so that their error bars can be told apart."""
    shift = (line.series - (lines - 1) / 2) * min(7.0, panel.width / (len(panel.x_scale.ticks()) * (lines + 2)))
    with canvas.group(data_series=str(line.series), data_name=line.name):
        ends = [(p, panel.x_scale(p.position) + shift) for p in line.places]
        stated = [(x, panel.y_scale(p.value)) for p, x in ends if p.value is not None]
        if len(stated) > 1:
            canvas.polyline(stated, **stroke(line.series))
        for place, x in ends:
            _place(canvas, panel, place, x, line.series)


def _place(canvas: Canvas, panel: Panel, place: Place, x: float, series: int) -> None:
    for run in place.repetitions:
        repetition(canvas, x, panel.y_scale(run.value), series, run.words, valid=run.valid)
    if place.low is not None and place.high is not None:
        low, high = panel.y_scale(place.low), panel.y_scale(place.high)
        canvas.line(x, low, x, high, **stroke(series, width=1.4))
        for end in (low, high):
            canvas.line(x - 4, end, x + 4, end, **stroke(series, width=1.4))
    if place.value is not None:
        marker(canvas, x, panel.y_scale(place.value), series, place.words)


def _end_labels(canvas: Canvas, panel: Panel, facet: Facet, room: float) -> None:
    """The name of each line at its right end."""
    ends = [(line, [p for p in line.places if p.value is not None]) for line in facet.lines]
    shown = [(line, places[-1]) for line, places in ends if places]
    wished = [panel.y_scale(place.value or 0.0) for _, place in shown]
    for (line, place), y in zip(shown, apart(wished, 15, panel.y + 6, panel.bottom - 6), strict=True):
        x = panel.x_scale(place.position) + 22
        words = fitted(line.name, room - 8, 12)
        canvas.text(x, y, words, "name", middle=True, attributes={**fill(line.series), "data-series": str(line.series)})
