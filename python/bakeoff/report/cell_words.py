"""The headline's sentences about single cells: their figures, and conflicts where they are many."""

from __future__ import annotations

from collections.abc import Sequence

from ..analysis.wording import percent_words, rate_words
from ..findings.contestants import Contest, setting_words
from ..findings.run_values import time_words
from .answer import CellAnswer

#: The metric that these are told by.
ABORTS = "abort_ratio"
#: A share of the attempts that ended in a conflict; from here on it is said first.
ABORTS_MANY = 0.01


def figure_words(contest: Contest, cells: Sequence[CellAnswer]) -> list[str]:
    """Nothing to compare: the figures of the middle setting."""
    cell = next((c for c in cells if c.setting == dict(contest.middle)), None)
    if cell is None or cell.rate_ops_per_s is None:
        return ["No run was finished, so there is nothing to say."]
    if not cell.valid:
        return []
    where = setting_words(contest.middle)
    p99 = time_words(cell.response, "p99_ms")
    times = f", p99 {p99}" if p99 and not _pauses(contest, cell) else ""
    judged = cell.metrics.get(contest.objective.name)
    first = f"{contest.objective.label} {contest.objective.words(judged.value)}, " if judged else ""
    figures = f"{first}{rate_words(cell.rate_ops_per_s.value)}{times}"
    return [f"{cell.contestant}{f' at {where}' if where else ''}: {figures}."]


def _pauses(contest: Contest, cell: CellAnswer) -> bool:
    """Whether faults were planned in a closed loop, whose percentiles hide them."""
    record = next(one for one in contest.plan.cells if one.id == cell.cell)
    return bool(record.faults) and record.rate_ops_per_s is None


def abort_words(contest: Contest, cells: Sequence[CellAnswer]) -> list[str]:
    """At the middle setting, where they are many, unless they are what is judged."""
    if contest.objective.name == ABORTS:
        return []
    ratios = {
        cell.contestant: spread.value
        for cell in cells
        if cell.setting == dict(contest.middle) and cell.valid and (spread := cell.metrics.get(ABORTS))
    }
    if not any(ratio >= ABORTS_MANY for ratio in ratios.values()):
        return []
    where = setting_words(contest.middle)
    shares = ", ".join(f"{percent_words(ratio)} of {name}'s" for name, ratio in ratios.items())
    return [f"Of the attempts{f' at {where}' if where else ''} {shares} ended in a conflict with others."]
