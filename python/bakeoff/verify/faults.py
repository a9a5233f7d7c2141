"""Faults while random transactions run: drawn from a seed, and carried out as a run's faults are (schedule/faults.py).

Each fault has its own draw, so that leaving one out changes none of the others. All faults during one kind of
transaction hit one node: with two away a cluster of three has no majority, and nothing is left to verify.
"""

from __future__ import annotations

import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from ..errors import PlanError, ServerError
from ..model.boundary import Progress
from ..model.durability import NOTHING, read
from ..model.faults import FaultKind, FaultRecord, PlannedFault
from ..model.isolation import LevelName
from ..plan.check import NOWHERE
from ..plan.resolved import Cell, ResolvedPlan
from ..schedule.faults import Faults
from ..schedule.instance import Instance
from ..systems import SYSTEMS
from ..systems.base import System

KINDS: tuple[FaultKind, ...] = ("kill", "stop", "freeze", "restart")
#: A node of a cluster that was killed may have to be handed all data.
_NODES_BACK_WITHIN_S = 120.0


@dataclass(frozen=True)
class WantedFaults:
    """One of each of these, as often as it is named, during each kind of transaction."""

    kinds: tuple[FaultKind, ...] = ()
    seed: int = 0


def draw(wanted: WantedFaults, nodes: Sequence[str], seconds: float, part: int) -> list[PlannedFault]:
    """By time, which counts from the first transaction. seconds: of transactions. part: which kind of transaction."""
    node = nodes[int(_random(wanted.seed, part).random() * len(nodes))]
    faults = []
    for number, kind in enumerate(wanted.kinds):
        own = _random(wanted.seed, part, kind, wanted.kinds[:number].count(kind))
        at_s, for_s = seconds * (0.1 + 0.5 * own.random()), seconds * (0.03 + 0.15 * own.random())
        planned_for_s = None if kind == "restart" else round(for_s, 3)
        faults.append(PlannedFault(at_s=round(at_s, 3), node=node, do=kind, for_s=planned_for_s))
    return sorted(faults, key=lambda fault: fault.at_s)


def _random(*parts: object) -> random.Random:
    return random.Random(repr(parts))


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


def claim_after(claim: LevelName | None, wanted: WantedFaults, portable: Mapping[str, str]) -> LevelName | None:
    """What is still claimed: nothing where a killed server may lose what it acknowledged. portable: its facts."""
    survival = read(portable)
    loses = survival is not None and survival.lost_when_killed != NOTHING
    return None if loses and "kill" in wanted.kinds else claim


class FaultsMeanwhile:
    """The faults of one system. `notice` is called with each sign of progress of the transactions. Leaving the context
    leaves nothing frozen."""

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
        if away := faults.away():
            failures = [record.failure for record in faults.records if record.planned.node in away]
            raise ServerError(
                f"after a fault {', '.join(sorted(away))} did not come back: {failures[-1]}",
                where=f"verify of {self._instance.system.name}",
                hint="the server's log says why",
            )


def _nodes_that_take_writes(system: System) -> list[str]:
    roles = system.roles()
    first = next(iter(roles.values()))
    return [name for name, role in roles.items() if system.multi_writer or role == first]


def fault_words(records: Sequence[FaultRecord]) -> str:
    """ "kill n2 at 1.81 s, restart it after 0.4 s; ..."; "" without any."""
    done = [record for record in records if record.begun_s is not None]
    words = [record.planned.words for record in done]
    if len(done) < len(records):
        words.append(f"{len(records) - len(done)} not carried out, because the server was still away")
    return "; ".join(words)


def document(records: Sequence[FaultRecord]) -> list[dict[str, Any]]:
    return [record.model_dump(exclude={"effect", "marked_s"}) for record in records]
