"""The Hat Shop in a plan: a file of events where it lies, and such files written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import PlanError
from ..fleet.engine_program import resolve
from ..model.resolve import Refused, Resolved, WorkloadRequest, WriteEventsRequest, Written
from .base import Asked, locate


def read(options: dict[str, Any], base_dir: Path) -> Asked:
    """The [workload] table without `kind`. The engine reads the file of events, however long it is."""
    name = options.get("events_file")
    if not isinstance(name, str):
        return Asked(dict(options))
    path = locate(base_dir, name).absolute()
    return Asked(options | {"events_file": {"name": name, "path": str(path)}})


def write_events(options: dict[str, Any], seed: int, path: Path) -> Written:
    """Writes the list that a run with these options of the workload and this seed begins with, a line of JSON an event.
    Raises PlanError, EngineError."""
    (decided,) = resolve([WorkloadRequest(kind="hatshop", options=options, seed=seed)])
    if isinstance(decided, Resolved):
        request = WriteEventsRequest(workload=decided.spec, seed=seed, path=str(path.absolute()))
        (decided,) = resolve([request])
    if isinstance(decided, Refused):
        raise PlanError(decided.what, where=decided.where, hint=decided.hint)
    assert isinstance(decided, Written)
    return decided
