"""How the runs stood to the limits that the plan asks for.

"p99 below 2 ms: yes up to 10,000/s offered (at most 1.31 ms); not decided at 20,000/s offered (...); no at 30,000/s
offered (2.90 ms, ...; missed by all: run 1 (2.81 ms), ...)"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from ...analysis.limit import Limit, LimitError, parse
from ...analysis.registry import UnknownMetric
from ...analysis.thresholds import alpha_of_each
from ...analysis.wording import counted
from ...bundle.read import Bundle
from ...errors import BundleError
from ...model.boundary import Document
from ...model.records.plan import CellRecord, PlanRecord
from ...model.records.run import RunRecord
from ..contestants import Contest, Setting, amount, factor_words, setting_words
from ..runs import hit_together, mark_words, runs_by_cell
from .evidence import VERDICT_WORDS, Evidence, LimitLevel, evidence, judged_level


class LimitFinding(Document):
    """One limit and one contestant, over the levels of what was swept; without such a factor there is one level."""

    limit: str  # as the plan has it
    limit_words: str
    contestant: str  # "" where the contestants are the levels
    setting_words: str
    axis: str | None
    levels: list[LimitLevel]
    words: str


def limits_of_plan(plan: PlanRecord) -> list[Limit]:
    """Those that every run is checked against."""
    return _parsed(plan, plan.limits)


def search_limits(plan: PlanRecord) -> list[Limit]:
    """Those that a search's levels are to keep."""
    return _parsed(plan, plan.search.limits if plan.search else [])


def _parsed(plan: PlanRecord, texts: Sequence[str]) -> list[Limit]:
    """BundleError for one that this bakeoff does not know."""
    try:
        return [parse(text, plan.rates) for text in texts]
    except (LimitError, UnknownMetric) as error:
        what = f"the bundle's plan has a limit that this bakeoff does not know: {error}"
        raise BundleError(what, hint=error.hint) from error


def limit_findings(
    contest: Contest, bundle: Bundle, runs: Mapping[str, Sequence[RunRecord]], alpha: float | None
) -> list[LimitFinding]:
    """runs: by cell. Limit by limit, in the order of the plan; what was not run is left out. alpha: the chance of error
    that this analysis may take; the cells of all limits share it."""
    hit = hit_together(contest.plan.cells, runs)
    attempts = runs_by_cell(bundle.attempts)
    lines = [(line, [cell for cell in line.cells if runs.get(cell.id)]) for line in _lines(contest)]
    found = [
        (limit, line, cells, [evidence(limit, bundle, runs[cell.id], attempts[cell.id], hit) for cell in cells])
        for limit in limits_of_plan(contest.plan)
        for line, cells in lines
        if cells
    ]
    each = alpha_of_each(sum(one.by_interval for *_, of_line in found for one in of_line), alpha)
    mark = mark_words([run for of_cell in runs.values() for run in of_cell])
    return [
        _finding(limit, line, [_level(one, line.axis, cell, each) for cell, one in zip(cells, said, strict=True)], mark)
        for limit, line, cells, said in found
    ]


@dataclass(frozen=True)
class _Line:
    contestant: str
    setting: Setting
    axis: str | None
    cells: list[CellRecord]


def _lines(contest: Contest) -> list[_Line]:
    """Cells that differ in what was swept alone: the compared factor where its levels are numbers, else the axis."""
    lines: dict[tuple[str, Setting], list[CellRecord]] = {}
    own = _is_numeric(contest)
    axis = contest.factor if own else contest.axis
    for cell in contest.plan.cells:
        setting = contest.setting(cell) if own else contest.without_axis(contest.setting(cell))
        lines.setdefault(("" if own else contest.contestant(cell), setting), []).append(cell)
    ordered = {key: sorted(cells, key=lambda cell: _number(cell, axis)) for key, cells in lines.items()}
    return [_Line(name, setting, axis, cells) for (name, setting), cells in ordered.items()]


def _is_numeric(contest: Contest) -> bool:
    levels = {cell.levels.get(contest.factor) for cell in contest.plan.cells}
    return all(isinstance(level, int | float) and not isinstance(level, bool) for level in levels)


def _number(cell: CellRecord, axis: str | None) -> float:
    return 0.0 if axis is None else amount(cell.levels[axis]) or 0.0


def _level(found: Evidence, axis: str | None, cell: CellRecord, alpha: float) -> LimitLevel:
    level = None if axis is None else cell.levels[axis]
    words = "" if axis is None or level is None else factor_words(axis, level)
    return judged_level(found, cell.id, level, words, alpha)


def _finding(limit: Limit, line: _Line, levels: list[LimitLevel], mark: str) -> LimitFinding:
    words = words_of(levels, line.axis, limit)
    return LimitFinding(
        limit=str(limit),
        limit_words=limit.words,
        contestant=line.contestant,
        setting_words=setting_words(line.setting),
        axis=line.axis,
        levels=levels,
        words=f"{words} ({mark})" if mark else words,
    )


def words_of(levels: Sequence[LimitLevel], axis: str | None, limit: Limit) -> str:
    """What holds first, then what is not decided, last what does not."""
    groups = [list(group) for _, group in groupby(levels, key=lambda level: level.verdict)]
    return "; ".join(
        f"{VERDICT_WORDS[verdict]}{' and'.join(_place(group, levels, axis, limit) for group in of_verdict)}"
        for verdict in ("yes", "undecided", "no")
        if (of_verdict := [group for group in groups if group[0].verdict == verdict])
    )


def _place(group: Sequence[LimitLevel], levels: Sequence[LimitLevel], axis: str | None, limit: Limit) -> str:
    """ " up to 4 threads (at most 1.31 ms)", " at 16 threads (1.98 ms; missed by run 2 (2.10 ms))"."""
    where = _where(group, levels, axis or "")
    inner = group[0].words if len(group) == 1 else _values_words(group, limit)
    return f"{f' {where}' if where else ''}{f' ({inner})' if inner else ''}"


def _where(group: Sequence[LimitLevel], levels: Sequence[LimitLevel], axis: str) -> str:
    if len(group) == 1:
        return f"at {group[0].level_words}" if group[0].level_words else ""
    span = factor_words(axis, *(level.level for level in (group[0], group[-1]) if level.level is not None))
    if len(group) == len(levels):
        return f"at all levels, {span}"
    return f"up to {group[-1].level_words}" if group[0] is levels[0] else f"from {span}"


def _values_words(group: Sequence[LimitLevel], limit: Limit) -> str:
    """The value that comes closest to the limit, or why there is none."""
    if group[0].verdict == "undecided":
        return ", ".join(dict.fromkeys(level.obstacle or "runs on both sides" for level in group))
    values = [level.value for level in group if level.value is not None]
    if not values:
        return _reasons(group)
    beyond = (group[0].verdict == "no") == limit.is_ceiling
    return f"{'at least' if beyond else 'at most'} {limit.metric.words((min if beyond else max)(values))}"


def _reasons(levels: Sequence[LimitLevel]) -> str:
    """Why runs have no value, and how many of all: "9 of 10 runs overloaded"."""
    found = Counter[str]()
    for level in levels:
        found.update({why: count for why, count in level.reasons.items() if why != "not met"})
    runs = sum(level.runs for level in levels)
    return ", ".join(f"{count} of {counted(runs, 'run', 'runs')} {why}" for why, count in found.items())
