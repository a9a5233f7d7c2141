"""Over time: every run at a glance, and one setting in detail with what the servers did on the same axis beneath."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from .panel import Mark, Panel, draw_marks
from .scales import (
    EMPTY,
    POINTS_MAX,
    Linear,
    Scale,
    Series,
    binary_step,
    bytes_tick,
    for_latency,
    milliseconds_tick,
    nice_step,
    pixels,
    short,
)
from .server import metrics_of
from .svg import AXIS, INVALID, WARM_UP, Canvas, fill, legend, stroke, text_width

TITLE = "Over time"
CAPTION = "Each line is one repetition; grey: warm-up, not counted; dashed red: a run that is not valid."
THINNED_CAPTION = (
    f"A run of more than {POINTS_MAX} s is drawn in stretches: percentiles by their lowest and highest second, all"
    " else by the mean."
)
WIDTH = 1000.0
_LEFT = 66.0


@dataclass(frozen=True)
class RunOverTime:
    """One run. repetition: its number, from 1. metrics: what was sampled during it, by column name. nodes: what the
    load saw of each of several servers, by "NODE.FIGURE"; node_series: their colours."""

    series: int
    name: str
    repetition: int
    valid: bool
    rate: Series
    p50_ms: Series
    p99_ms: Series
    metrics: dict[str, Series] = field(default_factory=dict)
    nodes: dict[str, Series] = field(default_factory=dict)
    #: Of the several servers of its system: their colours.
    node_series: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """The runs of all contestants under the same conditions."""

    title: str
    warm_up_s: float
    runs: tuple[RunOverTime, ...]
    #: Names of several servers.
    nodes: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    #: Operations that fell due each second, where the rate changes.
    offered: Series = EMPTY

    def end_s(self) -> float:
        return max((float(run.rate.seconds[-1]) + 0.5 for run in self.runs if len(run.rate)), default=1.0)

    def points(self) -> int:
        """About how many a drawing in detail has."""
        panels = 3 + sum(len(metric.columns) for metric in metrics_of([run.metrics for run in self.runs], self.nodes))
        panels += len(_OF_NODES) * len(self.nodes)
        return panels * sum(min(len(run.rate), POINTS_MAX) for run in self.runs)


def overview(settings: Sequence[Setting], names: Sequence[str]) -> Canvas:
    """Throughput over time, a small panel per setting, each with its own axis from zero."""
    columns = 1 if len(settings) == 1 else 2 if len(settings) in (2, 4) else 3
    rows = -(-len(settings) // columns)
    pitch = WIDTH / columns
    height = 220.0 if len(settings) == 1 else 120.0
    canvas = Canvas(WIDTH, 0)
    top = 48.0 + (legend(canvas, _LEFT, 14, list(names), WIDTH - _LEFT) if len(names) > 1 else 0)
    for index, setting in enumerate(settings):
        x, y = index % columns * pitch + _LEFT, top + index // columns * (height + 70)
        width = pitch - _LEFT - 10
        end_s = setting.end_s()
        y_scale = _from_zero([setting.offered, *(run.rate for run in setting.runs)], 3)(y + height, y)
        panel = _panel(x, y, width, height, end_s, y_scale, short)
        _warm_up(canvas, panel, setting.warm_up_s)
        first = index % columns == 0
        x_title = "seconds" if index // columns == rows - 1 else ""
        panel.axes(canvas, title=setting.title, x_title=x_title, y_title="operations/s" if first else "")
        draw_marks(canvas, panel, setting.marks, labelled=len(settings) == 1)
        _offered(canvas, panel, setting.offered)
        _lines(canvas, panel, setting.runs, _Part(lambda run: run.rate), "operations/s", "ops/s")
    canvas.height = top + rows * (height + 70) - 70 + 44
    return canvas


def detail(setting: Setting, names: Sequence[str]) -> Canvas:
    """One setting: rate, response time, then every metric that was watched, one under the other."""
    canvas = Canvas(WIDTH, 0)
    y = 36.0 + (legend(canvas, _LEFT, 14, list(names), WIDTH - _LEFT) if len(names) > 1 else 0)
    panels = list(_rows(setting))
    for index, row in enumerate(panels):
        y_scale = row.scale(y + row.height, y)
        panel = _panel(_LEFT, y, WIDTH - _LEFT - 20, row.height, setting.end_s(), y_scale, row.words)
        _warm_up(canvas, panel, setting.warm_up_s)
        last = index == len(panels) - 1
        panel.axes(canvas, title=row.title, x_title="seconds since the clients' common start", x_labels=last)
        _node_names(canvas, panel, row, setting.runs)
        draw_marks(canvas, panel, setting.marks, labelled=index == 0)
        if index == 0:
            _offered(canvas, panel, setting.offered)
        for part in row.parts:
            _lines(canvas, panel, setting.runs, part, row.title, row.unit)
        y += row.height + (48 if last else 30)
    canvas.height = y
    return canvas


#: These, too, distinguish the lines of several nodes, in their order: on grey paper colours do not.
_DASHES = (None, "6 3", "1.5 3", "7 3 1.5 3", "12 4")
#: What the load sees of each node: figure, title, unit, words of its ticks.
_OF_NODES = (
    ("ok", "operations per second", "ops/s", short),
    ("p99_ms", "p99 response time", "ms", milliseconds_tick),
    ("errors", "operations per second that did not end right", "ops/s", short),
)


@dataclass(frozen=True)
class _Part:
    """Which series of a run, of which node if there are several, and how its line is dashed."""

    of: Callable[[RunOverTime], Series]
    dash: str | None = None
    node: str = ""
    percentile: bool = False


@dataclass(frozen=True)
class _Row:
    """One panel of the detail."""

    title: str
    unit: str
    height: float
    words: Callable[[float], str]
    scale: Callable[[float, float], Scale]
    parts: tuple[_Part, ...]


def _rows(setting: Setting) -> Iterator[_Row]:
    rates = [setting.offered, *(run.rate for run in setting.runs)]
    title = f"throughput, operations per second{' (dotted grey: offered)' if len(setting.offered) else ''}"
    yield _Row(title, "ops/s", 150, short, _from_zero(rates), (_Part(lambda run: run.rate),))
    times = [part for run in setting.runs for part in (run.p50_ms, run.p99_ms)]
    lowest = [low for part in times if (low := part.lowest_positive) is not None]
    yield _Row(
        "response time: p99 (solid) and p50 (dotted)",
        "ms",
        150,
        milliseconds_tick,
        lambda start, end: for_latency([*lowest, *(part.highest for part in times)], start, end),
        (_Part(lambda run: run.p99_ms, percentile=True), _Part(lambda run: run.p50_ms, "1.5 3", percentile=True)),
    )
    for figure, title, unit, words in _OF_NODES:
        columns = {node: f"{node}.{figure}" for node in setting.nodes}
        parts = _parts(columns, setting.nodes, lambda run: run.nodes, percentile=figure == "p99_ms")
        if any(part.of(run).highest > 0 for part in parts for run in setting.runs):
            yield _small_row(title, unit, words, parts, setting)
    for metric in metrics_of([run.metrics for run in setting.runs], setting.nodes):
        parts = _parts(metric.columns, setting.nodes, lambda run: run.metrics)
        yield _small_row(metric.title, metric.unit, metric.words, parts, setting)


def _parts(
    columns: Mapping[str, str],
    nodes: Sequence[str],
    series_of: Callable[[RunOverTime], Mapping[str, Series]],
    *,
    percentile: bool = False,
) -> tuple[_Part, ...]:
    """One for each node that has a column, each node's dashed as its others are; else the one of all."""

    def part(column: str, node: str) -> _Part:
        dash = _DASHES[nodes.index(node) % len(_DASHES)] if node else None
        return _Part(lambda run: series_of(run).get(column, EMPTY), dash, node, percentile)

    return tuple(part(columns[node], node) for node in ("", *nodes) if node in columns)


