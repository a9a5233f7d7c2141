"""Whether load machines can reach what a plan measures, and may be told its secrets. What cannot be is refused before
anything starts."""

from __future__ import annotations

from collections.abc import Iterable

from ..fleet.spec import FleetSpec, is_loopback
from ..systems.base import System
from .check import NOWHERE, Kinds, placed
from .document import MeasureTable
from .fleet import missing_here
from .resolved import Cell, ResolvedPlan
from .source import Source


def check_fleet(
    fleet: FleetSpec, cells: Iterable[Cell], kinds: Kinds, measure: MeasureTable, source: Source, *, must_run: bool
) -> list[str]:
    """PlanError for cells that its machines cannot run. Returns what is missing here, which a run is refused for."""
    seen: set[str] = set()
    for cell in cells:
        name = cell.record.system
        key = repr((name, cell.system_options))
        if key not in seen:
            seen.add(key)
            with placed(name, kinds[name].kind, source):
                system = cell.configure(
                    kinds[name], workdir=NOWHERE, timeout_s=measure.timeout, base_dir=source.base_dir
                )
            _refuse_unreachable(system, fleet, source)
            _refuse_told(cell, fleet, source)
    missing = missing_here(fleet)
    if missing is not None and must_run:
        raise source.error(missing.what, "fleet", hint=missing.hint)
    return [f"{missing.what}: run will refuse ({missing.hint})"] if missing is not None else []


def servers(plan: ResolvedPlan, kinds: Kinds) -> dict[str, tuple[str, int]]:
    """Host and port of every server of the plan that was there before it: by its system's name, and of several its own,
    "galera.n1"."""
    found: dict[str, tuple[str, int]] = {}
    for cell in plan.cells:
        if cell.place is None:
            continue
        name = cell.record.system
        kind = kinds[cell.record.kind]
        system = cell.configure(kind, workdir=NOWHERE, timeout_s=plan.timeout_s, base_dir=plan.base_dir)
        for node in system.nodes():
            host, _, port = node.address.rpartition(":")
            if port.isdigit():
                found[f"{name}.{node.name}" if cell.record.nodes else name] = (host.strip("[]"), int(port))
    return found


def unstarted(plan: ResolvedPlan, kinds: Kinds) -> list[str]:
    """Systems whose servers are started for the run, and so have no address before it."""
    names: dict[str, None] = {}
    for cell in plan.cells:
        system = cell.configure(
            kinds[cell.record.kind], workdir=NOWHERE, timeout_s=plan.timeout_s, base_dir=plan.base_dir
        )
        if system.private and not system.capabilities().embedded:
            names[cell.record.system] = None
    return list(names)


def _refuse_unreachable(system: System, fleet: FleetSpec, source: Source) -> None:
    if fleet.here or (system.capabilities().embedded and not system.keeps_data):
        return
    where = f"the clients run on {fleet.words}"
    if system.capabilities().embedded:
        what = f"{system.name} lives inside the client, in a file of this machine, and {where}"
        raise source.error(what, "fleet", hint="leave [fleet] out, or write local = 2 in it: workers on this machine")
    if system.private:
        hint = 'give the address of one that they reach, address = "db1:3306"; or write local = 2 in [fleet]'
        raise source.error(f"{system.name} is started on this machine, for it alone, and {where}", "fleet", hint=hint)
    for node in system.nodes():
        if node.address.startswith("/") or is_loopback(node.address):
            what = f"only this machine reaches {system.name} at {node.address}, and {where}"
            hint = 'write an address that load machines know it by, address = "db1:3306"'
            raise source.error(what, "systems", system.name, "address", hint=hint)


def _refuse_told(cell: Cell, fleet: FleetSpec, source: Source) -> None:
    if fleet.plain and "password" in cell.system_options:
        what = f"the password of {cell.record.system} would go to {fleet.words} unencrypted"
        hint = 'start the cluster with certificates and write address = "tls://..." (docs/howto/fleet.md)'
        raise source.error(what, "fleet", hint=hint)
