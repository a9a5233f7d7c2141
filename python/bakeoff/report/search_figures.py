"""Which runs of a search go into its charts, one for each limit."""

from __future__ import annotations

from collections.abc import Iterator

from ..analysis.limit import Limit
from ..charts.search import Searched, Tried, search
from ..charts.svg import Canvas
from ..charts.ticks import short
from ..findings.contestants import Contest, factor_words, setting_words
from ..findings.limits import search_limits
from ..findings.run_values import observed
from ..findings.searches import Capacity, SearchAnswer, trials_by_subject
from ..findings.source import Source
from ..model.records import RunRecord


def search_charts(contest: Contest, bundle: Source, answer: SearchAnswer | None) -> Iterator[tuple[Limit, Canvas]]:
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
    who = ", ".join(filter(None, (capacity.contestant, capacity.setting_words)))
    series = contest.contestants.index(capacity.contestant)
    return Searched(series, tried, capacity.low, capacity.high, f"{who}: {capacity.words}")


def _tried(limit: Limit, contest: Contest, bundle: Source, run: RunRecord) -> Tried:
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
