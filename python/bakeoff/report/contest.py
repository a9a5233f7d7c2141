"""Who is compared with whom, and under which conditions.

A plan compares the levels of one factor (usually the systems). A *contestant* is one of these levels, with the levels
of any factor that belongs to some systems only. A *setting* is a combination of all the other factors. So each cell is
one contestant in one setting, and contestants meet in the settings they share.

Where the compared factor is an amount (threads, a rate, a size), the question is where the highest is: it becomes the
axis, one of the settings' factors, and the contestants are what else varies, each a line over that axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..analysis.metric import Metric
from ..analysis.registry import UnknownMetric, metric
from ..errors import BundleError
from ..model.records import CellRecord, PlanRecord, Scalar
from .levels import SWEPT_MIN, amount, are_codes, factor_words

Setting = tuple[tuple[str, Scalar], ...]


@dataclass(frozen=True)
class Contest:
    plan: PlanRecord

    @cached_property
    def shared(self) -> list[str]:
        """Factors that every cell of a workload has a level of, the contestants' apart; in the plan's order."""
        return [name for name in self._varying if name != self.factor and self._is_everybodys(name)]

    @cached_property
    def _varying(self) -> list[str]:
        """Factors of more than one level; one that is the same in all cells tells none from another. What is sought
        varies, however few of its levels were tried."""
        sought = self.plan.search.factor if self.plan.search else None
        return [name for name, levels in self._levels.items() if len(levels) > 1 or name == sought]

    @cached_property
    def _levels(self) -> dict[str, list[Scalar]]:
        """Of each factor those that occur."""
        found: dict[str, dict[Scalar, None]] = {}
        for cell in self.plan.cells:
            for name, level in cell.levels.items():
                found.setdefault(name, {})[level] = None
        return {name: list(levels) for name, levels in found.items()}

    def _is_everybodys(self, name: str) -> bool:
        has: dict[Scalar | None, set[bool]] = {}
        for cell in self.plan.cells:
            has.setdefault(cell.levels.get("workload"), set()).add(name in cell.levels)
        return all(len(answers) == 1 for answers in has.values())

    @cached_property
    def objective(self) -> Metric:
        try:
            return metric(self.plan.objective, self.plan.rates)
        except UnknownMetric as error:
            what = f"the bundle's plan is judged by what this bakeoff does not know: {error}"
            raise BundleError(what, hint=error.hint) from error

    @cached_property
    def is_sweep(self) -> bool:
        """Whether what is compared is an amount at several levels: then its shape is the answer, and not who is faster
        than the first level."""
        return self.is_swept(self.plan.compare_factor)

    def is_swept(self, name: str) -> bool:
        levels = self._levels.get(name, [])
        return len(levels) >= SWEPT_MIN and self._is_amount(name) and not are_codes(name, levels)

    def _is_amount(self, name: str) -> bool:
        """Of every cell, and no two levels are the same."""
        amounts = {amount(level) for level in self._levels[name]}
        everywhere = all(name in cell.levels for cell in self.plan.cells)
        return everywhere and None not in amounts and len(amounts) == len(self._levels[name])

    @cached_property
    def factor(self) -> str:
        """Whose levels are the contestants. In a sweep: another one that varies, so that each has a line of its own."""
        if not self.is_sweep:
            return self.plan.compare_factor
        taken = (self.plan.compare_factor, "workload")
        return next((name for name in self._varying if name not in taken), "system")

    def contestant(self, cell: CellRecord) -> str:
        """ "mariadb", "sync_binlog=1", or "mariadb, sync_binlog=1" where that factor is not everybody's."""
        named = [n for n in cell.levels if n == self.factor or (n in self._varying and n not in self.shared)]
        if self.factor not in cell.levels:
            named.insert(0, "system")
        levels = {"system": cell.system, **cell.levels}
        return ", ".join(factor_words(n, levels[n]) for n in sorted(named, key=lambda n: n != self.factor))

    def setting(self, cell: CellRecord) -> Setting:
        return tuple((name, cell.levels[name]) for name in self.shared if name in cell.levels)

    @cached_property
    def contestants(self) -> list[str]:
        """In the plan's order; the baseline first."""
        names = list(dict.fromkeys(self.contestant(cell) for cell in self.plan.cells))
        return sorted(names, key=lambda name: name != self.baseline)

    @cached_property
    def baseline(self) -> str:
        """The contestant that the plan names, else the first."""
        cells = self.plan.cells
        if self.plan.baseline is not None and not self.is_sweep:
            wanted = [c for c in cells if c.levels.get(self.factor, c.system) == self.plan.baseline]
            cells = wanted or cells
        return self.contestant(cells[0]) if cells else ""

    @cached_property
    def settings(self) -> list[Setting]:
        return list(dict.fromkeys(self.setting(cell) for cell in self.plan.cells))

    def cell(self, contestant: str, setting: Setting) -> CellRecord | None:
        return self._by_place.get((contestant, setting))

    @cached_property
    def _by_place(self) -> dict[tuple[str, Setting], CellRecord]:
        return {(self.contestant(cell), self.setting(cell)): cell for cell in self.plan.cells}

    @cached_property
    def axis(self) -> str | None:
        """The factor to draw values over: what is sought; the compared one if it is swept, else threads, else the first
        amount."""
        if self.plan.search:
            return self.plan.search.factor
        amounts = [name for name in self.shared if self._is_amount(name)]
        preferred = (self.plan.compare_factor, "threads") if self.is_sweep else ("threads",)
        return next((name for name in (*preferred, *amounts) if name in amounts), None)

    @cached_property
    def axis_levels(self) -> list[Scalar]:
        """From the smallest to the largest."""
        return [] if self.axis is None else sorted(self._levels[self.axis], key=lambda level: amount(level) or 0.0)

    @cached_property
    def panels(self) -> list[Setting]:
        """Settings without the axis: one panel of a chart each."""
        return list(dict.fromkeys(self.without_axis(s) for s in self.settings))

    def without_axis(self, setting: Setting) -> Setting:
        return tuple(pair for pair in setting if pair[0] != self.axis)

    def along(self, panel: Setting) -> list[Setting]:
        """The settings of a panel in the order of the axis."""
        found = [setting for setting in self.settings if self.without_axis(setting) == panel]
        axis = self.axis
        return found if axis is None else sorted(found, key=lambda s: self.axis_levels.index(dict(s)[axis]))

    @cached_property
    def middle(self) -> Setting:
        """A setting to lead with: in the middle of the sweep, never one of its ends where there is a middle."""
        if not self.panels:
            return ()
        along = self.along(self.panels[0])
        return along[len(along) // 2]


def setting_words(setting: Setting) -> str:
    """ "preset a, 16 threads"."""
    return ", ".join(factor_words(name, level) for name, level in setting)
