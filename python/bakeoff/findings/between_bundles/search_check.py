"""A search against runs at fixed levels of what it sought: does it say of these levels what their runs say?

The runs are judged by the search's own limits, whatever limits their plan has, level by level (`limit_verdict`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Literal

from ...analysis.compare import ALPHA
from ...analysis.limit import Limit
from ...analysis.statistics import alpha_at
from ...analysis.thresholds import alpha_of_each
from ...analysis.wording import counted
from ...bundle.read import Bundle
from ...errors import BundleError
from ...model.boundary import Document
from ...model.levels import level_of
from ...model.records.plan import CellRecord, SearchRecord
from ..contestants import Contest, factor_words
from ..limits_and_searches.contradictions import contradiction_words
from ..limits_and_searches.evidence import Evidence, LimitLevel, Verdict, evidence, judged_level
from ..limits_and_searches.limits import search_limits
from ..limits_and_searches.searches import Capacity, search_answer
from ..runs import hit_together, mark_words, runs_by_cell
from .capacities import without_level, without_levels
from .comparison import refuse_meaningless, refuse_unknown
from .conditions import Change, changes
from .matching import Match, factors_of, match

Agreement = Literal["agrees", "contradicts", "open"]


class CheckedLevel(Document):
    """One cell of the fixed runs. search, fixed: whether all limits hold there, by the search and by the runs. limits:
    each limit's own verdict by the runs."""

    cell: str
    label: str
    level: float
    level_words: str
    search: Verdict
    fixed: Verdict
    agreement: Agreement
    limits: dict[str, LimitLevel]
    words: str


class SearchCheck(Document):
    """contradictions: in words; they are in the headline, too."""

    headline: list[str]
    contradictions: list[str]
    levels: list[CheckedLevel]


@dataclass(frozen=True)
class _Pair:
    """A cell of the fixed runs, its level of what was sought, and the search for the same."""

    cell: CellRecord
    level: float
    sought: CellRecord


def is_search_against_fixed(bundles: Sequence[Bundle]) -> bool:
    return len(bundles) == 2 and sum(bundle.plan.search is not None for bundle in bundles) == 1


def check_search(
    before: Bundle, after: Bundle, allowed: Collection[str] = ()
) -> tuple[SearchCheck, list[Change]] | None:
    """One of the two is a search. None where the other has no level of what was sought. Raises BundleError where they
    have nothing in common, or differ in what makes them not comparable."""
    found, fixed = (before, after) if before.plan.search is not None else (after, before)
    search = found.plan.search
    assert search is not None
    levels = {cell.id: _level(fixed, cell, search) for cell in fixed.plan.cells}
    if not any(level is not None for level in levels.values()):
        return None
    pairs = _pairs(found, fixed, search, levels, allowed)
    sides = [([pair.sought], [pair.cell]) for pair in pairs]
    matches = [Match(*side) if found is before else Match(*reversed(side)) for side in sides]
    changed = changes([before], [after], matches)
    refuse_meaningless([c for c in changed if c.weight == "meaningless" and c.key not in allowed], [before, after])
    return _checked(found, fixed, search, pairs), changed


def _level(bundle: Bundle, cell: CellRecord, search: SearchRecord) -> float | None:
    level = level_of(bundle.plan, cell, None, search.factor)
    return float(level) if isinstance(level, int | float) and not isinstance(level, bool) else None


def _pairs(
    found: Bundle,
    fixed: Bundle,
    search: SearchRecord,
    levels: dict[str, float | None],
    allowed: Collection[str],
) -> list[_Pair]:
    """Cells are matched without what was sought, one level of the fixed runs after the other."""
    without = without_levels(found)
    refuse_unknown(allowed, factors_of([without, fixed]))
    pairs = []
    for level in sorted({level for level in levels.values() if level is not None}):
        cells = {cell.id: cell for cell in fixed.plan.cells if levels[cell.id] == level}
        at = copy(fixed)
        at.plan = fixed.plan.model_copy(update={"cells": [without_level(cell, search) for cell in cells.values()]})
        for one in match([without], [at], allowed).matches:
            pairs.append(_Pair(cells[one.after[0].id], level, one.before[0]))
    if not pairs:
        raise BundleError(
            "the search and the fixed runs have no cell in common",
            where=f"{found.folder}, {fixed.folder}",
            hint="cells match by kind of system, load, work and the levels of factors; compare bundles of like plans",
        )
    return pairs


