"""How the runs stood to the limits that the plan asks for.

"p99 below 2 ms: met up to 10,000/s offered; at 20,000/s offered in 3 of 5 repetitions; not at 30,000/s offered"
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from pydantic import Field

from ..analysis.limit import Limit, LimitError, parse
from ..analysis.registry import UnknownMetric
from ..analysis.wording import counted
from ..errors import BundleError
from ..model.boundary import Document
from ..model.records import CellRecord, PlanRecord, RunRecord, Scalar
from .contest import Contest, Setting, setting_words
from .levels import amount, factor_words
from .run_values import observed
from .runs import that_count, too_few_undisturbed
from .source import Source

#: So many are told one by one in the headline.
NAMED_MAX = 4


class LimitLevel(Document):
    """One cell. runs: that were made; reasons: of those that did not keep the limit, how often each."""

    cell: str
    level: Scalar | None
    level_words: str
    runs: int
    met: int
    reasons: dict[str, int] = Field(default_factory=dict)


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
    """Those that every run is held against."""
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


def limit_findings(contest: Contest, bundle: Source, runs: Mapping[str, Sequence[RunRecord]]) -> list[LimitFinding]:
    """runs: by cell. Limit by limit, in the order of the plan; what was not run, or not often enough
    undisturbed, is left out."""
    runs = {cell: that_count(found) for cell, found in runs.items() if not too_few_undisturbed(found)}
    lines = [(line, [cell for cell in line.cells if runs.get(cell.id)]) for line in _lines(contest)]
    return [
        _finding(limit, line, [_level(limit, line.axis, cell, bundle, runs[cell.id]) for cell in cells])
        for limit in limits_of_plan(contest.plan)
        for line, cells in lines
        if cells
    ]


def limit_sentences(findings: Sequence[LimitFinding]) -> list[str]:
    several = len({(found.contestant, found.setting_words) for found in findings}) > 1
    sentences = [f"{_subject(found, several)}: {found.words}." for found in findings[:NAMED_MAX]]
    if len(findings) > NAMED_MAX:
        left = findings[NAMED_MAX:]
        met = sum(level.met == level.runs for found in left for level in found.levels)
        cells = sum(len(found.levels) for found in left)
        sentences.append(
            f"Limits in the other settings: met in all repetitions of {met} of {counted(cells, 'cell', 'cells')}."
        )
    return sentences


def _subject(found: LimitFinding, several: bool) -> str:
    who = ", ".join(filter(None, (found.contestant, found.setting_words))) if several else ""
    return f"{found.limit_words} ({who})" if who else found.limit_words


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


def _level(limit: Limit, axis: str | None, cell: CellRecord, bundle: Source, runs: Sequence[RunRecord]) -> LimitLevel:
    found = Counter(limit.status(observed(bundle, run)) for run in runs)
    met = found.pop("met", 0)
    level = None if axis is None else cell.levels[axis]
    return LimitLevel(
        cell=cell.id,
        level=level,
        level_words="" if axis is None or level is None else factor_words(axis, level),
        runs=len(runs),
        met=met,
        reasons=dict(found),
    )


def _finding(limit: Limit, line: _Line, levels: list[LimitLevel]) -> LimitFinding:
    return LimitFinding(
        limit=str(limit),
        limit_words=limit.words,
        contestant=line.contestant,
        setting_words=setting_words(line.setting),
        axis=line.axis,
        levels=levels,
        words=words_of(levels, line.axis),
    )


def words_of(levels: Sequence[LimitLevel], axis: str | None) -> str:
    return _alone_words(levels[0]) if len(levels) == 1 else "; ".join(_clauses(levels, axis or ""))


def _alone_words(level: LimitLevel) -> str:
    where = f" at {level.level_words}" if level.level_words else ""
    if level.met == level.runs:
        all_of = f"all {level.runs} repetitions" if level.runs > 1 else "the one run that was made"
        return f"met{where} in {all_of}"
    if level.met == 0:
        return f"not met{where} in any of {counted(level.runs, 'run', 'repetitions')}{_reasons([level])}"
    return f"met{where} in {level.met} of {level.runs} repetitions{_reasons([level])}"


def _clauses(levels: Sequence[LimitLevel], axis: str) -> Iterator[str]:
    """What was met first, then what was met at times, last what was not."""
    groups = [(kind, list(group)) for kind, group in groupby(levels, _kind)]
    met = [_met_words(group, levels, axis) for kind, group in groups if kind == "met"]
    if met:
        yield "met " + " and ".join(met)
    for kind, group in groups:
        if kind == "at times":
            yield from (f"at {level.level_words} in {_share(level)}" for level in group)
    missed = [_missed_words(group, levels, axis) for kind, group in groups if kind == "not met"]
    if missed:
        yield ("not " if met else "not met ") + " and ".join(missed)


def _kind(level: LimitLevel) -> str:
    return "met" if level.met == level.runs else "at times" if level.met else "not met"


def _share(level: LimitLevel) -> str:
    return f"{level.met} of {level.runs} repetitions{_reasons([level])}"


def _met_words(group: Sequence[LimitLevel], levels: Sequence[LimitLevel], axis: str) -> str:
    if len(group) == len(levels):
        return f"at all levels, {_span(group, axis)}"
    if group[0] is levels[0] and len(group) > 1:
        return f"up to {group[-1].level_words}"
    return f"{'at' if len(group) == 1 else 'from'} {_span(group, axis)}"


def _missed_words(group: Sequence[LimitLevel], levels: Sequence[LimitLevel], axis: str) -> str:
    where = "at any level," if len(group) == len(levels) else "at" if len(group) == 1 else "from"
    return f"{where} {_span(group, axis)}{_reasons(group)}"


def _span(group: Sequence[LimitLevel], axis: str) -> str:
    """ "4 threads", "1 to 8 threads"."""
    levels = dict.fromkeys(level.level for level in (group[0], group[-1]) if level.level is not None)
    return factor_words(axis, *levels)


def _reasons(levels: Sequence[LimitLevel]) -> str:
    """Why a run says nothing of the metric; that it was beyond the limit needs no words."""
    found = Counter[str]()
    for level in levels:
        found.update({why: count for why, count in level.reasons.items() if why != "not met"})
    missed = sum(level.runs - level.met for level in levels)
    if not found:
        return ""
    words = [why if count == missed else f"{count} {why}" for why, count in found.items()]
    return f" ({', '.join(words)})"
