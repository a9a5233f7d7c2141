"""The tables of a plan on existing systems: which exist, whose they are, and what will happen to them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ..errors import BakeoffError, PlanError
from ..systems import SYSTEMS
from ..systems.ledger import Found, Ledger
from .check import NOWHERE
from .resolved import Cell, ResolvedPlan

#: Tables that a sentence names.
_NAMED_MAX = 3


@dataclass(frozen=True)
class TablesLine:
    """Tables of one system with which the same happens."""

    system: str
    tables: list[str]
    there: str  # "not there", "created by bakeoff", ...
    fate: str
    size_bytes: int | None = None  # of all of them, indexes included; None: not known
    changes_rows_of_others: bool = False  # the runs write to them, and bakeoff did not make them

    @property
    def names(self) -> str:
        return self.tables[0] + (f" and {len(self.tables) - 1} more" if len(self.tables) > 1 else "")


@dataclass(frozen=True)
class _Use:
    """What a plan does with tables on an existing system, and what becomes of rows there."""

    there: str
    fate: str
    changes_rows_of_others: bool = False


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
                lines += _lines(plan, cell, ledger)
        except BakeoffError as error:
            errors.append(error)
    return lines, errors


def changes_words(lines: Iterable[TablesLine]) -> str:
    """How a plan changes rows that bakeoff did not load: "this plan writes to tables that bakeoff did not create:
    orders on ours"; "" if it does not."""
    changed = (f"{name} on {line.system}" for line in lines if line.changes_rows_of_others for name in line.tables)
    names = list(dict.fromkeys(changed))
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"this plan writes to tables that bakeoff did not create: {', '.join(names[:_NAMED_MAX])}{more}" * bool(
        names
    )


def refuse_changes(plan: ResolvedPlan, *, allowed: bool) -> str:
    """What the runs will do to rows that bakeoff did not load, in words, where the user allows it. Else PlanError:
    nothing puts the rows back."""
    lines: list[TablesLine] = []
    for cell in existing_loads(plan):
        if _changed_by_runs(plan, cell):
            with ledger_of(plan, cell) as ledger:
                lines += _lines(plan, cell, ledger)
    words = changes_words(lines)
    if words and not allowed:
        system = next(line.system for line in lines if line.changes_rows_of_others)
        hint = "--allow-changes lets the runs change their rows, which is not undone; or measure a copy of them"
        raise PlanError(words, where=f"systems.{system}", hint=hint)
    return words


def tables_of(plan: ResolvedPlan, cell: Cell) -> list[str]:
    """Of all cells with these data: those of one's own SQL may each use some of the tables."""
    return list(dict.fromkeys(name for other in _with_data_of(plan, cell) for name in other.workload.tables))


def _with_data_of(plan: ResolvedPlan, cell: Cell) -> list[Cell]:
    return [other for other in plan.cells if other.load_key == cell.load_key]


def _changed_by_runs(plan: ResolvedPlan, cell: Cell) -> set[str]:
    """The existing tables that cells with these data write to."""
    writing = [other for other in _with_data_of(plan, cell) if other.data == "existing" and other.workload.writes]
    return {name for other in writing for name in other.workload.tables}


def _lines(plan: ResolvedPlan, cell: Cell, ledger: Ledger) -> list[TablesLine]:
    tables, changed = tables_of(plan, cell), _changed_by_runs(plan, cell)
    found, absent_place = ledger.there(tables), ledger.absent_place()
    sizes = {} if absent_place else ledger.sizes([table.name for table in found])
    by_name = {table.name: table for table in found}
    groups: dict[_Use, list[str]] = {}
    for name in tables:
        groups.setdefault(_use(cell, by_name.get(name), absent_place, name in changed), []).append(name)
    return [
        TablesLine(
            cell.record.system,
            names,
            use.there,
            use.fate,
            _sum([sizes[name] for name in names if name in sizes]),
            use.changes_rows_of_others,
        )
        for use, names in groups.items()
    ]


def _sum(sizes: Sequence[int]) -> int | None:
    return sum(sizes) if sizes else None


def _use(cell: Cell, table: Found | None, absent_place: str, changed: bool) -> _Use:
    there = "not there" if table is None else "created by bakeoff" if table.ours else "not created by bakeoff"
    if absent_place:
        there += f", nor the {absent_place}"
    cut = table is not None and table.ours and not table.whole
    if cut:
        there += ", its load was interrupted"
    if cell.data == "existing":
        if table is None or cut:
            return _Use(there, "run will refuse; `bakeoff load` creates it")
        if not changed:
            return _Use(there, "checked and used")
        if table.ours:
            return _Use(there, "checked and used, changed by the runs")
        return _Use(there, "checked and used, changed by the runs: needs --allow-changes", True)
    often = ", again before each run" if cell.reset == "reload" else ""
    if table is None:
        return _Use(there, f"created and loaded{often}")
    if table.ours:
        return _Use(there, f"dropped, created and loaded{often}")
    return _Use(there, 'run will refuse, unless data = "existing" measures it unchanged or --allow-drop drops it')
