"""A value over a factor: the picture that throughput and latency share.

Each line is a contestant; at each level a marker for the typical run, a ring for each repetition, a cross for a run
that is not valid. The interval is a band along an axis of numbers, else an error bar. Without a factor to put on the
axis, the contestants stand on it.

What is far off (one repetition at 1/100 of the others) does not set the scale, or nobody could read
the rest: it is an arrow at the edge, with its value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median

from ...analysis.metric import Metric
from .panel import Panel, apart
from .scales import (
    LOG_FROM_RATIO,
    Levels,
    Linear,
    Log,
    Points,
    Scale,
    bytes_tick,
    for_bytes,
    for_latency,
    from_zero,
    milliseconds_tick,
    percent_tick,
    short,
)
from .svg import INVALID, Canvas, arrow, fill, fitted, legend, marker, repetition, stroke, text_width

#: For captions.
MARKS = {
    "marker": "marker: typical repetition",
    "band": "band: 95 % CI",
    "bar": "bar: 95 % CI",
    "ring": "ring: one repetition",
    "cross": "cross: a run that is not valid",
    "arrow": "arrow: a value off the scale",
}
WIDTH = 1000.0
_LEFT = 66.0
_TOP = 48.0
_GAP_Y = 84.0
#: A value more than this many times the largest typical value, or the smallest over a value, is off the scale.
_FAR = 4.0


@dataclass(frozen=True)
class Limit:
    """A line across the chart, in the unit of its values."""

    value: float
    words: str


@dataclass(frozen=True)
class Axis:
    """What stands at the x axis, in order. amounts: of numbers, rising; () where names stand there, evenly."""

    words: tuple[str, ...]
    title: str = ""
    amounts: tuple[float, ...] = ()

    def scale(self, start: float, end: float) -> Scale:
        return Levels(self.amounts, start, end) if self.amounts else Points(len(self.words), start, end)

    def at(self, position: int) -> float:
        """In the scale's own unit."""
        return self.amounts[position] if self.amounts else position

    def words_at(self, value: float) -> str:
        return self.words[self.amounts.index(value) if self.amounts else int(value)]


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
        """That set the scale: all but what lies far from every typical repetition."""
        places = [place for line in self.lines for place in line.places]
        typical = [median(r.value for r in place.repetitions) for place in places if place.repetitions]
        typical = typical or [place.value for place in places if place.value is not None]
        if not typical:
            return []
        low, high = min(typical) / _FAR, max(typical) * _FAR
        found = [v for p in places for v in (p.value, p.low, p.high, *(r.value for r in p.repetitions))]
        return [value for value in found if value is not None and (low <= value <= high or value == 0)]


@dataclass(frozen=True)
class Sweep:
    """facets share the axes, so that they can be compared, unless one would lie flat on the ground: see `own_axes`."""

    facets: tuple[Facet, ...]
    names: tuple[str, ...]
    axis: Axis
    y_title: str
    y_words: Callable[[float], str]
    y_scale: Callable[[Sequence[float], float, float], Linear | Log]
    unit: str
    limits: tuple[Limit, ...] = ()

    @property
    def own_axes(self) -> bool:
        """Whether some panel could not be read at the scale of the largest. A logarithmic axis has room for all."""
        tops = [top for facet in self.facets if (top := max(facet.values(), default=0.0)) > 0]
        spread = len(tops) > 1 and max(tops) > LOG_FROM_RATIO * min(tops)
        return spread and self.y_scale(self.values(), 1.0, 0.0).kind == "linear"

    def values(self) -> list[float]:
        return self.scaled_by([value for facet in self.facets for value in facet.values()])

    def scaled_by(self, values: list[float]) -> list[float]:
        """With the limits that are near enough to be drawn among them."""
        near = [limit.value for limit in self.limits if values and limit.value <= _FAR * max(values)]
        return values + near


