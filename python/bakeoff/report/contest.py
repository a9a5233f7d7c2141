"""Who is compared with whom, and under which conditions.

A plan compares the levels of one factor (usually the systems). A *contestant* is one of these levels, with the levels
of any factor that belongs to some systems only. A *setting* is a combination of all the other factors. So each cell is
one contestant in one setting, and contestants meet in the settings they share.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..analysis.metric import Metric
from ..analysis.registry import UnknownMetric, metric
from ..errors import BundleError
from ..model.records import CellRecord, PlanRecord, Scalar

Setting = tuple[tuple[str, Scalar], ...]
#: Factors whose levels are names that speak for themselves.
_NAMES = ("system", "plan", "side")


@dataclass(frozen=True)
class Contest:
    plan: PlanRecord

    @cached_property
    def shared(self) -> list[str]:
        """Factors that every cell of a workload has a level of, the compared one apart; in the plan's order."""
        names = dict.fromkeys(name for cell in self.plan.cells for name in cell.levels)
        return [name for name in names if name != self.factor and self._is_everybodys(name)]

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

    @property
    def factor(self) -> str:
        return self.plan.compare_factor

    def contestant(self, cell: CellRecord) -> str:
        """ "mariadb", "sync_binlog=1", or "mariadb, sync_binlog=1" where that factor is not everybody's."""
        named = [n for n in cell.levels if n == self.factor or n not in self.shared]
        if self.factor not in cell.levels:
            named.insert(0, "system")
        return ", ".join(self._level_words(name, cell) for name in sorted(named, key=lambda n: n != self.factor))

    def _level_words(self, name: str, cell: CellRecord) -> str:
        return (
            str({"system": cell.system, **cell.levels}[name])
            if name in _NAMES
            else f"{self._short(name)}={level_words(cell.levels[name])}"
        )

    def _short(self, name: str) -> str:
        """ "sync_binlog" of "mariadb.settings.sync_binlog"."""
        tables = {"settings", "session", "start", *(cell.system for cell in self.plan.cells)}
        while name.partition(".")[0] in tables:
            name = name.partition(".")[2]
        return name

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
        if self.plan.baseline is not None:
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
        """The factor to draw values over: threads, else the first whose levels are all numbers."""
        numeric = [name for name in self.shared if all(_is_number(c.levels.get(name)) for c in self.plan.cells)]
        return "threads" if "threads" in numeric else next(iter(numeric), None)

    @cached_property
    def axis_levels(self) -> list[Scalar]:
        if self.axis is None:
            return []
        return sorted({dict(s)[self.axis] for s in self.settings}, key=float)

    @cached_property
    def panels(self) -> list[Setting]:
        """Settings without the axis: one panel of a chart each."""
        return list(dict.fromkeys(self.without_axis(s) for s in self.settings))

    def without_axis(self, setting: Setting) -> Setting:
        return tuple(pair for pair in setting if pair[0] != self.axis)

    @cached_property
    def middle(self) -> Setting:
        """A setting to lead with: in the middle of the sweep, never one of its ends where there is a middle."""
        if not self.settings:
            return ()
        first = self.without_axis(self.settings[0])
        along = [s for s in self.settings if self.without_axis(s) == first]
        if self.axis is not None:
            along.sort(key=lambda s: self.axis_levels.index(dict(s)[self.axis or ""]))
        return along[len(along) // 2]


def setting_words(setting: Setting) -> str:
    """ "preset a, 16 threads"."""
    return ", ".join(factor_words(name, level) for name, level in setting)


def factor_words(name: str, level: Scalar) -> str:
    if name in ("threads", "clients", "sessions", "workers", "users"):
        return f"{level_words(level)} {name if level != 1 else name.removesuffix('s')}"
    if name == "rate":
        return f"{level_words(level)}/s offered"
    return level_words(level) if name in _NAMES else f"{name} {level_words(level)}"


def level_words(level: Scalar) -> str:
    if isinstance(level, bool):
        return "on" if level else "off"
    return f"{level:,g}" if isinstance(level, float) else str(level)


def _is_number(level: Scalar | None) -> bool:
    return isinstance(level, int | float) and not isinstance(level, bool)
