"""`bakeoff doctor`: what this machine can run, what is missing and how to get it, and whether it is fit to measure."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ...analysis.wording import bytes_words
from ...errors import EngineError, ExitCode
from ..output import add_json, print_json, show, table
from .doctor_fleet import look
from .run import add_fleet

if TYPE_CHECKING:
    from ...machine import Finding


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = commands.add_parser(
        "doctor",
        help="what this machine can run, and whether it, or load machines, are fit to measure",
        description="Says what this machine can run, what is missing, how to get it, and what would disturb figures;"
        " or, of load machines, which are fit to run clients and why others are not.",
        epilog="example:\n  bakeoff doctor\n  bakeoff doctor --fleet ssh=load1,load2\n"
        "  bakeoff doctor --plan my.toml      the machines of its [fleet], and their way to its servers",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_fleet(p)
    p.add_argument("--plan", type=Path, help="look at this plan's load machines, and how they reach its servers")
    add_json(p)
    p.set_defaults(run=run)


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
    from ...fleet.binary import engine_list, engine_path
    from ...machine import Finding
    from ...workloads import workloads

    try:
        workloads()  # a build of another version tells of them in another way
        return Finding("engine", "good", f"{engine_path()}, version {engine_list().get('engine_version', '?')}")
    except EngineError as error:
        return Finding("engine", "missing", str(error), error.hint)


def _io_uring() -> list[Finding]:
    from ...fleet.binary import engine_list
    from ...machine import Finding

    try:
        refusal = engine_list()["io_uring_refusal"]
    except (EngineError, KeyError):
        return []  # told of the engine itself
    if refusal is None:
        return [Finding("io_uring", "good", "the engine may use it")]
    return [
        Finding(
            "io_uring",
            "warning",
            f"the engine may not use it and takes epoll, which costs the client more CPU: {refusal}",
            "allow it (sysctl kernel.io_uring_disabled, the container's seccomp profile); until then figures of many"
            " sessions compare with those of other machines only where these take epoll, too",
        )
    ]


def _systems() -> list[Finding]:
    from ...machine import Finding
    from ...systems import SYSTEMS

    findings = []
    for kind, system in SYSTEMS.items():
        if not system.capabilities().private:
            findings.append(Finding(kind, "good", "an existing one can be given by `address`"))
            continue
        missing, sources = system.available({}), system.sources()
        if missing is not None:
            findings.append(Finding(kind, "missing", missing, f"`bakeoff systems install {kind}`, or give an address"))
        else:
            versions = dict.fromkeys(one.version for one in sources.here()) if sources else ()
            here = f": {', '.join(versions)}" if versions else ""
            findings.append(Finding(kind, "good", f"a private instance can be started here{here}"))
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
            f"{len(folders)} in {work} are of bakeoffs on other machines, or may be, and are left alone: {names}",
            "remove them by hand when nothing there uses them",
        )
    ]