def _small_row(
    title: str, unit: str, words: Callable[[float], str], parts: tuple[_Part, ...], setting: Setting
) -> _Row:
    step_of = binary_step if words is bytes_tick else nice_step
    scale = _from_zero([part.of(run) for part in parts for run in setting.runs], 2, step_of)
    return _Row(title, unit, 62, words, scale, parts)


def _from_zero(
    parts: Sequence[Series], count: int = 4, step_of: Callable[[float, int], float] = nice_step
) -> Callable[[float, float], Scale]:
    high = max((part.highest for part in parts), default=1.0)
    return lambda start, end: Linear.from_zero(high, start, end, count, step_of)


def _panel(
    x: float, y: float, width: float, height: float, end_s: float, y_scale: Scale, words: Callable[[float], str]
) -> Panel:
    x_scale = Linear.over(0.0, end_s, x, x + width, 8 if width > 500 else 4)
    return Panel(x, y, width, height, x_scale, y_scale, lambda value: f"{value:g}", words)


def _warm_up(canvas: Canvas, panel: Panel, warm_up_s: float) -> None:
    if warm_up_s <= 0:
        return
    end = min(panel.x_scale(warm_up_s), panel.right)
    canvas.add("rect", x=panel.x, y=panel.y, width=end - panel.x, height=panel.height, fill=WARM_UP, class_="warm-up")
    if end - panel.x > 48 and panel.height > 80:
        canvas.text(panel.x + 5, panel.y + 12, "warm-up", "note")


