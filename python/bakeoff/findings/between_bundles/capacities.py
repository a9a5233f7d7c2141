"""Bundles of searches against each other: what was found, never the levels that happened to be tried on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace

from ...analysis.cost import cost_metric
from ...analysis.estimate import Estimate, Evidence, Obstacle, unpaired
from ...analysis.metric import Metric
from ...analysis.search import Ends
from ...analysis.statistics import t_critical
from ...bundle.read import Bundle
from ...errors import BundleError
from ...model.records.plan import CellRecord, SearchRecord
from ..contestants import Contest, setting_words
from ..limits_and_searches.searches import Capacity, cost_label, search_answer
from .matching import Match

#: Of a capacity's own interval.
_ALPHA = 0.05


def are_searches(bundles: Sequence[Bundle]) -> bool:
    """Raises BundleError where some are and some are not, or where they do not seek the same."""
    sought = {_question(bundle.plan.search) for bundle in bundles}
    if sought == {""}:
        return False
    if len(sought) > 1:
        words = " | ".join(sorted(one or "no search" for one in sought))
        hint = (
            "compare searches for the same, one search with one bundle of fixed levels of what it seeks, or no search"
        )
        raise BundleError(f"the bundles do not seek the same: {words}", hint=hint)
    return True


def _question(search: SearchRecord | None) -> str:
    return "" if search is None else search.question_words(search.limits)


def without_levels(bundle: Bundle) -> Bundle:
    """The bundle with one cell for each search, without the level that was sought."""
    search = bundle.plan.search
    assert search is not None
    first = {search.subject(cell): cell for cell in reversed(bundle.plan.cells)}
    cells = [without_level(cell, search) for cell in bundle.plan.cells if first[search.subject(cell)] is cell]
    found = copy(bundle)
    found.plan = bundle.plan.model_copy(update={"cells": cells})
    return found


def without_level(cell: CellRecord, search: SearchRecord) -> CellRecord:
    levels = {name: level for name, level in cell.levels.items() if name != search.factor}
    label = " / ".join([cell.system, *(f"{name}={level}" for name, level in levels.items() if name != "system")])
    changes = {"levels": levels, "label": label, "rate_ops_per_s": None, "threads": 1, "clients": 1}
    kept = {"threads", "clients"} if search.factor == "rate" else set()
    return cell.model_copy(update={name: value for name, value in changes.items() if name not in kept})


def capacity_metric(search: SearchRecord) -> Metric:
    unit = "ops/s" if search.factor == "rate" else ""
    about = f"{search.question_words(search.limits)}, as the search found it."
    better = "higher" if search.highest else "lower"
    return Metric("capacity", unit, better, search.sought_words, about[:1].upper() + about[1:], lambda _: None)  # type: ignore[arg-type]


def capacity_estimates(matches: Sequence[Match], before: Sequence[Bundle], after: Sequence[Bundle]) -> list[Estimate]:
    """Of each search, then of what a billion operations cost there, where it has prices."""
    found = {match.label: _sides(match, before, after) for match in matches}
    estimates = [_capacity_estimate(label, sides, after[0]) for label, sides in found.items()]
    priced = {match.label for match in matches if any(cell.prices for cell in (*match.before, *match.after))}
    return estimates + [_cost_estimate(label, sides, after[0]) for label, sides in found.items() if label in priced]


Sides = Mapping[str, Sequence[Capacity | None]]


def _sides(one: Match, before: Sequence[Bundle], after: Sequence[Bundle]) -> Sides:
    return {
        name: [_found(bundle, cell) for bundle, cell in zip(bundles, cells, strict=True)]
        for name, bundles, cells in (("before", before, one.before), ("after", after, one.after))
    }


def _capacity_estimate(label: str, sides: Sides, of: Bundle) -> Estimate:
    search = of.plan.search
    assert search is not None
    metric = capacity_metric(search)
    for name, found in sides.items():
        for capacity in found:
            if capacity is None or None in (capacity.estimate, capacity.low, capacity.high):
                why = "no run was made" if capacity is None else capacity.words
                return _obstacle(label, metric, f"{name} found no {metric.label}: {why}")
    return _estimate(label, metric, sides, lambda capacity: capacity)


def _cost_estimate(label: str, sides: Sides, of: Bundle) -> Estimate:
    search = of.plan.search
    assert search is not None
    costs = {name: [c.cost for c in found if c is not None and c.cost is not None] for name, found in sides.items()}
    currencies = sorted({cost.currency for found in costs.values() for cost in found})
    metric = replace(cost_metric(*currencies[:1]), label=cost_label(search), of=lambda _: None)
    if len(currencies) > 1:
        return _obstacle(label, metric, f"the prices are in {' and '.join(currencies)}")
    if without := [name for name, found in costs.items() if len(found) < len(sides[name])]:
        return _obstacle(label, metric, f"zero or not known {' and '.join(without)}")
    alone = all(len(found) == 1 for found in costs.values())
    if alone and (without := [name for name, (cost,) in costs.items() if cost.low is None]):
        return _obstacle(
            label, metric, f"requests are all that is paid {' and '.join(without)}, so no interval is known"
        )
    return _estimate(label, metric, sides, lambda capacity: capacity.cost)


def _obstacle(label: str, metric: Metric, why: str) -> Estimate:
    obstacle = Obstacle("not comparable", f"not compared: {why}")
    return Estimate(label, metric, "before", "after", "several bundles", 0, None, None, obstacle)


def _estimate(label: str, metric: Metric, sides: Sides, read: Callable[[Capacity], Ends | None]) -> Estimate:
    """Of one bundle a side with the intervals that the searches found; of several each counts once. read: what is
    compared, which all of them have."""
    known = {name: [(c, end) for c in found if c and (end := read(c))] for name, found in sides.items()}
    values = {name: [end.estimate for _, end in found if end.estimate] for name, found in known.items()}
    estimate = unpaired(label, metric, "before", "after", *([[value] for value in of] for of in values.values()))
    if any(len(of) > 1 for of in values.values()):
        return estimate
    errors, runs = [], []
    for capacity, end in (pair for found in known.values() for pair in found):
        assert end.low is not None
        assert end.high is not None
        runs.append(capacity.runs)
        errors.append(math.log(end.high / end.low) / 2 / t_critical(_ALPHA, max(1, capacity.runs - 1)))
    old, new = values["before"][0], values["after"][0]
    evidence = Evidence(math.log(new / old), math.hypot(*errors), float(max(1, min(runs) - 1)))
    note = (
        "one search a side: how much two searches of one and the same system differ on two days is not in the interval"
    )
    facts = label, metric, "before", "after"
    return Estimate(*facts, "two bundles", min(runs), old, new, evidence, (note,))


def _found(bundle: Bundle, cell: CellRecord) -> Capacity | None:
    """cell: one of `without_levels`."""
    search = bundle.plan.search
    assert search is not None
    contest = Contest(bundle.plan)
    answer = search_answer(contest, bundle)
    own = next(one for one in bundle.plan.cells if one.id == cell.id)
    where = setting_words(contest.without_axis(contest.setting(own)))
    who = contest.contestant(own)
    found = answer.found if answer is not None else []
    return next((one for one in found if (one.contestant, one.setting_words) == (who, where)), None)
