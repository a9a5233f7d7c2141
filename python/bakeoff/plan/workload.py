"""The plan's workload with a cell's levels in it, resolved once for each set of options."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from ..errors import PlanError
from ..model.records import Scalar
from ..nearest import meant
from ..workloads import WORKLOADS
from ..workloads.base import Workload
from .document import MeasureTable, WorkloadTable, keys_of
from .factors import Source
from .nearest import LOAD_FACTORS, where


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
        self._known: dict[str, Workload] = {}
        for name in self._said.keys() - set(self._kind.options):
            for place, known in ((("factors",), LOAD_FACTORS), (("measure",), keys_of(MeasureTable))):
                if name in known:
                    hint = f"`{name}` belongs in [{place[0]}]"
                    raise source.error(f"unknown key `{name}`", "workload", name, hint=hint)

    def needs_sql(self) -> bool:
        return self._kind.sql

    def options(self) -> Collection[str]:
        return self._kind.options

    def resolve(self, levels: dict[str, Scalar]) -> Workload:
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

    def _resolve(self, options: dict[str, Any]) -> Workload:
        try:
            return self._kind.resolve(options, self._source.base_dir)
        except PlanError as error:
            if not error.where:
                error.where = where(self._source.path, self._source.text, self._place(error.what, options))
            raise

    def _place(self, what: str, options: dict[str, Any]) -> tuple[str, ...]:
        """The option that the sentence is about stands in [workload] or is a factor."""
        about = next((name for name in options if f"`{name}`" in what or f"`{options[name]}`" in what), None)
        if about is None:
            return ("workload",)
        return ("workload", about) if about in self._said else ("factors", about)
