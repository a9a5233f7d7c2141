"""Who is compared with whom, and under which conditions.

A plan compares the levels of one factor (usually the systems). A *contestant* is one of these levels, with the levels
of any factor that belongs to some systems only. A *setting* is a combination of all the other factors. So each cell is
one contestant in one setting, and contestants meet in the settings they share.

Where the compared factor is an amount (threads, a rate, a size), the question is where the highest is: it becomes the
axis, one of the settings' factors, and the contestants are what else varies, each a line over that axis.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from ..analysis.metric import Metric
from ..analysis.registry import UnknownMetric, metric
from ..analysis.wording import grouped
from ..errors import BundleError
from ..model.levels import TABLE_FORMAT
from ..model.peers import marked, shown_level
from ..model.records.plan import CellRecord, PlanRecord, Scalar

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
        words = (
            factor_words(n, shown_level(n, levels[n], cell.peer_of))
            for n in sorted(named, key=lambda n: n != self.factor)
        )
        is_marked = "system" in named or "system" in self.shared
        return marked(", ".join(words), "" if is_marked else cell.peer_of)

    def setting(self, cell: CellRecord) -> Setting:
        return tuple(
            (name, shown_level(name, cell.levels[name], cell.peer_of)) for name in self.shared if name in cell.levels
        )

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
    def pairs(self) -> list[tuple[Setting, CellRecord, CellRecord]]:
        """Setting, baseline and other of all that is compared. None in a sweep, whose answer is its shape."""
        found = []
        for setting in [] if self.is_sweep else self.settings:
            base = self.cell(self.baseline, setting)
            others = (self.cell(name, setting) for name in self.contestants)
            found += [(setting, base, one) for one in others if base and one and one is not base]
        return found

    @cached_property
    def cells(self) -> list[CellRecord]:
        """Setting by setting, so that what is compared stands together."""
        places = [(name, setting) for setting in self.settings for name in self.contestants]
        return [cell for place in places if (cell := self.cell(*place)) is not None]

    def cells_at(self, setting: Setting) -> dict[str, CellRecord]:
        """By contestant."""
        found = {name: self.cell(name, setting) for name in self.contestants}
        return {name: cell for name, cell in found.items() if cell is not None}

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


class Placed(Protocol):
    @property
    def contestant(self) -> str: ...

    @property
    def setting_words(self) -> str: ...


def who_words(found: Placed) -> str:
    """ "mariadb, preset a, 16 threads"; what is empty is left out."""
    return ", ".join(filter(None, (found.contestant, found.setting_words)))


def at_words(where: str) -> str:
    """ " at 16 threads"; "" where there is one setting only."""
    return f" at {where}" if where else ""


def setting_words(setting: Setting) -> str:
    """ "preset a, 16 threads"."""
    return ", ".join(factor_words(name, level) for name, level in setting)


#: Levels that a sweep has at least; of two the question is which is more.
SWEPT_MIN = 3
#: What is asked of a system at once. More of it is more load, which has a knee.
LOAD = ("threads", "clients", "users", "rate")
#: Factors that ask for other work, whose figures are not of one size.
OTHER_WORK = ("workload", "preset", "script", "ycsb_file")
#: Factors whose levels are names that speak for themselves.
_NAMES = ("system", "plan", "side", TABLE_FORMAT)
_COUNTED = ("threads", "clients", "sessions", "workers", "users", "records", "warehouses", "nodes", "replicas")
#: Factors whose levels say of what kind it is: "relaxed durability".
_KINDS = ("durability", "isolation", "consistency")
#: These tables of a system hold the server's own names.
_OWN_NAME = re.compile(r"(?:^|\.)(?:settings|session|start)\.(?P<name>.+)")
_AMOUNT = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[a-zA-Zµ]+)")
_UNITS = {
    **{f"{prefix}{unit}": 1024.0**n for n, prefix in enumerate("KMGT", 1) for unit in ("", "B", "iB")},
    **{"kB": 1024.0, "k": 1024.0, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0},
}


def amount(level: Scalar | None) -> float | None:
    """Of a number, or of a size or duration as people write it ("64M", "10ms"); None: it is a name."""
    if isinstance(level, bool) or level is None:
        return None
    if isinstance(level, int | float):
        return float(level)
    found = _AMOUNT.fullmatch(level.strip())
    return float(found["number"]) * _UNITS[found["unit"]] if found and found["unit"] in _UNITS else None


def are_codes(name: str, levels: Sequence[Scalar]) -> bool:
    """Whether a server's setting has numbers for names: 0, 1, 2 are three ways, not three amounts."""
    return own_name(name) is not None and sorted(levels, key=str) == list(range(len(levels)))


def own_name(name: str) -> str | None:
    """ "sync_binlog" of "mariadb.settings.sync_binlog"; None of what is no server's setting."""
    found = _OWN_NAME.search(name)
    return found["name"] if found else None


def level_words(level: Scalar) -> str:
    """As the plan has it, numbers readable; without what it is a level of."""
    if isinstance(level, bool):
        return "on" if level else "off"
    if isinstance(level, float):
        return f"{level:,g}" if abs(level) < 1e6 else grouped(level)
    return f"{level:,}" if isinstance(level, int) else level


def factor_words(name: str, *levels: Scalar, between: str = " to ") -> str:
    """One level, or several as a span: "16 threads", "16 to 64 threads", "sync_binlog=0 to 100", "preset a",
    "relaxed durability"."""
    if own := own_name(name):
        return f"{own}={between.join(_as_set(level) for level in levels)}"
    words = [level_words(level) for level in levels]
    last = name.rpartition(".")[2]
    if last in _COUNTED:
        return f"{between.join(words)} {last.removesuffix('s') if levels == (1,) else last}".strip()
    if name == "rate":
        return f"{between.join(f'{each}/s' for each in words)} offered"
    if last in _NAMES:
        return between.join(words)
    if last in _KINDS:
        return f"{between.join('no' if word == 'none' else word for word in words)} {last}".strip()
    return f"{last} {between.join(words)}"


def short_words(name: str, *levels: Scalar, between: str = " to ") -> str:
    """In a sentence that has named the factor: a size or time with its unit speaks for itself ("16M to 64M")."""
    return (
        between.join(map(str, levels)) if all(map(_has_unit, levels)) else factor_words(name, *levels, between=between)
    )


def _has_unit(level: Scalar) -> bool:
    return isinstance(level, str) and amount(level) is not None


def axis_words(name: str) -> str:
    return "offered rate, operations per second" if name == "rate" else own_name(name) or name.rpartition(".")[2]


def _as_set(level: Scalar) -> str:
    """A server's number is written as its own files have it."""
    return str(level) if isinstance(level, int) and not isinstance(level, bool) else level_words(level)
