"""Combinations that cannot be run, and faults that cannot be done, refused before anything starts: each function names
the cell, what it asks for and what to change."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import PlanError
from ..model.boundary import Closed, OperationsLimit, TimeLimit
from ..model.faults import BETWEEN_SERVERS, WATCHED_S_MIN, PlannedFault
from ..model.levels import TABLE_FORMAT
from ..suggestions import meant, one_of
from ..systems.base import Capabilities, System
from ..systems.options import address_of
from ..systems.table_format import read_format
from .document.source import Source
from .document.tables import FaultTable, MeasureTable, PlanDocument
from .resolved import Cell

Kinds = Mapping[str, type[System]]

#: For systems that are only inspected: they create no files, and an attempt would fail.
NOWHERE = Path(os.devnull) / "unused"
WINDOW_MIN_S = 1.0
TIMEOUT_MIN_S = 0.01  # the engine's, too


def check_measure(measure: MeasureTable, source: Source) -> None:
    """What [measure] says by itself."""
    for name, value_s, least_s, why in (
        ("window", measure.window, WINDOW_MIN_S, "which is one value of its throughput"),
        ("timeout", measure.timeout, TIMEOUT_MIN_S, "because overdue operations are detected once a millisecond"),
    ):
        if value_s is not None and value_s < least_s:
            raise source.error(
                f"`{name}` is too short: {value_s:g} s", "measure", name, hint=f"write at least {least_s:g} s, {why}"
            )
    if measure.pacing and measure.pacing.stages and measure.pacing.stages_s < WINDOW_MIN_S:
        what = f"the stages are too short: {measure.pacing.stages_s:g} s"
        hint = f"they are the window: at least {WINDOW_MIN_S:g} s, which is one value of its throughput"
        raise source.error(what, "measure", "pacing", "stages", hint=hint)


def _check_prepared_statements(cell: Cell, source: Source) -> None:
    """A server that the plan bounds over all its sessions would refuse some in the middle of a run. One of ours that it
    does not bound takes them all."""
    options, each = cell.system_options, cell.workload.prepared_statements
    if each is None or "nodes" in options or "replicas" in options:
        return
    settings = {**(options.get("start") or {}), **options}.get("settings") or {}
    most = settings.get("max_prepared_stmt_count")
    sessions = (cell.sessions or cell.threads) * cell.clients
    if isinstance(most, int) and sessions * each > most:
        raise source.error(
            f"{cell.record.label}: {sessions} sessions prepare {each} statements each,"
            f" and the server allows {most} in total",
            "factors",
            "sessions" if cell.sessions else "threads",
            hint=f"write settings = {{ max_prepared_stmt_count = {sessions * each} }} for {cell.record.system},"
            " or use fewer sessions",
        )


def check_cell(cell: Cell, capabilities: Capabilities, source: Source) -> None:
    """What one cell asks of its kind of system."""
    asks = cell.record.label
    name, kind = cell.record.system, cell.record.kind
    if cell.sessions is not None and cell.sessions > cell.threads:
        hint = "sessions beyond the number of threads would be idle; list the useful combinations in [[cells]]"
        raise source.error(
            f"{asks} has {cell.sessions} sessions for {cell.threads} threads", "factors", "sessions", hint=hint
        )
    if cell.sessions is not None and cell.sessions < cell.threads and cell.runner_taken == "thread":
        hint = f"leave out `sessions`, or list [[cells]] in which {name} has as many sessions as threads"
        raise source.error(f"{asks}: {kind} needs a session for each thread", "factors", "sessions", hint=hint)
    if cell.sessions is not None and cell.sessions < cell.threads and cell.workload.keeps_session:
        hint = "leave out `sessions`, or write ops_per_transaction = 1"
        what = f"{asks}: a transaction of several operations keeps its session, so threads cannot share one"
        raise source.error(what, "factors", "sessions", hint=hint)
    if cell.clients > 1 and not capabilities.several_clients:
        hint = f"leave out `clients`, or list [[cells]] in which {name} has one; its threads may be many"
        what = f"{asks} has {cell.clients} clients, and only one process may have a store of {kind} open"
        raise source.error(what, "factors", "clients", hint=hint)
    users, most = cell.threads * cell.clients, cell.workload.users_max
    if most is not None and users > most:
        own, key = ("an order", "orders") if cell.workload.spec["kind"] == "hatshop" else ("a table", "tables")
        what = f"{asks} has {users} threads, each of which needs {own} of its own, and the data has enough for {most}"
        raise source.error(what, "factors", "threads", hint=f"write {key} = {users} in [workload]")
    _check_prepared_statements(cell, source)
    if cell.record.durability is not None and cell.record.durability not in capabilities.durability:
        hint = f"{kind} has the levels {', '.join(capabilities.durability) or 'of its own settings only'}"
        place = source.place_of_option(name, "durability")
        raise source.error(f"{asks}: {kind} has no durability {cell.record.durability}", *place, hint=hint)
    if cell.record.rate_ops_per_s is not None and cell.record.rate_ops_per_s / cell.clients < 1e-3:
        raise source.error(f"{asks} has a rate below one operation in 1000 s", "measure", "pacing")
    if isinstance(cell.limit, TimeLimit) and cell.record.rate_ops_per_s is not None:
        due = cell.record.rate_ops_per_s * cell.limit.window_s
        if due < 1:
            hint = f"raise the rate, or make the window at least {1 / cell.record.rate_ops_per_s:.3g} s"
            what = f"{asks}: at {cell.record.rate_ops_per_s:g}/s no operation is due within {cell.limit.window_s:g} s"
            raise source.error(what, "measure", "window", hint=hint)
    if isinstance(cell.limit, OperationsLimit) and cell.limit.operations < cell.threads:
        hint = "each thread of each client needs at least one operation"
        raise source.error(
            f"{asks} has {cell.limit.operations} operations per client for {cell.threads} threads",
            *("measure", "operations"),
            hint=hint,
        )


def check_io(cell: Cell, source: Source) -> None:
    """How the reactor talks to the kernel."""
    if cell.io is not None and cell.runner_taken != "reactor":
        what = f"{cell.record.label}: `io` has no meaning on the runner {cell.runner_taken}"
        hint = (
            f"{cell.record.kind} runs on {' or '.join(cell.driver.runners)} here, and only the runner reactor asks the"
        )
        hint += ' kernel in two ways; write "NAME.io" for systems that run on it'
        raise source.error(what, *source.place_of_option(cell.record.system, "io"), hint=hint)


def check_format(cell: Cell, source: Source) -> None:
    """Tables that refer to each other can be stored so."""
    name, text = cell.record.system, cell.system_options.get(TABLE_FORMAT)
    if not isinstance(text, str) or not cell.workload.foreign_keys:
        return
    with placed(name, cell.record.kind, source):
        if read_format(text, f"systems.{name}").foreign_keys:
            return
    what = (
        f"{cell.record.label}: tables of the format {text} support no foreign keys, and those of"
        f" {cell.record.workload} need them"
    )
    without = "write foreign_keys = false in its workload" if cell.workload.spec["kind"] == "tpcc" else ""
    hint = " or ".join(filter(None, [without, "leave this combination out with [[cells]]"]))
    raise source.error(what, *source.place_of_option(name, TABLE_FORMAT), hint=hint)


def check_end(cell: Cell, warm_up_s: float, source: Source) -> None:
    """A run stays within what it carries out from a file. The engine refuses the same, but after the load."""
    most = cell.workload.operations_max
    if most is None:
        return
    fits = isinstance(cell.limit, OperationsLimit) and cell.limit.operations * cell.clients <= most
    if fits and warm_up_s == 0 and isinstance(cell.pacing, Closed):
        return
    what = f"{cell.record.label}: the {most} operations of its file have an end, which a run may go beyond"
    hint = f'in [measure] write warm_up = 0, pacing = "closed" and operations = {most} or fewer, instead of `window`'
    raise source.error(what, "measure", hint=hint)


def check_access(system: str, options: dict[str, Any], kind: type[System], source: Source) -> None:
    """Whether this kind can be given an address, where the plan has one."""
    if address_of(options) is not None and not kind.capabilities().existing:
        raise source.error(
            f"{kind.kind} does not support `address`", "systems", system, "address", hint="remove `address`"
        )


def configured(
    cells: Iterable[Cell], kinds: Kinds, measure: MeasureTable, source: Source
) -> tuple[list[Cell], dict[str, bool]]:
    """Lets each kind of system check the options of its cells. Returns the cells with the names of their nodes, where
    there are several, and the way to them, and whether each system is managed."""
    managed: dict[str, bool] = {}
    roles: dict[str, Mapping[str, str]] = {}
    found: list[Cell] = []
    for cell in cells:
        name = cell.record.system
        key = repr((name, cell.system_options, cell.portable))
        if key not in roles:
            with placed(name, kinds[name].kind, source):
                system = cell.configure(
                    kinds[name], workdir=NOWHERE, timeout_s=measure.timeout, base_dir=source.base_dir
                )
            managed[name], roles[key] = system.managed, system.roles()
        _check_route(cell, roles[key], source)
        several = [*roles[key]] if len(roles[key]) > 1 else []
        record = cell.record.model_copy(update={"nodes": several})
        found.append(replace(cell, record=record, routing=cell.routing.decided(roles[key])))
    return found, managed


def _check_route(cell: Cell, roles: Mapping[str, str], source: Source) -> None:
    """Some node is on it, and writes meet none that follows another: a session that is refused there would move to the
    first node and stay, and the run would be one of that node alone."""
    route, name = cell.routing.decided(roles), cell.record.system
    place = source.place_of_option(name, "routing")
    if hint := route.missing(roles):
        what = f"{cell.record.label}: {name} has no node on the route {route}"
        raise source.error(what, *place, hint=hint)
    if cell.workload.writes and (following := route.following(roles)):
        what = f"{cell.record.label}: {cell.record.workload} writes, and {following[0]} of {name} takes no writes"
        hint = f'write routing = "split", which sends reads to replicas and writes to {next(iter(roles))}'
        raise source.error(what, *place, hint=f"{hint}; or leave out `routing`, and all operations go there")


@contextmanager
def placed(name: str, kind: str, source: Source) -> Iterator[None]:
    """A system's complaint about "systems.NAME.key" (or "kind.key") gets the file and line of that key."""
    try:
        yield
    except PlanError as error:
        head, *rest = error.where.removeprefix("systems.").split(".")
        if head in (name, kind):
            error.where = source.where(_place(name, rest, source))
        raise


