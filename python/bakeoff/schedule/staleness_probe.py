"""The sessions next to a run's load that look for old reads, where the plan asks for them."""

from __future__ import annotations

from ..model.boundary import StalenessProbeSpec
from ..model.levels import settings_of_sessions
from ..plan.resolved import Cell, ResolvedPlan
from ..plan.verify import why_not
from ..verify.histories import claims_on_reads
from .instance import Instance
from .phases import home
from .promised import promised

#: Its own, as the engine calls it.
TABLE = "bakeoff_probe"


def staleness_probe(plan: ResolvedPlan, cell: Cell, instance: Instance) -> StalenessProbeSpec | None:
    """The engine's document for it; None where the plan does not ask, or no session of the system can. The system
    runs. Raises ServerError."""
    if plan.verify is None or not plan.verify.probe or why_not(cell):
        return None
    system, facts = instance.system, instance.facts(cell)
    level = facts.portable.get("isolation", "")
    allowed = promised(cell, facts, settings_of_sessions(plan.record, cell.record, facts), level)
    return StalenessProbeSpec(
        writers="any" if system.multi_writer else home(system),
        claims=claims_on_reads(one_copy=system.one_copy, allowed=allowed),
        session_setup=list(system.lock_limit),
    )
