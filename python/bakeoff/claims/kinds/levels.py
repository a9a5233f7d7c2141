"""Several levels: order, trend over a factor, peak, independent."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise

import numpy as np

from ...analysis.decision import Open, Peak
from ...analysis.estimate import REPETITIONS_MIN, Estimate, Evidence, Obstacle, of_steps
from ...analysis.over_time import slope_weights
from ...analysis.shape import Direction
from ...findings.contestants import amount, factor_words
from ...model.records.plan import Scalar
from ..document import Independent, Order, PeakTest, Trend, Where
from ..measured import Measured, Part, around_one, of_ratio, part, toward
from ..select import key, words


def order(test: Order, measured: Measured) -> Iterator[Part]:
    """Each with the next, the first of which is the more."""
    for better, worse in pairwise(test.of):
        low, high = toward(test.is_, 1 / (1 + test.ties_within))
        yield of_ratio(measured.ratio(better, worse), low, high)


def independent(test: Independent, measured: Measured) -> Iterator[Part]:
    for one, other in combinations(measured.cells.over(test.of, test.where), 2):
        yield of_ratio(_between(measured, test.of, test.where, one, other), *around_one(test.within))


def trend(test: Trend, measured: Measured) -> Iterator[Part]:
    """By the slope over the log of the factor, or over the places of levels that are names; as the change from the
    first level to the last on that line."""
    levels = measured.cells.over(test.over, test.where)
    first, *rest = levels
    found = [_between(measured, test.over, test.where, first, level) for level in rest]
    span = factor_words(test.over, first, levels[-1])
    about = f"{measured.metric.label}{_of(test.where)} over {span}"
    bounds = around_one(test.within) if test.is_ == "flat" else toward(test.is_, 1.0)
    yield part(about, _slope(levels, found), *bounds, wanted=test.is_)


def _slope(levels: list[Scalar], found: list[Estimate]) -> Evidence | Obstacle:
    if obstacles := [one.finding for one in found if isinstance(one.finding, Obstacle)]:
        return obstacles[0]
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
        pairs.append({(a, b): _between(measured, test.over, of_curve, a, b) for a, b in combinations(levels, 2)})
    where = "" if test.same_for else _of(test.where)
    about = f"{'lowest' if wants_lowest else 'highest'} {measured.metric.label}{where}"
    wanted = f"the same at every level of {test.same_for}" if test.same_for else f"at {_or(test.over, test.at)}"
    for level in test.at:
        measured.cells.chosen({**test.where, test.over: level})
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