def _offered(canvas: Canvas, panel: Panel, offered: Series) -> None:
    for piece in offered.drawn():
        xs, ys = pixels(panel.x_scale, piece.seconds), pixels(panel.y_scale, piece.values)
        points = list(zip(xs.tolist(), ys.tolist(), strict=True))
        canvas.polyline(points, stroke=AXIS, stroke_dasharray="1.5 3", stroke_width=1.4, class_="offered")


def _lines(
    canvas: Canvas,
    panel: Panel,
    runs: Sequence[RunOverTime],
    part: _Part,
    name: str,
    unit: str,
) -> None:
    with canvas.group(**panel.readable(name, x_unit="s", y_unit=unit)):
        for run in runs:
            pieces = part.of(run).drawn(extremes=part.percentile)
            if not pieces:
                continue
            series = run.node_series.get(part.node, run.series)
            style = {**stroke(series, width=1.1, opacity=0.75), "stroke-dasharray": part.dash}
            if not run.valid and not part.node:
                style |= {"class": "invalid", "stroke-width": 1.6, "stroke": INVALID, "stroke-dasharray": "4 3"}
            with canvas.group(
                data_series=str(run.series),
                data_rep=str(run.repetition),
                data_name=", ".join(filter(None, (run.name, part.node, f"repetition {run.repetition}"))),
            ):
                for piece in pieces:
                    xs, ys = pixels(panel.x_scale, piece.seconds), pixels(panel.y_scale, piece.values)
                    points = list(zip(xs.tolist(), ys.tolist(), strict=True))
                    canvas.polyline(points if len(points) > 1 else _dot(*points[0]), **style)


def _node_names(canvas: Canvas, panel: Panel, row: _Row, runs: Sequence[RunOverTime]) -> None:
    """Behind the panel's title, each with its line; the contestant's, too, where others have nodes of that name."""
    shown = dict.fromkeys(
        (part.node, part.dash, run.name, run.node_series[part.node])
        for run in runs
        for part in row.parts
        if part.node in run.node_series and len(part.of(run))
    )
    of_all = [node for node, *_ in shown]
    at = panel.x + text_width(row.title, 13) + 18
    for node, dash, name, series in shown:
        words = f"{name} {node}" if of_all.count(node) > 1 else node
        width = text_width(words, 13) + 40
        if at + width > panel.right:
            return
        canvas.line(at, panel.y - 14, at + 20, panel.y - 14, **{**stroke(series), "stroke-dasharray": dash})
        canvas.text(at + 25, panel.y - 10, words, "name", attributes=fill(series))
        at += width


def _dot(x: float, y: float) -> list[tuple[float, float]]:
    """A second between two that are missing: a line of one point would not be seen."""
    return [(x - 1, y), (x + 1, y)]
