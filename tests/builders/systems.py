"""Makes systems the way a plan would."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bakeoff.systems import SYSTEMS
from bakeoff.systems.base import Facts, Node, System


def configured(kind: str, workdir: Path, options: dict[str, Any], **levels: Any) -> System:
    """A system as a plan would configure it."""
    arguments: dict[str, Any] = {"durability": None, "isolation": None, "timeout_s": 10.0, "base_dir": workdir}
    return SYSTEMS[kind].configure(kind, options, workdir=workdir, **{**arguments, **levels})


def node_of(system: System) -> Node:
    """Of a system of one server."""
    (node,) = system.nodes()
    return node


class Told(Node):
    """A node that says what it was told to."""

    def __init__(
        self,
        name: str,
        *,
        role: str = "primary",
        pids: tuple[int, ...] = (),
        facts: Facts | None = None,
        **said: dict[str, float],
    ) -> None:
        """said: counters, gauges, debt."""
        super().__init__(name, role, f"{name}:1")
        self._pids = pids
        self._facts = facts or Facts("Database", "1")
        self._said = said

    def pids(self) -> list[int]:
        return list(self._pids)

    def facts(self) -> Facts:
        return self._facts

    def counters(self) -> dict[str, float]:
        return self._said.get("counters", {})

    def gauges(self) -> dict[str, float]:
        return self._said.get("gauges", {})

    def debt(self) -> dict[str, float]:
        return self._said.get("debt", {})
