"""A cell's id is a hash of what the cell is: all that makes its runs what they are, and nothing else.

Not in it: the cell's place in the plan, which other cells there are, how many repetitions, how runs are judged and
cells compared, and passwords (where one comes from says nothing about a run). So a plan can grow and its old cells keep
their runs.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .document import PlanDocument
from .nearest import LOAD_FACTORS
from .resolved import Cell
from .routing import Routing
from .source import Source

#: Of [measure], what is no part of a run, or is in the cell already, resolved. (`data` is in the data set's name.)
_NOT_IN_A_RUN = {
    *LOAD_FACTORS, "repetitions", "objective", "pacing", "window", "operations", "retry", "data", "reset", "cache",
    "error_budget", "on_node_failure", "repeat_disturbed",
}  # fmt: skip
#: 40 bits: two of 10,000 cells share one by chance in 5 of 100,000 plans.
_DIGITS = 8


def with_ids(cells: Sequence[Cell], document: PlanDocument, cache: str, source: Source) -> list[Cell]:
    """The cells with their ids. PlanError where two are the same: their runs could not be told apart."""
    measure = document.measure.model_dump(mode="json", exclude=_NOT_IN_A_RUN)
    found: dict[str, Cell] = {}
    for cell in cells:
        identity = _hash([[document.seed, cell.reset, cache, measure], _content(cell)])
        if twin := found.get(identity):
            raise source.error(
                f"{twin.record.label} and {cell.record.label} are the same cell: same system, work and load",
                "cells" if document.cells else "factors",
                hint="leave one out; to compare a system with itself, give it two names in [systems]",
            )
        named = {"id": identity, "work": _hash(_wherever(cell.workload.spec))}
        found[identity] = replace(cell, record=cell.record.model_copy(update=named))
    return list(found.values())


def of_plan(name: str, cell: str) -> str:
    """Of a cell of this id that belongs to one of several plans."""
    return _hash([name, cell])


def _content(cell: Cell) -> dict[str, Any]:
    return {
        "system": cell.record.system,
        "kind": cell.record.kind,
        "options": {key: value for key, value in cell.system_options.items() if key != "password"},
        "durability": cell.durability,
        "isolation": cell.isolation,
        "workload": _wherever(cell.workload.spec),
        "data": cell.record.dataset,
        "threads": cell.threads,
        "sessions": cell.sessions,
        **({} if cell.routing == Routing("any") else {"routing": str(cell.routing)}),
        "clients": cell.clients,
        "workers": cell.workers,
        "runner": cell.runner,
        "io": cell.io,
        "pacing": cell.pacing.model_dump(),
        "limit": cell.limit.model_dump(),
        "retry": cell.retry.model_dump(),
        **({"faults": [fault.model_dump() for fault in cell.record.faults]} if cell.record.faults else {}),
    }


def _wherever(said: Any) -> Any:
    """A file whose content is known by its hash is the same wherever it lies."""
    if isinstance(said, dict):
        known = {"path"} if "sha256" in said else set()
        return {key: _wherever(value) for key, value in said.items() if key not in known}
    return [_wherever(one) for one in said] if isinstance(said, list) else said


def _hash(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return "c" + base64.b32encode(hashlib.sha256(text.encode()).digest()).decode().lower()[:_DIGITS]
