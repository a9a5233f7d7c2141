"""Where a search says that a limit holds at a level, and runs that were made at that level say that it does not; or the
other way round. Each is reported: a reader would believe whichever of the two is read first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...analysis.limit import Limit, parse
from ...analysis.thresholds import parse_threshold
from ...model.boundary import Document
from ..contestants import Contest, factor_words, who_words
from .evidence import Verdict
from .limits import LimitFinding, search_limits
from .searches import Capacity, SearchAnswer
from .thresholds import ThresholdAnswer


class Contradiction(Document):
    """search, fixed: whether the limit holds at that level, by the search and by the runs at the level."""

    contestant: str
    setting_words: str
    limit: str
    level: float
    level_words: str
    search: Verdict
    fixed: Verdict
    words: str


_VERDICTS: dict[str, Verdict] = {"passed": "yes", "failed": "no"}


def contradictions(
    contest: Contest,
    found: SearchAnswer | None,
    held: Sequence[LimitFinding],
    thresholds: Sequence[ThresholdAnswer],
) -> list[Contradiction]:
    """Of one bundle: a search's plan may also have limits, and values in `fail_if`, on what it searches for."""
    search = contest.plan.search
    if found is None or search is None:
        return []
    cells = {cell.id: cell for cell in contest.plan.cells}
    capacities = {one.subject: one for one in found.found}
    limits = search_limits(contest.plan)
    clashes = []
    for limit, cell, verdict, why in _judged_limits(contest, held, thresholds):
        capacity = capacities.get(search.subject(cells[cell]))
        level = cells[cell].levels[search.factor]
        if capacity is None or not isinstance(level, int | float):
            continue
        says = capacity.held.at(level, highest=search.highest)
        if clash(says, verdict, limits, limit):
            where = factor_words(search.factor, level)
            runs = f"its runs there, judged alone by {limit.words},"
            words = contradiction_words(capacity, limits, where, says, runs, why)
            clashes.append(
                Contradiction(
                    contestant=capacity.contestant,
                    setting_words=capacity.setting_words,
                    limit=str(limit),
                    level=float(level),
                    level_words=where,
                    search=says,
                    fixed=verdict,
                    words=words,
                )
            )
    return clashes


def _judged_limits(
    contest: Contest, held: Sequence[LimitFinding], thresholds: Sequence[ThresholdAnswer]
) -> Iterator[tuple[Limit, str, Verdict, str]]:
    """Limit, cell, verdict and what that rests on. Levels with a single run are left out: that run is one of those that
    the search's interval rests on, and alone it does not contradict the others."""
    for finding in held:
        for level in finding.levels:
            if level.runs > 1:
                yield parse(finding.limit, contest.plan.rates), level.cell, level.verdict, level.words
    for one in thresholds:
        fails = parse_threshold(one.condition, contest.plan.rates)
        if isinstance(fails, Limit) and one.value is not None and one.low is not None and one.status in _VERDICTS:
            value = f"{fails.metric.words(one.value)}, `fail_if` {one.status}"
            yield fails.opposite, one.cell, _VERDICTS[one.status], value


def clash(says: Verdict, verdict: Verdict, limits: Sequence[Limit], limit: Limit) -> bool:
    """says: of the search, which is for all of its limits together; verdict: of runs, for one limit."""
    if (says, verdict) == ("yes", "no"):
        return any(one.implies(limit) for one in limits)
    return (says, verdict) == ("no", "yes") and len(limits) == 1 and limit.implies(limits[0])


def contradiction_words(
    capacity: Capacity, limits: Sequence[Limit], where: str, says: Verdict, runs: str, why: str
) -> str:
    """ "Contradiction for mariadb at 3,000/s offered: the search found 4,000/s (...), so p99 below 2 ms holds there,
    but the runs at that fixed rate missed it (2.31 ms; the only run decides)"."""
    who = who_words(capacity)
    found = f"found {capacity.words}" if capacity.estimate is not None else f"says {capacity.words}"
    limit = " and ".join(one.words for one in limits)
    holds = "holds" if len(limits) == 1 else "hold"
    does = holds if says == "yes" else f"{'does' if len(limits) == 1 else 'do'} not hold"
    did = "missed" if says == "yes" else "met"
    return (
        f"Contradiction for {who} at {where}: the search {found}, so {limit} {does} there, but {runs} {did} it ({why})"
    )