def draw(sweep: Sweep) -> Canvas:
    columns = 1 if len(sweep.facets) == 1 else 2 if len(sweep.facets) in (2, 4) else 3
    rows = -(-len(sweep.facets) // columns)
    labelled = len(sweep.names) > 1 and sweep.axis.words != sweep.names and columns < 3
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
        panel.axes(canvas, title=facet.title, x_title=sweep.axis.title, y_title=y_title if column == 0 else "")
        _limits(canvas, panel, sweep.limits)
        with canvas.group(**panel.readable(facet.title, x_unit="level", y_unit=sweep.unit)):
            for line in facet.lines:
                _line(canvas, panel, line, len(facet.lines), sweep.axis)
        if labelled:
            _end_labels(canvas, panel, facet, label_room, sweep.axis)
    canvas.height = top + rows * (height + _GAP_Y) - _GAP_Y + 48
    return canvas


def _panel(sweep: Sweep, facet: Facet, x: float, y: float, width: float, height: float) -> Panel:
    values = sweep.scaled_by(facet.values()) if sweep.own_axes else sweep.values()
    y_scale: Scale = sweep.y_scale(values, y + height, y)
    return Panel(x, y, width, height, sweep.axis.scale(x, x + width), y_scale, sweep.axis.words_at, sweep.y_words)


def _limits(canvas: Canvas, panel: Panel, limits: Sequence[Limit]) -> None:
    for limit in limits:
        at = panel.y_scale(limit.value)
        if panel.y <= at <= panel.bottom:
            canvas.line(panel.x, at, panel.right, at, stroke=INVALID, stroke_dasharray="5 4", class_="limit")
            canvas.text(panel.x + 6, at - 5, limit.words, "note", attributes={"fill": INVALID})


def _line(canvas: Canvas, panel: Panel, line: Line, lines: int, axis: Axis) -> None:
    """Among names, contestants at the same level are drawn a little apart, so that their error bars do not overlap."""
    shift = (line.series - (lines - 1) / 2) * min(7.0, panel.width / (len(panel.x_scale.ticks()) * (lines + 2)))
    shift = 0.0 if axis.amounts else shift
    with canvas.group(data_series=str(line.series), data_name=line.name):
        ends = [(p, panel.x_scale(axis.at(p.position)) + shift) for p in line.places]
        banded = bool(axis.amounts) and len(ends) > 1
        if banded:
            _band(canvas, panel, ends, line.series)
        stated = [(x, panel.within(p.value)) for p, x in ends if p.value is not None]
        if len(stated) > 1:
            canvas.polyline(stated, **stroke(line.series))
        for place, x in ends:
            if not banded:
                _bar(canvas, panel, place, x, line.series)
            _open_ends(canvas, panel, place, x, line.series)
            _place(canvas, panel, place, x, line.series)


def _band(canvas: Canvas, panel: Panel, ends: Sequence[tuple[Place, float]], series: int) -> None:
    """Between the ends of the intervals, interrupted where there is none."""
    above: list[tuple[float, float]] = []
    below: list[tuple[float, float]] = []
    for place, x in [*ends, (None, 0.0)]:
        if place is not None and place.low is not None and place.high is not None:
            above.append((x, panel.within(place.high)))
            below.append((x, panel.within(place.low)))
        elif len(above) > 1:
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in [*above, *reversed(below)])
            canvas.marks.add("band")
            canvas.add("polygon", points=points, fill_opacity="0.15", stroke="none", **fill(series))
            above, below = [], []


def _bar(canvas: Canvas, panel: Panel, place: Place, x: float, series: int) -> None:
    if place.low is None or place.high is None:
        return
    canvas.marks.add("bar")
    canvas.line(x, panel.within(place.low), x, panel.within(place.high), **stroke(series, width=1.4))
    for at in (panel.y_scale(end) for end in (place.low, place.high) if panel.holds(end)):
        canvas.line(x - 4, at, x + 4, at, **stroke(series, width=1.4))


def _open_ends(canvas: Canvas, panel: Panel, place: Place, x: float, series: int) -> None:
    """Of an interval that goes on beyond the axis: an arrow, and to what value. To the left, because repetitions that
    lie there have theirs to the right."""
    for end in (place.low, place.high):
        if end is None or panel.holds(end):
            continue
        up = panel.y_scale(end) < panel.y
        edge, words = panel.y if up else panel.bottom, panel.y_words(end)
        arrow(canvas, x, edge, series, f"the interval goes on to {words}", up=up)
        canvas.text(x - 8, edge + (4 if up else -4), words, "note", anchor="end", middle=True)


def _place(canvas: Canvas, panel: Panel, place: Place, x: float, series: int) -> None:
    for run in place.repetitions:
        if panel.holds(run.value):
            repetition(canvas, x, panel.y_scale(run.value), series, run.words, valid=run.valid)
    if place.value is not None:
        canvas.marks.add("marker")
        marker(canvas, x, panel.within(place.value), series, place.words)
    far = [run for run in place.repetitions if not panel.holds(run.value)]
    for up in (True, False):
        beyond = [run for run in far if (panel.y_scale(run.value) < panel.y) == up]
        if beyond:
            most = (max if up else min)(run.value for run in beyond)
            edge = panel.y if up else panel.bottom
            arrow(canvas, x, edge, series, "; ".join(run.words for run in beyond), up=up)
            canvas.text(x + 8, edge + (4 if up else -4), panel.y_words(most), "note", middle=True)


def _end_labels(canvas: Canvas, panel: Panel, facet: Facet, room: float, axis: Axis) -> None:
    """The name of each line at its right end."""
    ends = [(line, [p for p in line.places if p.value is not None]) for line in facet.lines]
    shown = [(line, places[-1]) for line, places in ends if places]
    wished = [panel.within(place.value or 0.0) for _, place in shown]
    for (line, place), y in zip(shown, apart(wished, 15, panel.y + 6, panel.bottom - 6), strict=True):
        x = panel.x_scale(axis.at(place.position)) + (12 if axis.amounts else 22)
        words = fitted(line.name, room - 8, 12)
        canvas.text(x, y, words, "name", middle=True, attributes={**fill(line.series), "data-series": str(line.series)})


LATENCY_CAPTION = (
    "From the intended start of an operation to its answer, retries included. Timeouts and unanswered operations count"
    " with at least the time they had waited."
)
THROUGHPUT_CAPTION = "Acknowledged and correct operations per second."
METRIC_CAPTION = "No marker where some repetition has no value."


def latency(
    percentile: str, facets: Sequence[Facet], names: Sequence[str], axis: Axis, limits: Sequence[Limit] = ()
) -> Canvas:
    y_title = f"{percentile} response time"
    sweep = Sweep(tuple(facets), tuple(names), axis, y_title, milliseconds_tick, for_latency, "ms", tuple(limits))
    return draw(sweep)


def throughput(facets: Sequence[Facet], names: Sequence[str], axis: Axis, limits: Sequence[Limit] = ()) -> Canvas:
    sweep = Sweep(tuple(facets), tuple(names), axis, "operations per second", short, from_zero, "ops/s", tuple(limits))
    return draw(sweep)


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
