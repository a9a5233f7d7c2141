"""Over time: every run at a glance, and one setting in detail with what the servers did on the same axis beneath."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from .panel import Panel
from .scales import Linear, Scale, binary_step, for_latency, nice_step
from .series import EMPTY, POINTS_MAX, Series, pixels
from .server import Metric, metrics_of
from .style import INVALID, WARM_UP, legend, stroke
from .svg import Canvas
from .ticks import bytes_tick, milliseconds_tick, short

TITLE = "Over time"
CAPTION = "Each line is one repetition; grey: warm-up, not counted; dashed red: a run that is not valid."
WIDTH = 1000.0
_LEFT = 66.0


@dataclass(frozen=True)
class RunOverTime:
    """One run. repetition: its number, from 1. metrics: what was watched beside it, by column name."""

    series: int
    name: str
    repetition: int
    valid: bool
    rate: Series
    p50_ms: Series
    p99_ms: Series
    metrics: dict[str, Series] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """The runs of all contestants under the same conditions."""

    title: str
    warm_up_s: float
    runs: tuple[RunOverTime, ...]

    def end_s(self) -> float:
        return max((float(run.rate.seconds[-1]) + 0.5 for run in self.runs if len(run.rate)), default=1.0)

    def points(self) -> int:
        """About how many a drawing in detail has."""
        panels = 3 + len(metrics_of([run.metrics for run in self.runs]))
        return panels * sum(min(len(run.rate), POINTS_MAX) for run in self.runs)


def overview(settings: Sequence[Setting], names: Sequence[str]) -> Canvas:
    """Rate over time, a small panel a setting, each from zero on an axis of its own."""
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
        y_scale = _from_zero([run.rate for run in setting.runs], 3)(y + height, y)
        panel = _panel(x, y, width, height, end_s, y_scale, short)
        _warm_up(canvas, panel, setting.warm_up_s)
        first = index % columns == 0
        x_title = "seconds" if index // columns == rows - 1 else ""
        panel.axes(canvas, title=setting.title, x_title=x_title, y_title="operations/s" if first else "")
        _lines(canvas, panel, setting.runs, lambda run: run.rate, "operations/s", "ops/s")
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
        for part, dash in row.parts:
            _lines(canvas, panel, setting.runs, part, row.title, row.unit, dash)
        y += row.height + (48 if last else 30)
    canvas.height = y
    return canvas


@dataclass(frozen=True)
class _Row:
    """One panel of the detail. parts: which series of a run, and how its line is dashed."""

    title: str
    unit: str
    height: float
    words: Callable[[float], str]
    scale: Callable[[float, float], Scale]
    parts: tuple[tuple[Callable[[RunOverTime], Series], str | None], ...]


def _rows(setting: Setting) -> Iterator[_Row]:
    rates = [run.rate for run in setting.runs]
    yield _Row(
        "achieved rate, operations per second", "ops/s", 150, short, _from_zero(rates), ((lambda run: run.rate, None),)
    )
    times = [part for run in setting.runs for part in (run.p50_ms, run.p99_ms)]
    lowest = [low for part in times if (low := part.lowest_positive) is not None]
    yield _Row(
        "response time: p99 (solid) and p50 (dotted)",
        "ms",
        150,
        milliseconds_tick,
        lambda start, end: for_latency([*lowest, *(part.highest for part in times)], start, end),
        ((lambda run: run.p99_ms, None), (lambda run: run.p50_ms, "1.5 3")),
    )
    for metric in metrics_of([run.metrics for run in setting.runs]):
        yield _metric_row(metric, setting)


def _metric_row(metric: Metric, setting: Setting) -> _Row:
    def part(run: RunOverTime) -> Series:
        return run.metrics.get(metric.column, EMPTY)

    step_of = binary_step if metric.words is bytes_tick else nice_step
    scale = _from_zero([part(run) for run in setting.runs], 2, step_of)
    return _Row(metric.title, metric.unit, 62, metric.words, scale, ((part, None),))


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


def _lines(
    canvas: Canvas,
    panel: Panel,
    runs: Sequence[RunOverTime],
    part: Callable[[RunOverTime], Series],
    name: str,
    unit: str,
    dash: str | None = None,
) -> None:
    with canvas.group(**panel.readable(name, x_unit="s", y_unit=unit)):
        for run in runs:
            pieces = part(run).drawn()
            if not pieces:
                continue
            style = {**stroke(run.series, width=1.1, opacity=0.75), "stroke-dasharray": dash}
            if not run.valid:
                style |= {"class": "invalid", "stroke-width": 1.6, "stroke": INVALID, "stroke-dasharray": "4 3"}
            with canvas.group(
                data_series=str(run.series),
                data_rep=str(run.repetition),
                data_name=f"{run.name}, repetition {run.repetition}",
            ):
                for piece in pieces:
                    xs, ys = pixels(panel.x_scale, piece.seconds), pixels(panel.y_scale, piece.values)
                    points = list(zip(xs.tolist(), ys.tolist(), strict=True))
                    canvas.polyline(points if len(points) > 1 else _dot(*points[0]), **style)


def _dot(x: float, y: float) -> list[tuple[float, float]]:
    """A second between two that are missing: a line of one point would not be seen."""
    return [(x - 1, y), (x + 1, y)]
