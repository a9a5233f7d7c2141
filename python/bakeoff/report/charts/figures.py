"""From the answer and the bundle's tables to charts: which numbers go where."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from ...analysis.metric import Metric
from ...analysis.percentiles import is_overloaded, merged_distribution
from ...analysis.registry import metric
from ...analysis.wording import milliseconds_words, rate_words
from ...bundle.read import Bundle
from ...findings.cells import CellAnswer
from ...findings.contestants import Contest, Setting, amount, at_words, axis_words, level_words, setting_words
from ...findings.limits_and_searches.limits import limits_of_plan
from ...findings.run_values import QUANTILE_WORDS, Spread, observed, time_words
from ...findings.runs import runs_by_cell
from ...model.records.plan import CellRecord
from ...model.records.run import RunRecord
from ..answer import Answer
from . import search, sweep, timeline
from . import spectrum as spectrum_chart
from .panel import MARKS_CAPTION, STAGES_CAPTION, marks_of, stage_marks
from .scales import EMPTY, POINTS_MAX, FloatArray, Series
from .search import search_charts
from .server import candidates, with_cpu
from .spectrum import spectrum
from .svg import Canvas, caption
from .sweep import latency, throughput
from .sweep import metric as metric_chart

if TYPE_CHECKING:
    import pyarrow as pa


SPECTRUM_POINTS = 120
#: The fastest operations say little, and would take half of a logarithmic axis.
SPECTRUM_FROM = 0.1
#: Points drawn in detail in the page, some 10 bytes each; the bundle holds the seconds of all.
DETAIL_POINTS_MAX = 250_000
#: Of a setting of one contestant: more lines or points cannot be distinguished.
RUNS_DRAWN_MAX = 50


@dataclass(frozen=True)
class Figure:
    """name: of its file. label: what it shows, for those who do not see it. caption: how to read it."""

    name: str
    label: str
    canvas: Canvas
    caption: str = ""


@dataclass(frozen=True)
class Detail:
    """Drawn when it is asked for: by the page, while the other charts are already being made into PNG files."""

    over_time: timeline.Setting
    names: list[str]

    @property
    def setting(self) -> str:
        return self.over_time.title or "all runs"

    @property
    def figure(self) -> Figure:
        where = at_words(self.over_time.title)
        canvas = timeline.detail(self.over_time, self.names)
        return Figure("detail", f"Throughput, response time and server over time{where}", canvas)


@dataclass(frozen=True)
class Figures:
    throughput: Figure
    latency: dict[str, Figure]  # by percentile in words
    metrics: list[Figure]  # that were asked for
    searches: list[Figure]  # one for each limit of a search
    leading: str  # the percentile that is shown first
    spectrum: Figure | None
    overview: Figure | None
    details: list[Detail]
    middle: Figure | None

    def files(self) -> Iterator[Figure]:
        """Those that are written as files of their own."""
        yield from self.searches
        yield self.throughput
        yield from (self.latency[words] for words in dict.fromkeys(("p50", "p99", self.leading)))
        yield from self.metrics
        yield from (f for f in (self.spectrum, self.overview, self.middle) if f is not None)


def figures_of(bundle: Bundle, answer: Answer) -> Figures:
    contest = Contest(bundle.plan)
    maker = _Maker(contest, answer, bundle, runs_by_cell(bundle.runs))
    over_time = {setting: maker.over_time(setting) for setting in contest.settings}
    settings, middle = list(over_time.values()), over_time.get(contest.middle)
    return Figures(
        throughput=maker.throughput(),
        latency={words: maker.latency(name, words) for name, words in QUANTILE_WORDS.items()},
        metrics=[maker.metric(metric(shown.name, answer.rates)) for shown in answer.metrics],
        searches=[
            Figure(
                f"search-{limit.metric.name}",
                f"What the search tried, and {limit.words}",
                canvas,
                caption(canvas, search.MARKS),
            )
            for limit, canvas in search_charts(contest, bundle, answer.search)
        ],
        leading=QUANTILE_WORDS.get(answer.objective.removeprefix("latency_") + "_ms", "p99"),
        spectrum=maker.spectrum(),
        overview=maker.overview([s for s in settings if s.runs]),
        details=_within_bounds([Detail(s, maker.names) for s in settings if s.runs]),
        middle=maker.middle(middle) if middle and middle.runs else None,
    )


def _within_bounds(details: list[Detail]) -> list[Detail]:
    """As many as a page can hold; at least one."""
    sizes = [detail.over_time.points() for detail in details]
    return [d for n, d in enumerate(details) if n == 0 or sum(sizes[: n + 1]) <= DETAIL_POINTS_MAX]


Edges = tuple[float | None, float | None, float | None]


@dataclass(frozen=True)
class _Reading:
    """What a chart shows of a cell (value, low, high) and of a run, and how it is said."""

    of_cell: Callable[[CellAnswer], Edges]
    of_run: Callable[[RunRecord], float | None]
    words: Callable[[float], str]
    #: Of a cell, where there is more to say than its value.
    said: Callable[[CellAnswer], str | None] = lambda _: None


@dataclass(frozen=True)
class _Maker:
    contest: Contest
    answer: Answer
    bundle: Bundle
    runs: dict[str, list[RunRecord]]

    @cached_property
    def of_nodes(self) -> dict[tuple[str, str], int]:
        return node_series(self.answer)

    @cached_property
    def _fewer(self) -> str:
        """For captions, where not all runs are drawn."""
        many = any(len(self._finished(cell)) > RUNS_DRAWN_MAX for cell in self.runs)
        return f" Of each setting the first {RUNS_DRAWN_MAX} runs are drawn." if many else ""

    @property
    def names(self) -> list[str]:
        return self.contest.contestants

    def throughput(self) -> Figure:
        canvas = throughput(self._facets(_RATE), self.names, self._axis(), self._limits("rate"))
        said = caption(canvas, sweep.MARKS, sweep.THROUGHPUT_CAPTION + self._fewer)
        return Figure("throughput", f"Throughput of {', '.join(self.names)}", canvas, said)

    def latency(self, name: str, words: str) -> Figure:
        limits = self._limits(f"latency_{name.removesuffix('_ms')}")
        canvas = latency(words, self._facets(_percentile(name)), self.names, self._axis(), limits)
        said = caption(canvas, sweep.MARKS, sweep.LATENCY_CAPTION + self._fewer)
        return Figure(f"latency-{words}", f"{words} response time of {', '.join(self.names)}", canvas, said)

    def metric(self, shown: Metric) -> Figure:
        reading = _Reading(
            lambda cell: _spread_edges(cell.metrics.get(shown.name)),
            lambda run: shown.of(observed(self.bundle, run)),
            shown.words,
        )
        canvas = metric_chart(shown, self._facets(reading), self.names, self._axis(), self._limits(shown.name))
        said = caption(canvas, sweep.MARKS, sweep.METRIC_CAPTION + self._fewer)
        return Figure(f"metric-{shown.name}", f"{shown.label} of {', '.join(self.names)}", canvas, said)

    def spectrum(self) -> Figure | None:
        facets = [
            spectrum_chart.Facet(setting_words(setting), tuple(self._curves(setting)))
            for setting in self.contest.settings
        ]
        shown = [facet for facet in facets if any(curve.points for curve in facet.curves)]
        if not shown:
            return None
        return Figure(
            "spectrum", "Response time at every percentile", spectrum(shown, self.names), spectrum_chart.CAPTION
        )

    def overview(self, settings: Sequence[timeline.Setting]) -> Figure | None:
        if not any(len(run.rate) for setting in settings for run in setting.runs):
            return None
        marked = any(not mark.stage for setting in settings for mark in setting.marks)
        staged = f" {STAGES_CAPTION}" if any(len(setting.offered) for setting in settings) else ""
        long = any(len(run.rate) > POINTS_MAX for setting in settings for run in setting.runs)
        thinned = f" {timeline.THINNED_CAPTION}" if long else ""
        said = f"{timeline.CAPTION}{self._fewer}{thinned}{staged}{f' {MARKS_CAPTION}' if marked else ''}"
        return Figure("timeline", "Throughput of every run over time", timeline.overview(settings, self.names), said)

    def middle(self, setting: timeline.Setting) -> Figure:
        """As a file: the setting in mid-sweep, the first valid repetition of each contestant."""
        first: dict[int, timeline.RunOverTime] = {}
        for run in sorted(setting.runs, key=lambda run: not run.valid):
            first.setdefault(run.series, run)
        shown = replace(setting, runs=tuple(first.values()))
        label = f"One run of each over time{at_words(setting.title)}"
        return Figure("server", label, timeline.detail(shown, self.names))

    def over_time(self, setting: Setting) -> timeline.Setting:
        runs = [
            self._run_over_time(series, name, run)
            for series, name in enumerate(self.names)
            for run in self._drawn(self.contest.cell(name, setting))
        ]
        done = [run for name in self.names for run in self._drawn(self.contest.cell(name, setting))]
        staged = next((run for run in done if run.stages), None)
        warm_up_s = self.contest.plan.warm_up_s
        return timeline.Setting(
            setting_words(setting),
            warm_up_s,
            tuple(runs),
            nodes=tuple(dict.fromkeys(node.name for run in done for node in run.nodes)),
            marks=(*stage_marks(done, warm_up_s), *marks_of(done, warm_up_s)),
            offered=self._offered(staged) if staged else EMPTY,
        )

    def _offered(self, run: RunRecord) -> Series:
        """What fell due in each of its seconds; all runs are offered the same, but for chance."""
        found = _columns(self.bundle.intervals(run.id, lambda names: [n for n in names if n in ("second", "due")]))
        return found.get("due", EMPTY)

    def _facets(self, reading: _Reading) -> list[sweep.Facet]:
        by_place = {(c.contestant, tuple(c.setting.items())): c for c in self.answer.cells}
        facets = []
        for panel in self.contest.panels:
            along = self.contest.along(panel)
            lines = []
            for series, contestant in enumerate(self.names):
                cells = [by_place[(contestant, s)] for s in along if (contestant, s) in by_place]
                places = tuple(self._place(cell, series, reading) for cell in cells)
                lines.append(sweep.Line(series, contestant, places))
            facets.append(sweep.Facet(setting_words(panel), tuple(lines)))
        return facets

    def _place(self, cell: CellAnswer, series: int, reading: _Reading) -> sweep.Place:
        """Without an axis each contestant has a position of its own."""
        axis = self.contest.axis
        position = series if axis is None else self.contest.axis_levels.index(cell.setting[axis])
        words = reading.words
        value, low, high = reading.of_cell(cell) if cell.valid else (None, None, None)
        where = f"{cell.contestant}{f', {cell.setting_words}' if cell.setting_words else ''}"
        said = "" if value is None else f"{where}: {reading.said(cell) or words(value)}"
        if low is not None and high is not None:
            said += f" ({words(low)} to {words(high)})"
        repetitions = [
            sweep.Repetition(found, run.valid, f"{where}, repetition {run.block}: {words(found)}{_doubt(run)}")
            for run in self._finished(cell.cell)[:RUNS_DRAWN_MAX]
            if (found := reading.of_run(run)) is not None
        ]
        return sweep.Place(position, value, low, high, said, tuple(repetitions))

    def _axis(self) -> sweep.Axis:
        """Without a factor of numbers the contestants stand on it."""
        if self.contest.axis is None:
            return sweep.Axis(tuple(self.names))
        levels = self.contest.axis_levels
        amounts = tuple(found for level in levels if len(levels) > 1 and (found := amount(level)) is not None)
        return sweep.Axis(tuple(map(level_words, levels)), axis_words(self.contest.axis), amounts)

    def _limits(self, name: str) -> list[sweep.Limit]:
        """That the plan asks of this metric."""
        return [sweep.Limit(x.bound, x.words) for x in limits_of_plan(self.contest.plan) if x.metric.name == name]

    def _curves(self, setting: Setting) -> Iterator[spectrum_chart.Curve]:
        for series, name in enumerate(self.names):
            cell = self.contest.cell(name, setting)
            if cell and (curve := spectrum_curve(series, name, self.runs[cell.id])):
                yield curve

    def _drawn(self, cell: CellRecord | None) -> list[RunRecord]:
        return self._finished(cell.id)[:RUNS_DRAWN_MAX] if cell else []

    def _finished(self, cell: str) -> list[RunRecord]:
        return [run for run in self.runs[cell] if run.state == "done"]

    def _run_over_time(self, series: int, name: str, run: RunRecord) -> timeline.RunOverTime:
        intervals = _columns(self.bundle.intervals(run.id, _interval_columns))
        rate = intervals.get("rate_ops_per_s", EMPTY)
        nodes = [node.name for node in run.nodes]
        watched = with_cpu(_columns(self.bundle.server(run.id, partial(_server_columns, nodes=nodes))))
        if len(rate):  # the server was watched for longer: until its debt was drained
            watched = {name: part.until(float(rate.seconds[-1])) for name, part in watched.items()}
        return timeline.RunOverTime(
            series=series,
            name=name,
            repetition=run.block,
            valid=run.valid,
            rate=rate,
            p50_ms=intervals.get("p50_ms", EMPTY),
            p99_ms=intervals.get("p99_ms", EMPTY),
            metrics=watched,
            nodes=_columns(self.bundle.nodes(run.id, _node_columns)) if nodes else {},
            node_series={node: series for (owner, node), series in self.of_nodes.items() if owner == name},
        )


def spectrum_curve(series: int, name: str, runs: Sequence[RunRecord]) -> spectrum_chart.Curve | None:
    """Of the valid runs of a cell, as far as their operations can tell; None where none is, or one is overloaded."""
    runs = [run for run in runs if run.valid]
    if not runs or any(is_overloaded(run) for run in runs):
        return None
    found = merged_distribution(runs)
    statable = [p for p in found.spectrum(SPECTRUM_POINTS) if p.quantile < 1 and found.can_state(p.quantile)]
    points = tuple((p.quantile, p.value_ns / 1e6) for p in statable if p.quantile >= SPECTRUM_FROM)
    failed_from = 1 - found.failed_ratio
    ends_there = found.failed_ratio > 0 and found.can_state(failed_from)
    return spectrum_chart.Curve(series, name, points, failed_from if ends_there else None)


def _percentile(name: str) -> _Reading:
    return _Reading(
        lambda cell: _spread_edges(cell.response_spreads.get(name)),
        lambda run: getattr(run.response, name),
        milliseconds_words,
        lambda cell: time_words(cell.response, name),
    )


def _spread_edges(spread: Spread | None) -> Edges:
    return (None, None, None) if spread is None else (spread.value, spread.low, spread.high)


_RATE = _Reading(lambda cell: _spread_edges(cell.rate_ops_per_s), lambda run: run.rate_ops_per_s, rate_words)


def _doubt(run: RunRecord) -> str:
    words = [v.words for v in run.validity if v.severity == "invalid" and v.ok is False]
    return f" (not valid: {'; '.join(words)})" if words else ""


def _interval_columns(names: list[str]) -> list[str]:
    return [name for name in names if name in ("second", "rate_ops_per_s", "p50_ms", "p99_ms")]


def _node_columns(names: list[str]) -> list[str]:
    return [name for name in names if name == "second" or name.endswith((".ok", ".errors", ".p99_ms"))]


def _server_columns(names: list[str], nodes: Sequence[str]) -> list[str]:
    return [*(name for name in names if name == "second"), *candidates(names, nodes)]


def _columns(table: pa.Table | None) -> dict[str, Series]:
    """Each column over time, but for the seconds themselves. What belongs to a second is drawn in its middle."""
    if table is None or "second" not in table.column_names:
        return {}
    seconds = _array(table, "second") + 0.5
    return {name: Series.of(seconds, _array(table, name)) for name in table.column_names if name != "second"}


def _array(table: pa.Table, name: str) -> FloatArray:
    """Nulls as NaN."""
    return np.asarray(table.column(name).to_numpy(), dtype=np.float64)


def node_series(answer: Answer) -> dict[tuple[str, str], int]:
    """By contestant and node. A server that is a system by itself has its contestant's colour, and is not in it."""
    nodes = dict.fromkeys((one.contestant, one.node) for one in answer.nodes)
    return {node: number for number, node in enumerate(nodes, len(answer.contestants))}
