"""The runs of a search, as what they say to it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from ..analysis.limit import Limit
from ..analysis.search import Question, Trial
from ..model.records import RunRecord, SearchRecord
from .run_values import observed
from .source import Source


def question_of(search: SearchRecord) -> Question:
    return Question(
        low=search.low,
        high=search.high,
        first=search.first,
        highest=search.highest,
        whole=search.whole,
        precision_ratio=search.precision_ratio,
        runs_max=search.runs,
    )


def excess(bundle: Source, run: RunRecord, limits: Sequence[Limit]) -> float:
    """Beyond the limit that the run kept least: all are to be kept. NaN where one of them could not be judged for too
    few operations, and none was broken."""
    seen = observed(bundle, run)
    found = [limit.excess(seen) for limit in limits]
    worst = max((one for one in found if not math.isnan(one)), default=math.nan)
    return math.nan if worst < 0 and any(map(math.isnan, found)) else worst


def unsaid(bundle: Source, run: RunRecord, limits: Sequence[Limit]) -> str:
    """Why the run does not say whether it kept the limits: "overloaded"; "" where it does."""
    statuses = (limit.status(observed(bundle, run)) for limit in limits)
    return next((status for status in statuses if status not in ("met", "not met")), "")


def trials_by_subject(
    bundle: Source, search: SearchRecord, limits: Sequence[Limit]
) -> dict[str, list[tuple[RunRecord, Trial]]]:
    """In the order in which they were made, without those that say nothing; a subject without any has an empty list."""
    cells = {cell.id: cell for cell in bundle.plan.cells}
    found: dict[str, list[tuple[RunRecord, Trial]]] = {search.subject(cell): [] for cell in cells.values()}
    for run in sorted(bundle.runs, key=lambda run: run.block):
        if run.leaves_its_place_open:
            continue
        cell = cells[run.cell]
        level = float(cell.levels[search.factor])
        found[search.subject(cell)].append((run, Trial(level, excess(bundle, run, limits))))
    return found


def disturbed_by_subject(bundle: Source, search: SearchRecord) -> defaultdict[str, list[tuple[RunRecord, float]]]:
    """Attempts that were disturbed and do not count, with their levels, in the order in which they were made."""
    cells = {cell.id: cell for cell in bundle.plan.cells}
    found: defaultdict[str, list[tuple[RunRecord, float]]] = defaultdict(list)
    for run in sorted(bundle.attempts, key=lambda run: (run.block, run.attempt)):
        if run.standing == "disturbed" and not run.valid:
            cell = cells[run.cell]
            found[search.subject(cell)].append((run, float(cell.levels[search.factor])))
    return found
