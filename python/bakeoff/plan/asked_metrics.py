"""Metrics that a plan names (objective, limits, thresholds): each is one that its runs will have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..analysis import fail_if, limit
from ..analysis.fault_figures import FAULT_FIGURES
from ..analysis.metric import Metric
from ..analysis.registry import UnknownMetric, is_watched, metric
from ..analysis.response import same_operation
from ..model.boundary import Rate
from ..suggestions import meant
from .resolved import Cell
from .source import Source

_OF_FAULTS = {figure.name for figure in FAULT_FIGURES}


def check_objective(objective: str, cells: Iterable[Cell], source: Source) -> list[str]:
    """It is a metric that some workload of the plan has; returns warnings of those that have it not."""
    try:
        found = metric(objective, rates_of(cells))
    except UnknownMetric as error:
        raise source.error(str(error), "measure", "objective", hint=error.hint) from None
    return [
        f"{words}, so nothing is compared there" for words in check_metric(found, cells, source, "measure", "objective")
    ]


def check_limits(texts: Sequence[str], cells: Sequence[Cell], source: Source, *place: str) -> list[str]:
    """Each is a limit on a metric that some workload of the plan has; returns warnings of those that have it not."""
    warnings = []
    for text in texts:
        try:
            found = limit.parse(text, rates_of(cells))
        except (limit.LimitError, UnknownMetric) as error:
            raise source.error(str(error), *place, hint=error.hint) from None
        warnings += [
            f"{words}, so {text!r} is not met there" for words in check_metric(found.metric, cells, source, *place)
        ]
    return warnings


def check_thresholds(texts: Sequence[str], cells: Sequence[Cell], source: Source, *place: str) -> None:
    """Each is a change (of `fail_if`) or a limit, of a metric that some workload of the plan has."""
    for text in texts:
        try:
            found = fail_if.parse_threshold(text, rates_of(cells))
        except ValueError as error:
            raise source.error(str(error), *place, hint=getattr(error, "hint", "")) from None
        of = found.metric if isinstance(found, limit.Limit) else found.objective
        check_metric(of, cells, source, *place)


def rates_of(cells: Iterable[Cell]) -> list[Rate]:
    """The workloads' own metrics."""
    return [rate for cell in cells for rate in cell.workload.rates]


def check_metric(found: Metric, cells: Iterable[Cell], source: Source, *place: str) -> list[str]:
    """Some workload has it, and the operation that its name ends in; returns of which workloads that is not so. A
    figure of planned faults is one of plans that have any."""
    cells = list(cells)
    if found.name in _OF_FAULTS and not any(cell.record.faults for cell in cells):
        hint = "add [[faults]], or choose another metric: `bakeoff metrics`"
        raise source.error(f"`{found.name}` is of planned faults, and the plan has none", *place, hint=hint)
    workloads = {cell.record.workload: cell.workload for cell in cells}
    own = {label: {rate.name for rate in workload.rates} for label, workload in workloads.items()}
    base = found.name.partition(".")[0]
    if any(base in names for names in own.values()):
        return [f"{label} has no {base}" for label, names in own.items() if base not in names]
    part = found.part
    if not part or is_watched(found.name):
        return []
    without = [label for label, w in workloads.items() if not any(same_operation(part, n) for n in w.operations)]
    if len(without) == len(workloads):
        known = dict.fromkeys(name for workload in workloads.values() for name in workload.operations)
        what = f"no workload of this plan has the operation `{part}`"
        raise source.error(what, *place, hint=meant(part, known))
    return [f"{label} has no operation `{part}`" for label in without]
