"""The headline's sentences about single cells: their figures, conflicts, the space of tables, and cells that do not
count, or not fully: a reader would take the others for the whole answer."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.compare import ComparisonAnswer
from ...analysis.wording import bytes_words, change_words, more_or_less, percent_words, rate_words
from ...findings.cells import CellAnswer
from ...findings.contestants import Contest, at_words, setting_words
from ...findings.run_values import time_words
from ...model.levels import TABLE_FORMAT

#: The metric that shows these.
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
    return [f"{cell.contestant}{at_words(where)}: {figures}."]


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
    return [f"Of the attempts{at_words(where)} {shares} ended in a conflict with others."]


def size_words(contest: Contest, cells: Sequence[CellAnswer]) -> list[str]:
    """In the setting that the headline leads with; the sizes are those after the run of the typical repetition."""
    if contest.factor.rpartition(".")[2] != TABLE_FORMAT:
        return []
    sizes = {
        cell.contestant: cell.size_on_disk_bytes
        for cell in cells
        if cell.setting == dict(contest.middle) and cell.size_on_disk_bytes
    }
    base = sizes.pop(contest.baseline, None)
    if base is None or not sizes:
        return []
    where = at_words(setting_words(contest.middle))
    others = [f"{name} {bytes_words(size)} ({_change(size / base)})" for name, size in sizes.items()]
    return [f"On disk after a run{where}: {contest.baseline} {bytes_words(base)}, {', '.join(others)}."]


def _change(ratio: float) -> str:
    return "as much" if change_words(ratio) == "0 %" else more_or_less(ratio)


#: Cells that are named; more are only counted.
NAMED_MAX = 2


def not_valid_words(cells: Sequence[CellAnswer]) -> list[str]:
    """A cell whose runs all failed is said here, or a reader would take the others for the whole answer. (Of cells
    whose runs were disturbed the first sentence speaks.)"""
    found = [cell for cell in cells if cell.no_valid_run and not cell.too_few_undisturbed]
    sentences = [f"{_cell_words(cell)}: no valid run: {cell.no_valid_run}." for cell in found[:NAMED_MAX]]
    if len(found) > NAMED_MAX:
        sentences.append(f"No valid run either in {len(found) - NAMED_MAX} more of {len(cells)} cells.")
    return sentences


def not_compared_words(comparisons: Sequence[ComparisonAnswer], cells: Sequence[CellAnswer]) -> list[str]:
    """Whoever failed in some of its runs is named first, not ranked by the others."""
    refused = [c for c in comparisons if c.verdict == "invalid runs"]
    found = [cell for cell in cells if cell.invalid_runs and not cell.no_valid_run]
    sentences = []
    for cell in found[:NAMED_MAX]:
        is_refused = any(c.setting == cell.setting and cell.contestant in (c.base, c.other) for c in refused)
        so = "not compared" if is_refused else "what its other runs say is no answer"
        sentences.append(f"{_cell_words(cell)}: {cell.invalid_runs}; {so}.")
    if len(found) > NAMED_MAX:
        sentences.append(f"Some runs were invalid in {len(found) - NAMED_MAX} more of {len(cells)} cells.")
    return sentences


def _cell_words(cell: CellAnswer) -> str:
    return f"{cell.contestant}{at_words(cell.setting_words)}"
