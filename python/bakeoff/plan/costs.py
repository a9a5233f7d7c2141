"""What a plan may cost where its systems are public services: the operations that it can make at most, at the list
price of a request. A plan that may cost something begins only with --allow-cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..errors import PlanError
from ..model.boundary import OperationsLimit, TimeLimit
from ..systems import SYSTEMS
from ..systems.public_service import PublicService
from .dry_run.estimates import loads
from .resolved import Cell, ResolvedPlan

_NOTE = (
    "an operation is several requests where it is a scan, a transaction or on a large item, and warming and checks read"
    " rows in addition"
)


@dataclass(frozen=True)
class Cost:
    """Of one system. operations: at most, of all runs and repeats; None: a closed loop has no bound. rows: that are
    loaded, each time again. at_most: the price of both; None where there is no bound."""

    system: str
    service: PublicService
    operations: int | None
    rows: int

    @property
    def at_most(self) -> float | None:
        if self.operations is None:
            return None
        of_runs = self.operations * self.service.highest_price_per_million
        return (of_runs + self.rows * self.service.write_price_per_million) / 1e6

    @property
    def words(self) -> str:
        service = self.service
        rows = f" and {self.rows:,} rows loaded" if self.rows else ""
        if self.at_most is None:
            much = f"as many operations as it can make (a closed loop has no bound){rows}, at {service.price_words}"
        else:
            about = f"{self.at_most:,.2f} {service.currency}" if self.at_most >= 0.01 else f"0.01 {service.currency}"
            much = f"at most {self.operations:,} operations{rows}, about {about} at {service.price_words}"
        return f"{self.system} is {service.name} at {service.address}, a public service that charges: {much}; {_NOTE}"


def costs_of(plan: ResolvedPlan) -> list[Cost]:
    return [
        Cost(cells[0].record.system, service, _operations(plan, cells), _rows(plan, cells))
        for service, cells in _of_services(plan.cells)
    ]


def costs_of_load(cells: Sequence[Cell]) -> list[Cost]:
    """Of a load alone."""
    return [
        Cost(of[0].record.system, service, 0, sum(first.workload.loaded_rows for first, *_ in loads(of)))
        for service, of in _of_services(cells)
    ]


def refuse_cost(costs: Sequence[Cost], *, allowed: bool) -> None:
    """Raises PlanError where a plan may cost something and nobody agreed to that."""
    if costs and not allowed:
        hint = "give --allow-cost to pay for it"
        raise PlanError("; ".join(cost.words for cost in costs), where=f"systems.{costs[0].system}", hint=hint)


def _of_services(cells: Sequence[Cell]) -> list[tuple[PublicService, list[Cell]]]:
    found: dict[tuple[str, PublicService], list[Cell]] = {}
    for cell in cells:
        service = SYSTEMS[cell.record.kind].public_service(cell.system_options)
        if service is not None:
            found.setdefault((cell.record.system, service), []).append(cell)
    return [(service, of) for (_, service), of in found.items()]


def _operations(plan: ResolvedPlan, cells: Sequence[Cell]) -> int | None:
    """Every attempt of every operation, also of repeated runs. In a search each run may be of any level."""
    each = [_of_run(plan, cell) for cell in cells]
    known = [count for count in each if count is not None]
    if len(known) < len(each) or plan.record.search:
        return None
    planned = sum(known) * plan.record.repetitions
    return planned + max(known) * plan.record.repeats_max


def _of_run(plan: ResolvedPlan, cell: Cell) -> int | None:
    """None: as many as there is time for."""
    attempts, rate, limit = 1 + cell.retry.retries, cell.record.rate_ops_per_s, cell.limit
    if isinstance(limit, OperationsLimit) and (rate is not None or plan.warm_up_s == 0):
        return attempts * (limit.operations * cell.clients + round((rate or 0) * plan.warm_up_s))
    if rate is None or not isinstance(limit, TimeLimit):
        return None
    return round(attempts * rate * (plan.warm_up_s + limit.window_s))


def _rows(plan: ResolvedPlan, cells: Sequence[Cell]) -> int:
    """Loaded once, or before each run."""
    rows = 0
    for of_load in loads([cell for cell in cells if cell.data == "load"]):
        again = sum(cell.reset == "reload" for cell in of_load) * plan.record.repetitions
        repeats = plan.record.repeats_max if again else 0
        rows += of_load[0].workload.loaded_rows * max(1, again + repeats)
    return rows


def as_json(costs: Sequence[Cost]) -> list[Mapping[str, object]]:
    return [
        {
            "system": cost.system,
            "service": cost.service.name,
            "address": cost.service.address,
            "operations_max": cost.operations,
            "rows_loaded": cost.rows,
            "cost_max": cost.at_most,
            "currency": cost.service.currency,
            "words": cost.words,
        }
        for cost in costs
    ]
