"""What a bundle keeps of a plan."""

from __future__ import annotations

from collections.abc import Sequence

from ..fleet.spec import FleetSpec
from ..model.boundary import Open, OperationsLimit, TimeLimit
from ..model.records import PlanRecord, Scalar, SearchRecord
from . import data
from .document import PlanDocument, plan_tree
from .resolved import Cell


def record_of(
    document: PlanDocument,
    cells: list[Cell],
    factors: dict[str, list[Scalar]],
    comparison: tuple[str, Scalar | None],
    cache: str,
    only: Sequence[str],
    fail_if: Sequence[str],
    search: SearchRecord | None,
    fleet: FleetSpec | None,
) -> PlanRecord:
    measure = document.measure
    windows = {cell.limit.window_s if isinstance(cell.limit, TimeLimit) else None for cell in cells}
    operations = {
        cell.limit.operations * cell.clients if isinstance(cell.limit, OperationsLimit) else None for cell in cells
    }
    return PlanRecord(
        title=document.title,
        description=document.description,
        demonstration=document.demonstration,
        seed=document.seed,
        objective=measure.objective,
        compare_factor=comparison[0],
        baseline=comparison[1],
        repetitions=search.runs if search else measure.repetitions,
        warm_up_s=measure.warm_up,
        window_s=windows.pop() if len(windows) == 1 else None,
        operations=operations.pop() if len(operations) == 1 else measure.operations,
        pacing=_pacing_words(cells, search),
        error_budget_ratio=measure.error_budget,
        reset=data.by_system(cells, lambda cell: cell.reset),
        cache=cache,
        placement={
            side: cores
            for side, cores in (("client", measure.placement.client), ("server", measure.placement.server))
            if cores
        },
        factors=factors,
        limits=list(document.compare.limit),
        fail_if=[*document.compare.fail_if, *fail_if],
        matters_ratio=document.compare.matters,
        undecided=document.compare.undecided,
        search=search,
        cells=[cell.record for cell in cells],
        resolved=plan_tree(document, closed=all(cell.record.rate_ops_per_s is None for cell in cells)),
        only=list(only),
        repeat_disturbed=measure.repeat_disturbed,
        fleet=fleet.words if fleet else "",
    )


def _pacing_words(cells: list[Cell], search: SearchRecord | None) -> str:
    """ "closed loop", "open loop, 5000/s, Poisson arrivals"."""
    rates = {cell.record.rate_ops_per_s for cell in cells}
    if rates == {None}:
        return "closed loop"
    names = {"constant": "constant arrivals", "poisson": "Poisson arrivals", "per_session": "a schedule per session"}
    arrivals = sorted({names[cell.pacing.arrival] for cell in cells if isinstance(cell.pacing, Open)})
    rate = next(iter(rates))
    words = f"{rate:g}/s" if len(rates) == 1 and rate is not None else "the rate is a factor"
    if search and search.factor == "rate":
        words = "the rate is sought"
    return f"open loop, {words}, {' or '.join(arrivals)}"
