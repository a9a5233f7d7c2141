"""Kinds of tests, by their names in a document: from a test and what was measured to its parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from ..analysis.decision import Open, Peak
from ..analysis.estimate import REPETITIONS_MIN, Estimate, Evidence, Obstacle, of_steps
from ..analysis.over_time import slope_weights
from ..analysis.shape import Direction
from ..analysis.wording import counted, percent_words
from ..errors import PlanError
from ..findings.contestants import amount, factor_words
from ..model.records.plan import Scalar
from . import figures
from .document import (
    Change,
    Difference,
    Equivalent,
    Independent,
    Law,
    Level,
    Order,
    PeakTest,
    RatioTest,
    Trend,
    Variability,
    Where,
)
from .measured import ZERO, Measured, Part, around_one, of_ratio, part, toward
from .select import key, words


def difference(test: Difference, measured: Measured) -> Iterator[Part]:
    bounds = toward(test.is_, test.by_at_least)
    yield from (of_ratio(one, *bounds) for one in measured.ratios(test.of, test.against))


def ratio(test: RatioTest, measured: Measured) -> Iterator[Part]:
    bounds = test.low or 0.0, test.high or math.inf
    yield from (of_ratio(one, *bounds) for one in measured.ratios(test.of, test.against))


def equivalent(test: Equivalent, measured: Measured) -> Iterator[Part]:
    """Of each pair: opposite differences would cancel in a mean."""
    bounds = around_one(test.within)
    yield from (of_ratio(one, *bounds) for one in measured.ratios(test.of, test.against, apart=True))


def level(test: Level, measured: Measured) -> Iterator[Part]:
    low, high = test.low or 0.0, math.inf if test.high is None else test.high
    for cell in measured.cells.chosen(test.of):
        about = f"{measured.metric.label} of {measured.label(cell)}"
        yield part(about, measured.alone(cell, zeros=True), low, high, shown=measured.metric.words)


def variability(test: Variability, measured: Measured) -> Iterator[Part]:
    metric = figures.variability(measured, test.figure, test.interval)
    if test.against is not None and test.is_ is not None:
        bounds = toward(test.is_, test.by_at_least)
        yield from (of_ratio(one, *bounds) for one in measured.ratios(test.of, test.against, metric))
        return
    low, high = test.at_least or 0.0, math.inf if test.at_most is None else test.at_most
    for cell in measured.cells.chosen(test.of):
        about = f"{metric.label} of {measured.label(cell)}"
        yield part(about, measured.alone(cell, metric, zeros=True), low, high, shown=percent_words)


def order(test: Order, measured: Measured) -> Iterator[Part]:
    """Each with the next, the first of which is the more."""
    for better, worse in pairwise(test.of):
        low, high = toward(test.is_, 1 / (1 + test.ties_within))
        yield from (of_ratio(one, low, high) for one in measured.ratios(better, worse))


def independent(test: Independent, measured: Measured) -> Iterator[Part]:
    for one, other in combinations(measured.cells.over(test.of, test.where), 2):
        found = measured.ratios({**test.where, test.of: other}, {**test.where, test.of: one}, apart=True)
        yield from (of_ratio(each, *around_one(test.within)) for each in found)


def trend(test: Trend, measured: Measured) -> Iterator[Part]:
    """By the slope over the log of the factor, or over the places of levels that are names; as the change from the
    first level to the last on that line."""
    if test.over == "time":
        yield from _trend_over_time(test, measured)
        return
    bounds = around_one(test.within) if test.is_ == "flat" else toward(test.is_, 1.0)
    # Opposite trends would cancel in a mean.
    curves = measured.cells.curves(test.over, test.where) if test.is_ == "flat" else [test.where]
    for where in curves:
        levels = measured.cells.over(test.over, where)
        first, *rest = levels
        span = factor_words(test.over, first, levels[-1])
        found = [_between(measured, test.over, where, first, level) for level in rest]
        about = f"{measured.metric.label}{_of(where)} over {span}"
        drawn = part(about, _slope(levels, found), *bounds, wanted=test.is_)
        yield replace(drawn, notes=tuple(dict.fromkeys(note for one in found for note in one.notes)))


def _slope(levels: list[Scalar], found: list[Estimate]) -> Evidence | Obstacle:
    if obstacles := [one.finding for one in found if isinstance(one.finding, Obstacle)]:
        return obstacles[0]
    if any(isinstance(one.finding, Evidence) and one.finding.of == "shares" for one in found):
        return Obstacle("too few", ZERO)
    blocks = [block for block in found[0].log_ratios if all(block in one.log_ratios for one in found)]
    if len(blocks) < REPETITIONS_MIN:
        return Obstacle("too few", "too few repetitions that all levels have")
    amounts = [amount(level) for level in levels]
    places = [math.log(x) if x and x > 0 else math.nan for x in amounts]
    weights = slope_weights(range(len(levels)) if np.isnan(places).any() else places)
    logs = np.asarray([[one.log_ratios[block] for block in blocks] for one in found])
    return of_steps(weights[1:] @ logs, both=True)


def peak(test: PeakTest, measured: Measured) -> Iterator[Part]:
    """Which levels may be the best: of one curve, or of one for each level of `same_for`."""
    curves = measured.cells.over(test.same_for, test.where) if test.same_for else [None]
    wants_lowest = test.is_ == "lowest" or (test.is_ is None and measured.metric.better == "lower")
    side: Direction = "lower" if wants_lowest else "higher"
    pairs: list[Mapping[tuple[Scalar, Scalar], Estimate]] = []
    for curve in curves:
        of_curve = test.where if curve is None else {**test.where, test.same_for: curve}
        levels = measured.cells.over(test.over, of_curve)
        measured.cells.refuse_others(test.over, test.at, levels)
        pairs.append({(a, b): _between(measured, test.over, of_curve, a, b) for a, b in combinations(levels, 2)})
    where = "" if test.same_for else _of(test.where)
    about = f"{'lowest' if wants_lowest else 'highest'} {measured.metric.label}{where}"
    wanted = f"the same at every level of {test.same_for}" if test.same_for else f"at {_or(test.over, test.at)}"
    names = [factor_words(test.same_for, curve) for curve in curves if curve is not None]
    findings = [one.finding for found in pairs for one in found.values()]
    lacks = next((one for one in findings if isinstance(one, Obstacle)), None)
    at = [one for found in pairs for pair in found for one in pair if key(one) in map(key, test.at)]
    question = Open(lacks.words) if lacks else Peak(pairs, side, tuple(dict.fromkeys(at)), names)
    yield Part(about, wanted, question, shown=lambda _: "")


def peak_words(found: Peak, over: str, alpha: float) -> str:
    """ "at 8 threads"; of several curves "mariadb at 8 or 16 threads, mysql at 8 threads"."""
    at = [f"at {_or(over, levels)}" for levels in found.sets(alpha)]
    return ", ".join(f"{name} {level}" for name, level in zip(found.names, at, strict=True)) if found.names else at[0]


def _of(where: Where) -> str:
    return f" of {words(where)}" if where else ""


def _or(factor: str, levels: list[Scalar]) -> str:
    """ "1, 2 or 4 threads"."""
    first, comma, last = factor_words(factor, *levels, between=", ").rpartition(", ")
    return f"{first} or {last}" if comma else last


def _between(measured: Measured, factor: str, where: Where, base: Scalar, other: Scalar) -> Estimate:
    return measured.ratio({**where, factor: other}, {**where, factor: base})


def _trend_over_time(test: Trend, measured: Measured) -> Iterator[Part]:
    metric = figures.trend(measured)
    bounds = around_one(test.within) if test.is_ == "flat" else toward(test.is_, 1.0)
    for cell in measured.cells.chosen(test.where):
        about = f"{measured.metric.label} of {measured.label(cell)}, from start to end of the run"
        yield part(about, measured.alone(cell, metric), *bounds, wanted=test.is_)


def change(test: Change, measured: Measured) -> Iterator[Part]:
    """The runs that say where the level changes are no evidence of how much."""
    for cell in measured.cells.chosen(test.where):
        found, values = measured.alone(cell), ""
        changed = figures.change(measured, cell)
        if isinstance(found, Evidence):
            found = Obstacle("too few", "the runs are too short to find a change, or have none of it before or after")
            if changed is not None:
                found = of_steps(np.log(np.asarray(changed.ratios)), both=True)
                by = counted(changed.located_by, "run", "runs")
                values = (
                    f"cut after {changed.at} s, where {by} changed, and measured by the {len(changed.ratios)} others"
                )
        about = f"{measured.metric.label} of {measured.label(cell)}, after its change against before it"
        yield part(about, found, *toward(test.is_, test.by_at_least), values=values)


def law(test: Law, measured: Measured) -> Iterator[Part]:
    for cell in measured.cells.chosen(test.where):
        if cell.rate_ops_per_s is not None:
            hint = "the users of an open loop are not those that wait: select cells without `rate`"
            raise PlanError("Little's law is tested in a closed loop", where=measured.cells.place, hint=hint)
        metric = figures.users_by_littles_law(measured, cell)
        about = f"throughput x mean response time against users, {measured.label(cell)}"
        yield part(about, measured.alone(cell, metric), *around_one(test.within))


KINDS: Mapping[str, Callable[[Any, Measured], Iterator[Part]]] = {
    "difference": difference,
    "ratio": ratio,
    "equivalent": equivalent,
    "level": level,
    "variability": variability,
    "order": order,
    "trend": trend,
    "peak": peak,
    "independent": independent,
    "change": change,
    "law": law,
}
