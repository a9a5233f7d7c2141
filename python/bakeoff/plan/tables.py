"""The tables of a plan on existing systems: which are there, whose they are, and what will happen to them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..errors import BakeoffError
from ..systems import SYSTEMS
from ..systems.base import Found, Ledger
from .check import NOWHERE
from .resolved import Cell, ResolvedPlan


@dataclass(frozen=True)
class TablesLine:
    """Tables of one system with which the same happens."""

    system: str
    tables: list[str]
    there: str  # "not there", "made by bakeoff", ...
    fate: str
    size_bytes: int | None = None  # of all of them, indexes included; None: not known

    @property
    def names(self) -> str:
        return self.tables[0] + (f" and {len(self.tables) - 1} more" if len(self.tables) > 1 else "")


def existing_loads(plan: ResolvedPlan) -> list[Cell]:
    """A cell of each data set on an existing system."""
    found: dict[str, Cell] = {}
    for cell in plan.cells:
        if cell.place is not None:
            found.setdefault(cell.load_key, cell)
    return list(found.values())


@contextmanager
def ledger_of(plan: ResolvedPlan, cell: Cell) -> Iterator[Ledger]:
    """Of an existing system, which is not started. Raises PlanError for sessions that it refuses."""
    kind = SYSTEMS[cell.record.kind]
    system = cell.configure(kind, workdir=NOWHERE, timeout_s=plan.timeout_s, base_dir=plan.base_dir)
    ledger = system.ledger()
    assert ledger is not None, f"{cell.record.system} exists and keeps a ledger"
    try:
        system.refuse_session()
        yield ledger
    finally:
        ledger.release()
        system.stop()


def look(plan: ResolvedPlan) -> tuple[list[TablesLine], list[BakeoffError]]:
    """What a run would find, and why a system cannot be looked at. Changes nothing."""
    lines: list[TablesLine] = []
    errors: list[BakeoffError] = []
    for cell in existing_loads(plan):
        try:
            with ledger_of(plan, cell) as ledger:
                lines += _lines(cell, ledger)
        except BakeoffError as error:
            errors.append(error)
    return lines, errors


def _lines(cell: Cell, ledger: Ledger) -> list[TablesLine]:
    found, absent_place = ledger.there(cell.workload.tables), ledger.absent_place()
    sizes = {} if absent_place else ledger.sizes([table.name for table in found])
    by_name = {table.name: table for table in found}
    groups: dict[tuple[str, str], list[str]] = {}
    for name in cell.workload.tables:
        groups.setdefault(_words(cell, by_name.get(name), absent_place), []).append(name)
    return [
        TablesLine(cell.record.system, names, there, fate, _sum([sizes[name] for name in names if name in sizes]))
        for (there, fate), names in groups.items()
    ]


def _sum(sizes: Sequence[int]) -> int | None:
    return sum(sizes) if sizes else None


def _words(cell: Cell, table: Found | None, absent_place: str) -> tuple[str, str]:
    """(what is there, what a run does with it)"""
    there = "not there" if table is None else "made by bakeoff" if table.ours else "not made by bakeoff"
    if absent_place:
        there += f", nor the {absent_place}"
    cut = table is not None and table.ours and not table.whole
    if cut:
        there += ", its load was cut short"
    if cell.data == "existing":
        if table is None or cut:
            return there, "run will refuse; `bakeoff load` makes it"
        return there, "checked and used" + (", changed by the runs" if cell.reset == "none" else "")
    often = ", again before each run" if cell.reset == "reload" else ""
    if table is None:
        return there, f"made and loaded{often}"
    if table.ours:
        return there, f"dropped, made and loaded{often}"
    return there, 'run will refuse, unless data = "existing" measures it as it is or --allow-drop drops it'
