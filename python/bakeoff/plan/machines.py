"""What a plan needs of machines. Of this one: systems, cores, passwords, disk, and the builds of servers that are
compared, from one packager where one has all of them. Of load machines: that they reach what is measured, and may
receive its secrets."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..analysis.wording import bytes_words
from ..errors import BakeoffError, PlanError, ServerError
from ..fleet.spec import Existing, FleetSpec, Kubernetes, Slurm, Ssh, is_loopback
from ..provision.container import installation_for
from ..provision.files import can_hold_files, nearest_existing
from ..provision.installation import Installation
from ..systems.base import System
from ..systems.options import Password
from .check import NOWHERE, Kinds, placed
from .document.source import Source
from .document.tables import MeasureTable, PlanDocument
from .resolved import Cell, ResolvedPlan


def check_placement(document: PlanDocument, source: Source) -> list[str]:
    """Cores against this machine; returns warnings. What a load machine lacks its own engine says."""
    if document.fleet and not document.fleet.spec(source.base_dir).here:
        return []  # no server is started on this machine either
    available = os.sched_getaffinity(0)
    placement = document.measure.placement
    for side, cores in (("client", placement.client), ("server", placement.server)):
        if missing := sorted(set(cores) - available):
            hint = f"this machine offers {_words_of_cores(available)}"
            raise source.error(f"this machine has no core {missing[0]}", "measure", "placement", side, hint=hint)
    if shared := set(placement.client) & set(placement.server):
        return [f"client and server share the cores {_words_of_cores(shared)}, so each slows the other"]
    return []


def check_passwords(cells: Iterable[Cell], kinds: Kinds, source: Source) -> None:
    """Passwords lie where the plan says; called when a run is about to begin. They are read and forgotten."""
    for cell in cells:
        name, password = cell.record.system, cell.system_options.get("password")
        if isinstance(password, dict):
            with placed(name, kinds[name].kind, source):
                Password(**password).located(source.base_dir).read(f"systems.{name}.password")


def find_missing(options: Iterable[tuple[str, dict[str, Any]]], kinds: Kinds, source: Source) -> dict[str, str]:
    """Systems that this machine cannot run with one of their sets of options: name -> why."""
    missing: dict[str, str] = {}
    asked: set[str] = set()
    for name, system_options in options:
        key = repr((name, system_options))
        if name in missing or key in asked:
            continue
        asked.add(key)
        with placed(name, kinds[name].kind, source):
            why = kinds[name].available(system_options)
        if why:
            missing[name] = why
    return missing


def require(document: PlanDocument, wanted: Collection[str], missing: Mapping[str, str], source: Source) -> None:
    """A system that cannot run here ends the plan, unless the plan calls it optional and another of those that are
    wanted is left."""
    for name, why in missing.items():
        if not document.systems[name].optional:
            place = source.error("", "systems", name).where
            hint = f"`bakeoff doctor` shows how to install it; optional = true in [systems.{name}] skips it"
            raise ServerError(f"{name} cannot run on this machine: {why}", where=place, hint=hint)
    if missing.keys() >= set(wanted):
        words = "; ".join(f"{name}: {why}" for name, why in missing.items())
        raise ServerError(f"no system of the plan can run on this machine ({words})", hint="see `bakeoff doctor`")


def check_disk(needed_bytes: int, folder: Path, option: str) -> None:
    """Called when a run is about to begin; a dry run only warns (see describe). `option`: that names another folder."""
    if not can_hold_files(folder):
        raise ServerError("the folder is not writable", where=str(folder), hint=f"choose another folder with {option}")
    free = disk_free_bytes(folder)
    if needed_bytes > free:
        raise ServerError(
            f"the plan needs about {bytes_words(needed_bytes)} of disk and {bytes_words(free)} are free",
            where=str(folder),
            hint=f"free some space, choose another folder with {option}, or use fewer records or start options",
        )


def disk_free_bytes(folder: Path) -> int:
    """Of the file system on which the folder is, or will be."""
    return shutil.disk_usage(nearest_existing(folder)).free


def _words_of_cores(cores: Iterable[int]) -> str:
    return ", ".join(str(core) for core in sorted(cores))


Options = tuple[type[System], dict[str, Any]]
#: By kind and version, for those that a plan does not name a source or an image for.
SourcesOf = Mapping[tuple[str, str | None], str]


def alike_sources(options: Iterable[Options]) -> SourcesOf:
    """For each kind of which several versions are started, the source to take each from."""
    found: dict[tuple[str, str | None], str] = {}
    for kind, starts in _started(options).items():
        versions = list(dict.fromkeys(start.get("version") for start in starts if _is_free(start)))
        if len(versions) > 1 and (sources := kind.sources()) is not None:
            found |= {(kind.kind, version): source for version, source in sources.alike(versions).items()}
    return found


def with_source(kind: type[System], options: dict[str, Any], sources: SourcesOf) -> dict[str, Any]:
    start = options.get("start")
    if not isinstance(start, dict) or not _is_free(start):
        return options
    source = sources.get((kind.kind, start.get("version")))
    return {**options, "start": {**start, "source": source}} if source else options


def packager_words(options: Iterable[Options]) -> list[str]:
    """Warnings about kinds of which several versions were built by several packagers."""
    words = []
    for kind, starts in _started(options).items():
        found = [one for start in starts if (one := installation(kind, start))]
        if len({one.packager for one in found}) > 1:
            builds = "; ".join(dict.fromkeys(f"{one.version} is from {one.described}" for one in found))
            words.append(
                f"the builds of {kind.kind} come from different packagers: {listed(one.packager for one in found)}."
                f" They also differ in compiler and build options, not only in version"
                f" ({builds}).{_advice(kind, starts)}"
            )
    return words


def _advice(kind: type[System], starts: Sequence[Mapping[str, Any]]) -> str:
    sources, versions = kind.sources(), [start.get("version") for start in starts]
    named = [str(version) for version in versions if version is not None]
    if sources is None or len(named) < len(versions) or not all(map(_is_free, starts)):
        return ""
    commands = sources.would_make_alike(named)
    return f" To take all from one: {commands}" if commands else ""


def listed(packagers: Iterable[str]) -> str:
    return ", ".join(sorted(set(packagers)))


def _started(options: Iterable[Options]) -> dict[type[System], Sequence[dict[str, Any]]]:
    """What `start` says, by kind, each once."""
    found: dict[type[System], list[dict[str, Any]]] = {}
    for kind, said in options:
        start = said.get("start")
        if isinstance(start, dict) and start not in found.setdefault(kind, []):
            found[kind].append(start)
    return {kind: starts for kind, starts in found.items() if starts}


def _is_free(start: Mapping[str, Any]) -> bool:
    """What is no version is refused elsewhere."""
    named = isinstance(start.get("version"), str | None)
    return named and start.get("source") is None and start.get("image") is None


def installation(kind: type[System], start: Mapping[str, Any]) -> Installation | None:
    """What `start` means on this machine. None: it is not installed, which is reported elsewhere."""
    sources = kind.sources()
    if sources is None:
        return None
    try:
        return installation_for(sources, start.get("version"), start.get("image"), start.get("source"))
    except BakeoffError:
        return None


#: What each needs: module and extra; all but SSH need Dask's distributed, too.
_NEEDS = {Ssh: ("asyncssh", "fleet"), Kubernetes: ("dask_kubernetes", "kubernetes"), Slurm: ("dask_jobqueue", "slurm")}


def missing_here(spec: FleetSpec) -> PlanError | None:
    """What has to be installed, or put there, first, if anything. Imports nothing of it."""
    dask = [] if isinstance(spec.way, Ssh) else [("distributed", "fleet")]
    for module, extra in [*dask, *([_NEEDS[type(spec.way)]] if type(spec.way) in _NEEDS else [])]:
        if find_spec(module) is None:
            hint = f"pip install 'bakeoff[{extra}]'"
            what = f"the Python package {module} is missing; clients on {spec.words} need it"
            return PlanError(what, where="[fleet]", hint=hint)
    tls = spec.way.tls if isinstance(spec.way, Existing) else None
    for path in (tls.ca, tls.cert, tls.key) if tls else ():
        if not path.is_file():
            return PlanError(
                f"there is no file {path}", where="fleet.tls", hint="paths are relative to the plan's folder"
            )
    return None


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
    """Host and port of every existing server of the plan: by its system's name, and one of several by its own, too
    ("galera.n1")."""
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
        if system.managed and not system.capabilities().embedded:
            names[cell.record.system] = None
    return list(names)


def _refuse_unreachable(system: System, fleet: FleetSpec, source: Source) -> None:
    if fleet.here or (system.capabilities().embedded and not system.keeps_data):
        return
    where = f"the clients run on {fleet.words}"
    if system.capabilities().embedded:
        what = f"{system.name} runs inside the client, on a file of this machine, and {where}"
        raise source.error(what, "fleet", hint="leave [fleet] out, or write local = 2 in it: workers on this machine")
    if system.managed:
        hint = 'name a server that they reach, address = "db1:3306"; or write local = 2 in [fleet]'
        raise source.error(
            f"{system.name} is a managed server, which only this machine reaches, and {where}", "fleet", hint=hint
        )
    for node in system.nodes():
        if node.address.startswith("/") or is_loopback(node.address):
            what = f"only this machine reaches {system.name} at {node.address}, and {where}"
            hint = 'write an address that the load machines reach, address = "db1:3306"'
            raise source.error(what, "systems", system.name, "address", hint=hint)


def _refuse_told(cell: Cell, fleet: FleetSpec, source: Source) -> None:
    if fleet.plain and "password" in cell.system_options:
        what = f"the password of {cell.record.system} would go to {fleet.words} unencrypted"
        hint = 'start the cluster with certificates and write address = "tls://..." (docs/howto/fleet.md)'
        raise source.error(what, "fleet", hint=hint)
