"""What a plan needs of this machine: systems, cores, passwords, disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from ..analysis.wording import bytes_words
from ..errors import ServerError
from ..provision.files import can_hold_files, nearest_existing
from ..systems.options import Password
from .check import Kinds, placed
from .document import PlanDocument
from .resolved import Cell
from .source import Source


def check_placement(document: PlanDocument, source: Source) -> list[str]:
    """Cores against this machine; returns warnings. What a load machine lacks its own engine says."""
    if document.fleet and not document.fleet.spec(source.base_dir).here:
        return []  # no server is started on this machine either
    available = os.sched_getaffinity(0)
    placement = document.measure.placement
    for side, cores in (("client", placement.client), ("server", placement.server)):
        if missing := sorted(set(cores) - available):
            hint = f"this machine offers {_words_of_cores(available)}"
            raise source.error(f"there is no core {missing[0]} here", "measure", "placement", side, hint=hint)
    if shared := set(placement.client) & set(placement.server):
        return [f"client and server share the cores {_words_of_cores(shared)}: each slows the other"]
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
            hint = f"`bakeoff doctor` says how to get it; optional = true in [systems.{name}] skips it"
            raise ServerError(f"{name} cannot run on this machine: {why}", where=place, hint=hint)
    if missing.keys() >= set(wanted):
        words = "; ".join(f"{name}: {why}" for name, why in missing.items())
        raise ServerError(f"no system of the plan can run on this machine ({words})", hint="see `bakeoff doctor`")


def check_disk(needed_bytes: int, folder: Path, option: str) -> None:
    """Called when a run is about to begin; a dry run only warns (see describe). `option`: that names another folder."""
    if not can_hold_files(folder):
        raise ServerError("nothing can be written there", where=str(folder), hint=f"give another folder with {option}")
    free = disk_free_bytes(folder)
    if needed_bytes > free:
        raise ServerError(
            f"the plan needs about {bytes_words(needed_bytes)} of disk and {bytes_words(free)} are free",
            where=str(folder),
            hint=f"free some space, give another folder with {option}, or use fewer records or start options",
        )


def disk_free_bytes(folder: Path) -> int:
    """Of the file system on which the folder is, or will be."""
    return shutil.disk_usage(nearest_existing(folder)).free


def _words_of_cores(cores: Iterable[int]) -> str:
    return ", ".join(str(core) for core in sorted(cores))
