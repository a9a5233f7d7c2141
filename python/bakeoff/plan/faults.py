"""Planned faults: which servers of a plan they are done to. Those that could not be are refused before all starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..model.boundary import TimeLimit
from ..model.faults import WATCHED_S_MIN, PlannedFault
from ..suggestions import meant, one_of
from ..systems.base import System
from .check import NOWHERE, placed
from .document import FaultTable, PlanDocument
from .resolved import Cell
from .source import Source

Kinds = Mapping[str, type[System]]


def with_faults(cells: Sequence[Cell], document: PlanDocument, kinds: Kinds, source: Source) -> list[Cell]:
    """The cells, each with the faults of its system. A fault that names no system is done to every one."""
    for number, table in enumerate(document.faults):
        if table.system is not None and table.system not in document.systems:
            hint = meant(table.system, document.systems)
            what = f"a fault is planned for `{table.system}`, and there is no such system"
            raise source.error(what, "faults", number, "system", hint=hint)
    return [_with_faults(cell, document, kinds, source) for cell in cells] if document.faults else list(cells)


def _with_faults(cell: Cell, document: PlanDocument, kinds: Kinds, source: Source) -> Cell:
    name = cell.record.system
    nodes = _nodes(cell, kinds[name], source, document)
    several = len(document.systems) > 1
    faults: list[PlannedFault] = []
    for number, table in enumerate(document.faults):
        if table.system not in (None, name):
            continue
        place = ("faults", number)
        if not nodes:
            hint = "bakeoff hurts only servers that it has started itself"
            hint += "; name the system that is meant: `system`" if several and table.system is None else ""
            raise source.error(f"nothing can be done to {name}: it is no server of ours", *place, hint=hint)
        faults.append(_fault(table, nodes, cell, number, source))
    faults.sort(key=lambda fault: fault.at_s)
    _refuse_overlaps(faults, source)
    return replace(cell, record=cell.record.model_copy(update={"faults": faults}))


def _nodes(cell: Cell, kind: type[System], source: Source, document: PlanDocument) -> tuple[str, ...]:
    """Names of the servers that we start for it."""
    with placed(cell.record.system, kind.kind, source):
        timeout_s = document.measure.timeout
        system = cell.configure(kind, workdir=NOWHERE, timeout_s=timeout_s, base_dir=source.base_dir)
    return tuple(system.roles()) if system.private else ()


def _fault(table: FaultTable, nodes: Sequence[str], cell: Cell, number: int, source: Source) -> PlannedFault:
    name = cell.record.system
    if table.node is None and len(nodes) > 1:
        what = f"{name} has several servers, and the fault does not say which is meant"
        raise source.error(what, "faults", number, "node", hint=f"`node` is one of: {', '.join(nodes)}")
    node = table.node or nodes[0]
    if node not in nodes:
        raise source.error(f"{name} has no node `{node}`", "faults", number, "node", hint=one_of(node, nodes))
    if not isinstance(cell.limit, TimeLimit) and table.for_ is None and table.do != "restart":
        what = f"`{table.do} {node}` has no end, and a run of so many operations may then have none"
        raise source.error(what, "faults", number, hint="say `for`, or limit the run by a `window`")
    if isinstance(cell.limit, TimeLimit):
        window_s = cell.limit.window_s
        if table.at > window_s - WATCHED_S_MIN:
            what = f"a fault is planned at {table.at:g} s of a window of {window_s:g} s"
            hint = f"`at` counts from the window's start, after the warm-up; {WATCHED_S_MIN:g} s of the window"
            hint += " must follow it, or nothing can be told of what it did"
            raise source.error(what, "faults", number, "at", hint=hint)
        if table.for_ is not None and table.at + table.for_ >= window_s:
            ends_s = table.at + table.for_
            what = f"`{table.do} {node}` would end at {ends_s:g} s, and the window ends at {window_s:g} s"
            hint = "make `for` shorter, or leave it out: the server then stays as it is until the load has ended"
            raise source.error(what, "faults", number, "for", hint=hint)
    return PlannedFault(at_s=table.at, node=node, do=table.do, for_s=table.for_)


def _refuse_overlaps(faults: Sequence[PlannedFault], source: Source) -> None:
    """Nothing can be done to a server that is away, or stays as it was left."""
    for number, fault in enumerate(faults):
        until_s = fault.at_s if fault.do == "restart" else None if fault.for_s is None else fault.at_s + fault.for_s
        for later in faults[number + 1 :]:
            if later.node == fault.node and (until_s is None or later.at_s <= until_s):
                what = f"`{later.words}` is planned for a server that is still away ({fault.words})"
                raise source.error(what, "faults", hint="a server comes back after `for`; without it, it stays away")
