"""What a search tried: a metric over the level, every run as a ring, the limit as a line, what was found as a band."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ...analysis.limit import Limit
from ...analysis.metric import Metric
from ...bundle.read import Bundle
from ...findings.contestants import Contest, factor_words, setting_words, who_words
from ...findings.limits_and_searches.limits import search_limits
from ...findings.limits_and_searches.searches import Capacity, SearchAnswer, trials_by_subject
from ...findings.run_values import observed
from ...model.records.run import RunRecord
from .panel import Panel
from .scales import Log, short
from .svg import INVALID, Canvas, fill, legend, repetition
from .sweep import Values

#: For captions.
MARKS = {
    "ring": "ring: one run",
    "cross": "cross at the top: a run without the value (overloaded, too few operations, not valid)",
    "limit": "dashed line: the limit",
    "band": "band: 95 % CI of what the search found",
}
WIDTH = 1000.0
_HEIGHT = 300.0
_LEFT = 66.0
_TOP = 20.0


@dataclass(frozen=True)
class Tried:
    """One run. value: None where it does not say."""

    level: float
    value: float | None
    words: str


@dataclass(frozen=True)
class Searched:
    """One search. low, high: what was found; None where nothing bounds it."""

    series: int
    tried: tuple[Tried, ...]
    low: float | None
    high: float | None
    words: str


def search(
    shown: Metric,
    bound: float,
    limit_words: str,
    searches: Sequence[Searched],
    names: Sequence[str],
    x_title: str,
    x_words: Callable[[float], str],
) -> Canvas:
    """At least one run was made."""
    levels = [run.level for one in searches for run in one.tried]
    values = [run.value for one in searches for run in one.tried if run.value is not None]
    canvas = Canvas(WIDTH, 0)
    top = _TOP + (legend(canvas, _LEFT, 14, list(names), WIDTH - _LEFT) if len(names) > 1 else 0)
    width = WIDTH - _LEFT - 14
    y = Values.of(shown)
    panel = Panel(
        x=_LEFT,
        y=top,
        width=width,
        height=_HEIGHT,
        x_scale=Log.around(min(levels), max(levels), _LEFT, _LEFT + width),
        y_scale=y.scale([*values, bound], top + _HEIGHT, top),
        x_words=x_words,
        y_words=y.words,
    )
    panel.axes(canvas, x_title=x_title, y_title=y.title)
    for one in searches:
        _band(canvas, panel, one)
    _limit(canvas, panel, bound, limit_words)
    with canvas.group(**panel.readable("", x_unit="", y_unit=shown.unit)):
        for one in searches:
            for run in one.tried:
                place = panel.y if run.value is None else panel.y_scale(run.value)
                repetition(canvas, panel.x_scale(run.level), place, one.series, run.words, valid=run.value is not None)
    canvas.height = top + _HEIGHT + 48
    return canvas


def _band(canvas: Canvas, panel: Panel, one: Searched) -> None:
    if one.low is None or one.high is None:
        return
    left, right = (min(max(panel.x_scale(end), panel.x), panel.right) for end in (one.low, one.high))
    wide = max(right - left, 2.0)
    place = {"x": left, "y": panel.y, "width": wide, "height": panel.height}
    canvas.marks.add("band")
    canvas.tip(one.words, "rect", **place, **fill(one.series), fill_opacity="0.15")


def _limit(canvas: Canvas, panel: Panel, bound: float, words: str) -> None:
    at = panel.y_scale(bound)
    canvas.marks.add("limit")
    canvas.line(panel.x, at, panel.right, at, stroke=INVALID, stroke_width=1.4, stroke_dasharray="6 4")
    canvas.text(panel.right, at - 6, words, "name", anchor="end")


def search_charts(contest: Contest, bundle: Bundle, answer: SearchAnswer | None) -> Iterator[tuple[Limit, Canvas]]:
    """Of the searches that have runs; a line of its own colour for each contestant."""
    plan = contest.plan
    if answer is None or plan.search is None or not bundle.runs:
        return
    factor, limits = plan.search.factor, search_limits(plan)
    cells = {plan.search.subject(cell): cell for cell in plan.cells}
    runs = {name: [run for run, _ in made] for name, made in trials_by_subject(bundle, plan.search, limits).items()}
    found = {(one.contestant, one.setting_words): one for one in answer.found}
    for limit in limits:
        searches = []
        for subject, made in runs.items():
            who = contest.contestant(cells[subject])
            where = setting_words(contest.without_axis(contest.setting(cells[subject])))
            if capacity := found.get((who, where)):
                tried = tuple(_tried(limit, contest, bundle, run) for run in made)
                searches.append(_searched(contest, capacity, tried))
        title = "offered rate, operations per second" if factor == "rate" else factor
        yield limit, search(limit.metric, limit.bound, limit.words, searches, contest.contestants, title, short)


def _searched(contest: Contest, capacity: Capacity, tried: tuple[Tried, ...]) -> Searched:
    who = who_words(capacity)
    series = contest.contestants.index(capacity.contestant)
    return Searched(series, tried, capacity.low, capacity.high, f"{who}: {capacity.words}")


def _tried(limit: Limit, contest: Contest, bundle: Bundle, run: RunRecord) -> Tried:
    assert contest.plan.search is not None
    seen = observed(bundle, run)
    status = limit.status(seen)
    value = limit.metric.of(seen) if status in ("met", "not met") else None
    cell = next(cell for cell in contest.plan.cells if cell.id == run.cell)
    factor = contest.plan.search.factor
    level = cell.levels[factor]
    said = status if value is None else limit.metric.words(value)
    return Tried(
        float(level), value, f"{contest.contestant(cell)}, {factor_words(factor, level)}, run {run.block}: {said}"
    )
