"""What is promised of the experiments' own tables, and clusters on which that cannot be verified."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import PlanError
from ..model.isolation import allowed_anomalies
from ..model.levels import TABLE_FORMAT
from ..model.records.bundle import FactsRecord
from ..plan.resolved import Cell
from ..systems.base import System


def promised(cell: Cell, facts: FactsRecord, settings: Mapping[str, str], level: str) -> tuple[str, ...] | None:
    """Anomalies that the vendor's words allow; None where nobody knows. Those words are InnoDB's, and say nothing of
    tables of another storage engine. settings: as sessions have them."""
    engine = facts.settings.get("default_storage_engine", "InnoDB")
    if cell.system_options.get(TABLE_FORMAT) == "rocksdb" or engine.lower() != "innodb":
        return None
    return allowed_anomalies(facts.product, facts.version, settings, level)


def refuse_outsiders(system: System) -> None:
    """Of an existing cluster whose nodes all take writes: a server that only follows it would be written to. Raises
    PlanError."""
    if system.managed or not system.multi_writer:
        return
    for node in system.nodes():
        if node.facts().settings.get("wsrep_on", "OFF").upper() not in ("ON", "1"):
            raise PlanError(
                f"{node.name} is no member of the cluster {system.name} (wsrep_on is off), and the experiments write"
                " to every node",
                where=f"systems.{system.name}.nodes",
                hint="leave it out of `nodes`",
            )
