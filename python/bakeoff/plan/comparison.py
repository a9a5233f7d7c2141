"""What is compared: the factor whose levels are held against each other, and the level the others are held against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..model.records import CellRecord, Scalar
from ..report.levels import SWEPT_MIN, amount
from ..suggestions import meant
from .document import CompareTable
from .factors import Factor
from .resolved import Cell
from .source import Source

#: Of the load parameters, how much is asked of a system at once. The others are ways in which it is asked.
_LOAD = ("threads", "sessions", "clients", "workers", "rate")

Levels = Mapping[str, Sequence[Scalar]]


def read_comparison(
    said: CompareTable,
    planned: Levels,
    left: Levels,
    factors: Mapping[str, Factor],
    cells: Sequence[Cell],
    source: Source,
) -> tuple[str, Scalar | None]:
    """The compared factor and its baseline. What the plan says must be in it; where a skipped system took that away,
    the default takes its place. planned, left: levels by factor, of the plan and of what is run of it."""
    if said.factor == "workload" and has_other_data(cells, "workload"):
        hint = "systems are compared within each workload; workloads with the same data can be compared with each other"
        raise source.error("workloads with different data are never compared", "compare", "factor", hint=hint)
    if said.factor is not None and said.factor not in planned:
        raise source.error(
            f"`{said.factor}` is not a factor of this plan", "compare", "factor", hint=meant(said.factor, planned)
        )
    whole = said.factor or _asked_about(planned, factors)
    if said.baseline is not None and _among(said.baseline, planned[whole]) is None:
        known = ", ".join(str(level) for level in planned[whole])
        what = f"the baseline {said.baseline!r} is not a level of `{whole}`"
        raise source.error(what, "compare", "baseline", hint=f"levels: {known}")
    factor = said.factor if said.factor and said.factor in left else _asked_about(left, factors)
    levels = left[factor]
    if len(levels) < 2:
        return factor, None
    baseline = _among(said.baseline, levels)
    return factor, levels[0] if baseline is None else baseline


def has_other_data(cells: Sequence[Cell], factor: str) -> bool:
    """Whether cells that differ only in this factor differ in their data too."""
    seen: dict[str, CellRecord] = {}
    for cell in cells:
        rest = repr({name: level for name, level in cell.record.levels.items() if name != factor})
        if not cell.record.has_rows_of(seen.setdefault(rest, cell.record)):
            return True
    return False


def _asked_about(levels: Levels, factors: Mapping[str, Factor]) -> str:
    """Of the factors that vary the one that a plan without [compare] asks about, the first of its kind."""
    varying = [name for name in levels if len(levels[name]) > 1 and name != "workload"]
    return min(varying, key=lambda name: _rank(factors.get(name), levels[name]), default="system")


def _rank(factor: Factor | None, levels: Sequence[Scalar]) -> int:
    """What the system is, and how it is used, comes first, then a size that is swept, then the load. Other options of
    a workload come last: they ask for other operations or data, which are not compared."""
    if factor is None or factor.target == "system" or (factor.target == "load" and factor.path[0] not in _LOAD):
        return 0
    if factor.target == "load":
        return 2
    return 1 if len(levels) >= SWEPT_MIN and all(amount(level) is not None for level in levels) else 3


def _among(wanted: Any, levels: Sequence[Scalar]) -> Scalar | None:
    """The level equal to `wanted`; true is not 1."""
    same = (level for level in levels if level == wanted and isinstance(level, bool) == isinstance(wanted, bool))
    return next(same, None)
