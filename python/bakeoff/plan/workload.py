"""The plan's workloads with a cell's levels in them, resolved once for each set of options."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from ..errors import PlanError
from ..model.records import Scalar
from ..nearest import meant
from ..workloads import WORKLOADS
from ..workloads.base import Workload
from .document import MeasureTable, PlanDocument, WorkloadTable, keys_of
from .factors import Source, Works
from .nearest import LOAD_FACTORS, where


class PlanWorkloads:
    """[workload], or all [workloads.NAME] by their names."""

    def __init__(self, document: PlanDocument, source: Source) -> None:
        self._tables = {
            name: PlanWorkload(table, ("workloads", name), source) for name, table in document.workloads.items()
        }
        if document.workload is not None:
            self._tables[""] = PlanWorkload(document.workload, ("workload",), source)

    @property
    def works(self) -> Works:
        return {name: table.options() for name, table in self._tables.items()}

    def kinds_in_sql(self) -> list[str]:
        """Of workloads that ask in SQL."""
        return [table.kind for table in self._tables.values() if table.needs_sql()]

    def resolve(self, name: str, levels: dict[str, Scalar]) -> Workload:
        return self._tables[name].resolve(levels)


class PlanWorkload:
    """One table, with options added by factors."""

    def __init__(self, table: WorkloadTable, place: tuple[str, ...], source: Source) -> None:
        """place: of the table in the plan."""
        if table.kind not in WORKLOADS:
            hint = meant(table.kind, WORKLOADS)
            raise source.error(f"there is no workload `{table.kind}`", *place, "kind", hint=hint)
        self.kind = table.kind
        self._where = place
        self._kind = WORKLOADS[table.kind]
        self._said: dict[str, Any] = dict(table.model_extra or {})
        self._source = source
        self._known: dict[str, Workload] = {}
        for name in self._said.keys() - set(self._kind.options):
            for elsewhere, known in (("factors", LOAD_FACTORS), ("measure", keys_of(MeasureTable))):
                if name in known:
                    hint = f"`{name}` belongs in [{elsewhere}]"
                    raise source.error(f"unknown key `{name}`", *place, name, hint=hint)

    def needs_sql(self) -> bool:
        return self._kind.sql

    def options(self) -> Collection[str]:
        return self._kind.options

    def resolve(self, levels: dict[str, Scalar]) -> Workload:
        for name in levels.keys() & self._said.keys():
            raise self._source.error(
                f"`{name}` is said twice, as a factor and in [{'.'.join(self._where)}]",
                *(*self._where, name),
                hint=f"remove it from [{'.'.join(self._where)}]",
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
        """The option that the sentence is about stands in the table or is a factor."""
        about = next((name for name in options if f"`{name}`" in what or f"`{options[name]}`" in what), None)
        if about is None:
            return self._where
        return (*self._where, about) if about in self._said else ("factors", about)
