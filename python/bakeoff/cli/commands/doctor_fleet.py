"""`bakeoff doctor --fleet`: whether load machines are fit to run clients."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...analysis.wording import bytes_words
from ...errors import ExitCode, PlanError
from ..output import print_json, say, show, table

if TYPE_CHECKING:
    from ...fleet.spec import FleetSpec
    from ...fleet.visit import Servers, Visited

_HEADS = (
    *("", "machine", "cores", "kernel", "clock", "ahead by", "io_uring", "engine"),
    *("Python", "Dask", "to here", "takes"),
)
#: A wider bound is a finding of every run.
CLOCK_BOUND_MAX_NS = 10_000_000


def look(options: argparse.Namespace) -> int:
    from ...fleet.hosted import fleet_host
    from ...fleet.visit import visit

    fleet, servers, unstarted = _asked(options)
    with fleet_host(fleet, say) as host:
        found = visit(host, servers)
    if options.json:
        print_json({"fleet": [asdict(machine) for machine in found]})
    else:
        _show(found, list(servers), unstarted)
    return ExitCode.ENVIRONMENT if any(machine.unfit for machine in found) else ExitCode.DONE


def _asked(options: argparse.Namespace) -> tuple[FleetSpec, Servers, list[str]]:
    """The machines, the servers that they are to reach, and the systems whose servers are not there yet: those of the
    plan, if one is named."""
    from ...plan.fleet import missing_here, read_said

    if options.plan is None:
        fleet = read_said(options.said, Path.cwd())
        if missing := missing_here(fleet):
            raise missing
        return fleet, {}, []
    from ...plan.reach import servers, unstarted
    from ...plan.read import read_plan
    from ...systems import SYSTEMS

    plan = read_plan(options.plan, said=options.said)
    if plan.fleet is None:
        hint = "name them: --fleet ssh=load1,load2"
        raise PlanError("the plan names no load machines", where=str(options.plan), hint=hint)
    return plan.fleet, servers(plan, SYSTEMS), unstarted(plan, SYSTEMS)


def _show(found: Sequence[Visited], servers: Sequence[str], unstarted: Sequence[str] = ()) -> None:
    rows = [[*_row(one), *(_trip(one.server_round_trip_ns.get(name)) for name in servers)] for one in found]
    show(table(rows, [*_HEADS, *(f"to {name}" for name in servers)]))
    for machine in found:
        if machine.unfit:
            show(f"unfit: {machine.unfit}")
            if machine.hint:
                show(f"  {machine.hint}")
        for words in _doubts(machine):
            show(f"{machine.name}: {words}")
    for words in _shared(found):
        show(words)
    for name in unstarted:
        show(f"{name}: bakeoff starts it for the run, so it has no address yet, and the way to it was not looked at")


def _row(machine: Visited) -> list[object]:
    offset = machine.clock_offset_ns
    bound = f"{offset / 1e6:,.3f} ms ± {(machine.clock_bound_ns or 0) / 1e6:.3f}" if offset is not None else "-"
    bandwidth = machine.bandwidth_bytes_per_s
    return [
        "unfit" if machine.unfit else "warning" if _doubts(machine) else "fit",
        machine.name,
        machine.cores or "-",
        machine.kernel or "-",
        machine.clock_source or "-",
        bound,
        "-" if not machine.engine else "no" if machine.io_uring_refusal else "yes",
        machine.engine or "-",
        machine.python or "-",
        machine.distributed or "-",
        _trip(machine.round_trip_ns),
        f"{bytes_words(round(bandwidth))}/s" if bandwidth else "-",
    ]


def _trip(nanoseconds: int | None) -> str:
    return "-" if nanoseconds is None else f"{nanoseconds / 1e6:.3f} ms"


def _doubts(machine: Visited) -> list[str]:
    """What a run is possible with, and is less by."""
    from importlib.metadata import version

    from ...machine import busy_words

    ours, bound_ns, words = version("distributed"), machine.clock_bound_ns or 0, []
    if machine.load_average is not None and (busy := busy_words(machine.load_average, machine.cores or 1)):
        words.append(busy)
    if machine.io_uring_refusal:
        words.append(f"the engine takes epoll, which costs more CPU, for lack of io_uring: {machine.io_uring_refusal}")
    if bound_ns > CLOCK_BOUND_MAX_NS:
        words.append(f"its clock is known to {bound_ns / 1e6:.0f} ms only: its seconds mix with others'")
    if machine.distributed not in ("", ours):
        words.append(f"its Dask is {machine.distributed}, and here is {ours}: of such a pair Dask promises nothing")
    return words


def _shared(found: Sequence[Visited]) -> list[str]:
    """Of workers that are on one machine, or on this one."""
    from ...fleet.keeper import here
    from ...report.client_places import named_words

    ours = here().partition(" ")[0]
    by_machine: dict[str, list[Visited]] = {}
    for machine in found:
        if machine.boot_id:
            by_machine.setdefault(machine.boot_id, []).append(machine)
    words = []
    for boot_id, there in by_machine.items():
        names = named_words([machine.name for machine in there])
        if boot_id == ours:
            words.append(f"{names} {'is' if len(there) == 1 else 'are'} this machine: clients there share its cores")
        elif len(there) > 1:
            words.append(f"{names} are one machine: their clients share its {there[0].cores} cores")
    return words