def _place(system: str, option: Sequence[str], source: Source) -> tuple[str, ...]:
    table = ("systems", system)
    if option[:2] != ["start", "settings"] or len(option) == 2:
        return (*table, *option)
    name = ".".join(option[1:])
    places = (source.place_of_option(system, spelled) for spelled in (name, name.replace("_", "-")))
    return next((place for place in places if place[0] == "factors"), (*table, "start", "settings"))


def with_faults(cells: Sequence[Cell], document: PlanDocument, kinds: Kinds, source: Source) -> list[Cell]:
    """The cells, each with the faults of its system. A fault that names no system is done to every one."""
    for number, table in enumerate(document.faults):
        if table.system is not None and table.system not in document.systems:
            hint = meant(table.system, document.systems)
            what = f"a fault is planned for `{table.system}`, which is not a system of the plan"
            raise source.error(what, "faults", number, "system", hint=hint)
    return [_with_faults(cell, document, kinds, source) for cell in cells] if document.faults else list(cells)


def _with_faults(cell: Cell, document: PlanDocument, kinds: Kinds, source: Source) -> Cell:
    name = cell.record.system
    nodes = _servers(cell, kinds[name], source, document)
    several = len(document.systems) > 1
    faults: list[PlannedFault] = []
    for number, table in enumerate(document.faults):
        if table.system not in (None, name):
            continue
        place = ("faults", number)
        if not nodes:
            hint = "faults are possible only on managed servers, which bakeoff starts itself"
            hint += "; name another system with `system`" if several and table.system is None else ""
            raise source.error(f"no fault is possible on {name}: it is not a managed server", *place, hint=hint)
        faults.append(_fault(table, nodes, cell, number, source))
    faults.sort(key=lambda fault: fault.at_s)
    _refuse_overlaps(faults, source)
    return replace(cell, record=cell.record.model_copy(update={"faults": faults}))


