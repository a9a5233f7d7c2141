"""The plan's workload with a cell's levels in it, resolved once for each set of options."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from ..errors import PlanError
from ..model.records import Scalar
from ..workloads import WORKLOADS
from ..workloads.ycsb import YcsbWorkload
from .document import WorkloadTable
from .factors import Source
from .nearest import meant, where


class PlanWorkloads:
    """[workload], with options added by factors."""

    def __init__(self, table: WorkloadTable, source: Source) -> None:
        if table.kind not in WORKLOADS:
            raise source.error(
                f"there is no workload `{table.kind}`", "workload", "kind", hint=meant(table.kind, WORKLOADS)
            )
        self._kind = WORKLOADS[table.kind]
        self._said: dict[str, Any] = dict(table.model_extra or {})
        self._source = source
        self._known: dict[str, YcsbWorkload] = {}

    def options(self) -> Collection[str]:
        return self._kind.options

    def resolve(self, levels: dict[str, Scalar]) -> YcsbWorkload:
        for name in levels.keys() & self._said.keys():
            raise self._source.error(
                f"`{name}` is said twice, as a factor and in [workload]",
                *("workload", name),
                hint="remove it from [workload]",
            )
        key = json.dumps(levels, sort_keys=True)
        if key not in self._known:
            self._known[key] = self._resolve({**self._said, **levels})
        return self._known[key]

    def _resolve(self, options: dict[str, Any]) -> YcsbWorkload:
        try:
            return self._kind.resolve(options, self._source.base_dir)
        except PlanError as error:
            if not error.where:
                error.where = where(self._source.path, self._source.text, ("workload",))
            raise
