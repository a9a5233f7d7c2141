"""What the first user of a run will ask first, for the dry run: drawn by the engine as in the run, from no database."""

from __future__ import annotations

import json
from dataclasses import dataclass

from ..errors import PlanError
from ..fleet.engine_program import resolve
from ..model.boundary import Preview, Previewed, PreviewRequest, Refused
from .resolved import Cell, ResolvedPlan

OPERATIONS = 5


@dataclass(frozen=True)
class WorkloadPreview:
    workload: str
    operations: list[Previewed]


def previews(plan: ResolvedPlan) -> list[WorkloadPreview]:
    """Of each workload once, of those that can tell. Raises PlanError, EngineError."""
    cells: dict[str, Cell] = {}
    for cell in plan.cells:
        cells.setdefault(json.dumps(cell.workload.spec, sort_keys=True), cell)
    seed = plan.seed_of_block(1)
    requests = [PreviewRequest(workload=cell.workload.spec, seed=seed, count=OPERATIONS) for cell in cells.values()]
    found = []
    for cell, answer in zip(cells.values(), resolve(requests), strict=True):
        if isinstance(answer, Refused):
            raise PlanError(answer.what, where=answer.where, hint=answer.hint)
        assert isinstance(answer, Preview)
        if answer.operations:
            found.append(WorkloadPreview(cell.record.workload, answer.operations))
    return found