def _checked(found: Bundle, fixed: Bundle, search: SearchRecord, pairs: Sequence[_Pair]) -> SearchCheck:
    answer = search_answer(Contest(found.plan), found)
    capacities = {one.subject: one for one in answer.found} if answer else {}
    limits = search_limits(found.plan)
    runs, attempts = runs_by_cell(fixed.runs), runs_by_cell(fixed.attempts)
    hit = hit_together(fixed.plan.cells, runs)
    subjects = {cell.id: search.subject(cell) for cell in found.plan.cells}
    pairs = [pair for pair in pairs if runs[pair.cell.id] and subjects[pair.sought.id] in capacities]
    said = [
        [evidence(limit, fixed, runs[pair.cell.id], attempts[pair.cell.id], hit) for limit in limits] for pair in pairs
    ]
    alpha = alpha_of_each(sum(one.by_interval for of_pair in said for one in of_pair), alpha_at(1, ALPHA))
    levels, against = [], []
    for pair, of_pair in zip(pairs, said, strict=True):
        capacity = capacities[subjects[pair.sought.id]]
        one = _checked_level(search, pair, capacity, limits, of_pair, alpha)
        levels.append(one)
        if one.agreement == "contradicts":
            runs_words = f"the runs at that fixed {search.factor if search.factor == 'rate' else 'level'}"
            against.append(contradiction_words(capacity, limits, one.level_words, one.search, runs_words, one.words))
    shown = [run for pair in pairs for run in runs[pair.cell.id]]
    sides = (("search", found.runs), ("fixed runs", shown))
    marks = [f"{side}: {mark}" for side, made in sides if (mark := mark_words(made))]
    head = [f"{words}." for words in against] or [_agreement_words(levels)]
    return SearchCheck(headline=[*head, *(f"{mark}." for mark in marks)], contradictions=against, levels=levels)


def _checked_level(
    search: SearchRecord,
    pair: _Pair,
    capacity: Capacity,
    limits: Sequence[Limit],
    said: Sequence[Evidence],
    alpha: float,
) -> CheckedLevel:
    level = int(pair.level) if pair.level == int(pair.level) else pair.level
    where = factor_words(search.factor, level)
    judged = {
        str(limit): judged_level(one, pair.cell.id, level, where, alpha)
        for limit, one in zip(limits, said, strict=True)
    }
    verdicts = [one.verdict for one in judged.values()]
    fixed: Verdict = "no" if "no" in verdicts else "undecided" if "undecided" in verdicts else "yes"
    says = capacity.held.at(pair.level, highest=search.highest)
    agreement: Agreement = "open"
    if "undecided" not in (says, fixed):
        agreement = "agrees" if says == fixed else "contradicts"
    deciding = [one for one in judged.values() if one.verdict == fixed]
    return CheckedLevel(
        cell=pair.cell.id,
        label=pair.cell.label,
        level=pair.level,
        level_words=where,
        search=says,
        fixed=fixed,
        agreement=agreement,
        limits=judged,
        words="; ".join(one.words for one in deciding),
    )


def _agreement_words(levels: Sequence[CheckedLevel]) -> str:
    count = Counter(one.agreement for one in levels)
    if not count["agrees"]:
        return "Search and fixed runs neither agree nor contradict each other: no level is decided by both."
    rest = f"; {counted(count['open'], 'level is', 'levels are')} not decided by both" if count["open"] else ""
    return f"Search and fixed runs agree at {count['agrees']} of {counted(len(levels), 'level', 'levels')}{rest}."
