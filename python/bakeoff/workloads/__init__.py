"""What can be asked of a system: the visible list. One entry a workload; its file has the same name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import sysbench, ycsb
from .base import Workload


@dataclass(frozen=True)
class WorkloadKind:
    summary: str
    #: Presets by name, each with a few words.
    presets: Mapping[str, str]
    #: Names that the plan's [workload] may hold beside `kind`, and that may be factors.
    options: Collection[str]
    resolve: Callable[[dict[str, Any], Path], Workload]
    #: The option that names a preset.
    preset: str = "preset"
    #: It asks in SQL, so only systems that speak it can be asked.
    sql: bool = False


WORKLOADS: dict[str, WorkloadKind] = {
    "ycsb": WorkloadKind(ycsb.SUMMARY, ycsb.PRESET_WORDS, ycsb.OPTIONS, ycsb.resolve),
    "sysbench": WorkloadKind(
        sysbench.SUMMARY, sysbench.SCRIPT_WORDS, sysbench.OPTIONS, sysbench.resolve, preset="script", sql=True
    ),
}