def _servers(cell: Cell, kind: type[System], source: Source, document: PlanDocument) -> tuple[str, ...]:
    """Names of the servers that we start for it."""
    with placed(cell.record.system, kind.kind, source):
        timeout_s = document.measure.timeout
        system = cell.configure(kind, workdir=NOWHERE, timeout_s=timeout_s, base_dir=source.base_dir)
    return tuple(system.roles()) if system.managed else ()


def _fault(table: FaultTable, nodes: Sequence[str], cell: Cell, number: int, source: Source) -> PlannedFault:
    name = cell.record.system
    if table.node is None and len(nodes) > 1:
        what = f"{name} has several servers, and the fault does not name one"
        raise source.error(what, "faults", number, "node", hint=f"`node` is one of: {', '.join(nodes)}")
    node = table.node or nodes[0]
    if node not in nodes:
        raise source.error(f"{name} has no node `{node}`", "faults", number, "node", hint=one_of(node, nodes))
    if table.do in BETWEEN_SERVERS and len(nodes) < 2:
        what = f"a `{table.do}` is between a server and the others, and {name} has only one"
        raise source.error(what, "faults", number, "do", hint="start several nodes, or choose another fault")
    if not isinstance(cell.limit, TimeLimit) and table.for_ is None and table.do != "restart":
        what = f"`{table.do} {node}` has no end, and a run limited by operations may then never end"
        raise source.error(what, "faults", number, hint="set `for`, or limit the run by a `window`")
    if isinstance(cell.limit, TimeLimit):
        window_s = cell.limit.window_s
        if table.at > window_s - WATCHED_S_MIN:
            what = f"a fault is planned at {table.at:g} s, and the window has {window_s:g} s"
            hint = f"`at` counts from the window's start, after the warm-up; {WATCHED_S_MIN:g} s of the window"
            hint += " must follow it, so that its effect can be measured"
            raise source.error(what, "faults", number, "at", hint=hint)
        if table.for_ is not None and table.at + table.for_ >= window_s:
            ends_s = table.at + table.for_
            what = f"`{table.do} {node}` would end at {ends_s:g} s, and the window ends at {window_s:g} s"
            hint = "make `for` shorter, or leave it out: the server then stays away until the load has ended"
            raise source.error(what, "faults", number, "for", hint=hint)
    return PlannedFault(at_s=table.at, node=node, do=table.do, for_s=table.for_, by_s=table.by)


def _refuse_overlaps(faults: Sequence[PlannedFault], source: Source) -> None:
    """Nothing can be done to a server that is away, or stays as it was left."""
    for number, fault in enumerate(faults):
        until_s = fault.at_s if fault.do == "restart" else None if fault.for_s is None else fault.at_s + fault.for_s
        for later in faults[number + 1 :]:
            if later.node == fault.node and (until_s is None or later.at_s <= until_s):
                what = f"`{later.words}` is planned while its server is still away ({fault.words})"
                raise source.error(what, "faults", hint="a server comes back after `for`; without it, it stays away")
            between = fault.do == later.do and fault.do in BETWEEN_SERVERS
            if between and (until_s is None or later.at_s <= until_s):
                what = f"`{later.words}` is planned before another one has ended ({fault.words})"
                raise source.error(what, "faults", hint=f"one {fault.do} at a time")
