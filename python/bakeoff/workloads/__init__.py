"""What can be asked of a system. Workloads and their options are the engine's (`bakeoff-engine list`, `resolve`); here
is what only a plan knows of them: the file formats of the original tools, and where else in a plan a thing is said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..fleet.engine_program import listed
from ..model.resolve import Described, Listed
from . import hatshop, linkbench, lua, replay, sql, sysbench, ycsb
from .base import Asked


@dataclass(frozen=True)
class WorkloadKind:
    kind: str
    summary: str
    #: The option whose names are the presets.
    preset: str
    options: list[Described]
    #: The [workload] table without `kind`, and the folder that its file names are relative to. Raises PlanError.
    read: Callable[[dict[str, Any], Path], Asked]

    @property
    def option_names(self) -> list[str]:
        """What [workload] may have in addition to `kind`, and what may be a factor."""
        return [option.name for option in self.options]

    @property
    def presets(self) -> dict[str, str]:
        return dict(next(option.names for option in self.options if option.name == self.preset))


def _as_said(options: dict[str, Any], _: Path) -> Asked:
    return Asked(dict(options))


#: Kinds with options that only a plan has, or whose table is read in a way of its own.
_OF_PLANS = {
    "ycsb": (ycsb.FILE_OPTIONS, ycsb.read),
    "sysbench": ([], sysbench.read),
    "sql": ([], sql.read),
    "lua": ([], lua.read),
    "replay": ([], replay.read),
    "linkbench": (linkbench.FILE_OPTIONS, linkbench.read),
    "hatshop": ([], hatshop.read),
}


@cache
def workloads() -> dict[str, WorkloadKind]:
    """The workloads of this engine, by kind. Raises EngineError."""
    found = {}
    for kind, one in listed("workloads", Listed).items():
        own, read = _OF_PLANS.get(kind, ([], _as_said))
        found[kind] = WorkloadKind(kind, one.summary, one.preset, [*own, *one.options], read)
    return found


#: Of workloads whose presets are named after their tool; those of TPC-C are tools themselves.
_TOOLS = {
    "ycsb": "ycsb-",
    "sysbench": "sysbench-",
    "sql": "pgbench-",
    "lua": "lua-",
    "replay": "replay-",
    "linkbench": "linkbench-",
    "tpcc": "",
    "hatshop": "hatshop-",
    "documents": "documents-",
}


#: What a tool's name means without a preset behind it.
_USUAL = {
    "ycsb": "ycsb-a",
    "sysbench": "sysbench-oltp_read_write",
    "pgbench": "pgbench-tpcb-like",
    "hatshop": "hatshop-line_items_by_order",
    "documents": "documents-mixed",
}


def workload_names() -> dict[str, tuple[str, str]]:
    """Kind and preset of every workload, by its name."""
    named = {_TOOLS[kind] + preset: (kind, preset) for kind, one in workloads().items() for preset in one.presets}
    return {**named, **{short: named[name] for short, name in _USUAL.items()}, "linkbench": ("linkbench", "")}
