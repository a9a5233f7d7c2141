"""Faults while random transactions run, carried out as a run's faults are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Self

from ..errors import PlanError, ServerError
from ..model.boundary import Progress
from ..model.faults import BETWEEN_SERVERS, FaultRecord
from ..plan.check import NOWHERE
from ..plan.resolved import Cell, ResolvedPlan
from ..provision.network_right import refuse_without_right
from ..provision.server import LOG_KEPT
from ..systems import SYSTEMS
from ..systems.base import System
from ..verify.faults import WantedFaults, draw
from .faults import TOO_LATE, Faults
from .instance import Instance

#: A node of a cluster that was killed may have to be handed all data.
_NODES_BACK_WITHIN_S = 120.0


def refuse_faults(plan: ResolvedPlan, cells: Sequence[Cell], wanted: WantedFaults, seconds: float) -> None:
    """Raises PlanError where they are not possible."""
    if not wanted.kinds:
        return
    if not seconds:
        raise PlanError(
            "--fault needs random transactions, and --seconds 0 leaves them out",
            where="bakeoff verify",
            hint="leave out one of the two",
        )
    for cell in cells:
        kind, name = SYSTEMS[cell.record.kind], cell.record.system
        system = cell.configure(kind, workdir=NOWHERE, timeout_s=plan.timeout_s, base_dir=plan.base_dir)
        if not (system.managed and system.roles()):
            raise PlanError(
                f"no fault is possible on {name}: it is not a managed server",
                where=f"systems.{name}",
                hint="faults are possible only on managed servers, which bakeoff starts itself; --only verifies a part"
                " of the plan",
            )
        between = [kind for kind in wanted.kinds if kind in BETWEEN_SERVERS]
        if between and len(system.roles()) < 2:
            raise PlanError(
                f"a {between[0]} is between a server and the others, and {name} has only one",
                where=f"systems.{name}",
                hint="start several nodes; --only verifies a part of the plan",
            )
    refuse_without_right(wanted.kinds, "bakeoff verify")


class FaultsMeanwhile:
    """The faults of one system. `notice` is called with each sign of progress of the transactions. Leaving the context
    leaves nothing frozen or cut off."""

    def __init__(self, instance: Instance, wanted: WantedFaults, seconds: float) -> None:
        self.records: list[FaultRecord] = []
        self._instance = instance
        self._wanted = wanted
        self._seconds = seconds
        self._part = 0
        self._now: Faults | None = None

    @property
    def nodes_back_within_s(self) -> float:
        return _NODES_BACK_WITHIN_S if self._wanted.kinds else 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended_by: object) -> None:
        if self._now is not None:
            self._now.end(at_once=True)

    def notice(self, at: Progress) -> None:
        """Begins a kind of transaction's faults with its first second, and heals all servers after the last. Raises
        ServerError if one does not come back."""
        if not self._wanted.kinds or not at.total:
            return
        if self._now is None and at.done == 0:
            self._begin()
        elif self._now is not None and at.done == at.total:
            self._end(self._now)

    def _begin(self) -> None:
        system = self._instance.system
        planned = draw(self._wanted, _nodes_that_take_writes(system), self._seconds, self._part)
        self._part += 1
        self._now = Faults(planned, system.servers(), self._instance.rejoin, lambda number: None, time.time())
        self._now.start()

    def _end(self, faults: Faults) -> None:
        faults.end()
        faults.heal()
        self._now = None
        self.records += faults.records
        for record in faults.records:
            if record.begun_s is None and record.failure != TOO_LATE:
                where = f"--fault {record.planned.do}"
                raise ServerError(f"it could not be done to {record.planned.node}: {record.failure}", where=where)
        if away := faults.away():
            failures = [record.failure for record in faults.records if record.planned.node in away]
            raise ServerError(
                f"after a fault {', '.join(sorted(away))} did not come back: {failures[-1]}",
                where=f"verify of {self._instance.system.name}",
                hint=LOG_KEPT,
            )


def _nodes_that_take_writes(system: System) -> list[str]:
    roles = system.roles()
    first = next(iter(roles.values()))
    return [name for name, role in roles.items() if system.multi_writer or role == first]
