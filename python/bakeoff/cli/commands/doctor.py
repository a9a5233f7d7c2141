"""`bakeoff doctor`: what this machine can run, what is missing, and whether the machine is fit to measure."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...analysis.wording import bytes_words
from ...errors import EngineError, ExitCode, PlanError
from ..arguments import Commands, add_command, add_fleet, add_json
from ..output import print_json, say, show, table

if TYPE_CHECKING:
    from ...fleet.machine_check import CheckedMachine, Servers
    from ...fleet.spec import FleetSpec
    from ...machine import Finding


def add(commands: Commands) -> None:
    p = add_command(
        commands,
        "doctor",
        run,
        help="check what this machine can run, and whether it or load machines are fit to measure",
        description="Shows what this machine can run, what is missing and how to install it, and what would disturb"
        " measurements; or, for load machines, which are fit to run clients and why others are not.",
        epilog="example:\n  bakeoff doctor\n  bakeoff doctor --fleet ssh=load1,load2\n"
        "  bakeoff doctor --plan my.toml      the machines of its [fleet], and whether they reach its servers",
    )
    add_fleet(p)
    p.add_argument("--plan", type=Path, help="check this plan's load machines, and whether they reach its servers")
    add_json(p)


def run(options: argparse.Namespace) -> int:
    if options.said or options.plan:
        return look(options)
    from ...machine import fitness, machine_facts
    from ...provision.instance import default_parent

    work = default_parent()
    engine = _engine()
    findings = [engine, *_io_uring(), *_systems(), *fitness(work), *_left_alone(work)]
    facts = machine_facts(work)
    if options.json:
        print_json({"machine": facts.model_dump(), "findings": [asdict(f) for f in findings]})
    else:
        show(f"{facts.cpu_model}, {facts.cores} cores, {bytes_words(facts.memory_bytes)}, {facts.os}, {facts.kernel}")
        show(table([[f.state, f.name, f.words] for f in findings], ["", "what", "finding"]))
        for finding in findings:
            if finding.hint:
                show(f"  {finding.name}: {finding.hint}")
    return ExitCode.DONE if engine.state == "good" else ExitCode.ENVIRONMENT


def _engine() -> Finding:
    from ...fleet.engine_program import engine_list, engine_path
    from ...machine import Finding
    from ...workloads import workloads

    try:
        workloads()  # a build of another version describes them differently
        return Finding("engine", "good", f"{engine_path()}, version {engine_list().get('engine_version', '?')}")
    except EngineError as error:
        return Finding("engine", "missing", str(error), error.hint)


def _io_uring() -> list[Finding]:
    from ...fleet.engine_program import engine_list
    from ...machine import Finding

    try:
        refusal = engine_list()["io_uring_refusal"]
    except (EngineError, KeyError):
        return []  # reported with the engine itself
    if refusal is None:
        return [Finding("io_uring", "good", "available to the engine")]
    return [
        Finding(
            "io_uring",
            "warning",
            f"not available, so the engine uses epoll, which costs the client more CPU: {refusal}",
            "allow it (sysctl kernel.io_uring_disabled, the container's seccomp profile); until then compare"
            " results of many"
            " sessions only with machines that use epoll, too",
        )
    ]


def _systems() -> list[Finding]:
    from ...machine import Finding
    from ...systems import SYSTEMS
    from ...systems.server.started import StartedServer

    findings = []
    for kind, system in SYSTEMS.items():
        if not system.capabilities().managed:
            findings.append(Finding(kind, "good", "bakeoff measures an existing server, given by `address`"))
            continue
        missing, sources = system.available({}), system.sources()
        if missing is not None:
            findings.append(
                Finding(kind, "missing", missing, f"run `bakeoff systems install {kind}`, or give an `address`")
            )
        else:
            versions = dict.fromkeys(one.version for one in sources.here()) if sources else ()
            here = f": {', '.join(versions)}" if versions else ""
            how = (
                "bakeoff can start a managed server" if issubclass(system, StartedServer) else "it runs inside bakeoff"
            )
            findings.append(Finding(kind, "good", f"{how}{here}"))
    return findings


def _left_alone(work: Path) -> list[Finding]:
    from ...machine import Finding
    from ...provision.instance import of_other_hosts

    folders = of_other_hosts(work)
    if not folders:
        return []
    names = ", ".join(folder.name for folder in folders[:3]) + (", ..." if len(folders) > 3 else "")
    return [
        Finding(
            "instances",
            "warning",
            f"{len(folders)} in {work} belong, or may belong, to bakeoff on other machines, and are kept: {names}",
            "remove them by hand if no machine uses them",
        )
    ]


_HEADS = (
    *("", "machine", "cores", "kernel", "clock", "ahead by", "io_uring", "engine"),
    *("Python", "Dask", "to here", "takes"),
)
#: Every run reports a wider bound.
CLOCK_BOUND_MAX_NS = 10_000_000


def look(options: argparse.Namespace) -> int:
    from ...fleet.hosts import fleet_host
    from ...fleet.machine_check import check_machines

    fleet, servers, unstarted = _asked(options)
    with fleet_host(fleet, say) as host:
        found = check_machines(host, servers)
    if options.json:
        print_json({"fleet": [asdict(machine) for machine in found]})
    else:
        _show(found, list(servers), unstarted)
    return ExitCode.ENVIRONMENT if any(machine.unfit for machine in found) else ExitCode.DONE


def _asked(options: argparse.Namespace) -> tuple[FleetSpec, Servers, list[str]]:
    """The machines, the servers that they must reach, and the systems whose servers do not exist yet: those of the
    plan, if one is named."""
    from ...plan.document.fleet import read_said
    from ...plan.machines import missing_here

    if options.plan is None:
        fleet = read_said(options.said, Path.cwd())
        if missing := missing_here(fleet):
            raise missing
        return fleet, {}, []
    from ...plan.machines import servers, unstarted
    from ...plan.read import read_plan
    from ...systems import SYSTEMS

    plan = read_plan(options.plan, said=options.said)
    if plan.fleet is None:
        hint = "name them: --fleet ssh=load1,load2"
        raise PlanError("the plan names no load machines", where=str(options.plan), hint=hint)
    return plan.fleet, servers(plan, SYSTEMS), unstarted(plan, SYSTEMS)


def _show(found: Sequence[CheckedMachine], servers: Sequence[str], unstarted: Sequence[str] = ()) -> None:
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
        show(
            f"{name}: bakeoff starts it for the run, so it has no address yet, and the connection to it was not checked"
        )


def _row(machine: CheckedMachine) -> list[object]:
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


def _doubts(machine: CheckedMachine) -> list[str]:
    """What makes runs worse without preventing them."""
    from importlib.metadata import version

    from ...machine import busy_words

    bound_ns, words = machine.clock_bound_ns or 0, []
    if machine.load_average is not None and (busy := busy_words(machine.load_average, machine.cores or 1)):
        words.append(busy)
    if machine.io_uring_refusal:
        words.append(
            f"the engine uses epoll, which costs more CPU, because io_uring is not available:"
            f" {machine.io_uring_refusal}"
        )
    if bound_ns > CLOCK_BOUND_MAX_NS:
        words.append(
            f"its clock is uncertain by {bound_ns / 1e6:.0f} ms, so its seconds overlap with those of other machines"
        )
    if machine.distributed and machine.distributed != (ours := version("distributed")):
        words.append(
            f"its Dask is {machine.distributed}, and this machine has {ours}: Dask does not support mixed versions"
        )
    return words


def _shared(found: Sequence[CheckedMachine]) -> list[str]:
    """Workers that share a machine, or run on this one."""
    from ...findings.clients_and_nodes import named_words
    from ...fleet.remote_keeper import here

    ours = here().partition(" ")[0]
    by_machine: dict[str, list[CheckedMachine]] = {}
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
