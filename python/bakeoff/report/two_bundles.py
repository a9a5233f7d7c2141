"""Two bundles against each other, cell by cell: did something change between then and now?"""

from __future__ import annotations

from typing import Protocol

from ..analysis.compare import Comparison, judge, unpaired
from ..analysis.objective import Objective
from ..errors import BundleError
from ..model.records import BundleInfo, CellRecord, PlanRecord, RunRecord


class BundleLike(Protocol):
    info: BundleInfo
    plan: PlanRecord

    @property
    def runs(self) -> list[RunRecord]: ...


def value(run: RunRecord, objective: Objective) -> float | None:
    """The objective's value of one run, or None where it is not defined."""
    if objective.name == "rate":
        return run.rate_ops_per_s
    field = {"latency_mean": "mean_ms", "latency_max": "max_ms"}.get(objective.name)
    name = field or objective.name.removeprefix("latency_") + "_ms"
    found: float | None = getattr(run.response, name, None)
    return found


def compare(old: BundleLike, new: BundleLike, objectives: list[Objective]) -> tuple[list[Comparison], list[str]]:
    """Comparisons of `new` against `old` for every cell both have, and what had to be left out, in words.

    Cells match by system, levels, users and workload. Cells on different data are not compared. Raises BundleError when
    nothing is common.
    """
    left_out: list[str] = []
    pairs = []
    then = {key(cell): cell for cell in old.plan.cells}
    for cell in new.plan.cells:
        partner = then.pop(key(cell), None)
        if partner is None:
            left_out.append(f"{cell.label}: only in the second bundle")
        elif partner.dataset != cell.dataset:
            left_out.append(f"{cell.label}: the data sets differ, so the cells are not comparable")
        else:
            pairs.append((partner, cell))
    left_out += [f"{cell.label}: only in the first bundle" for cell in then.values()]
    if not pairs:
        raise BundleError(
            "the two bundles have no cell in common",
            where=f"{old.info.title!r} and {new.info.title!r}",
            hint="compare bundles of the same plan; cells match by system, factor levels, users and data",
        )
    estimates = [
        unpaired(cell.label, objective, "A", "B", _values(old, a.id, objective), _values(new, cell.id, objective))
        for objective in objectives
        for a, cell in pairs
    ]
    return [c for o in objectives for c in judge(e for e in estimates if e.objective == o)], left_out


def key(cell: CellRecord) -> tuple[object, ...]:
    levels = tuple(sorted((name, str(level)) for name, level in cell.levels.items()))
    return (cell.system, cell.kind, levels, cell.threads, cell.clients, cell.rate_ops_per_s, cell.workload)


def _values(bundle: BundleLike, cell: str, objective: Objective) -> list[float | None]:
    return [value(run, objective) for run in bundle.runs if run.cell == cell and run.valid]
