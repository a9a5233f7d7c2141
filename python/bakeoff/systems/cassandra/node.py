"""One node of a Cassandra cluster, asked over its control connection."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from bakeoff.provision.files import allocated_bytes
from bakeoff.systems.base import Facts
from bakeoff.systems.cassandra import facts
from bakeoff.systems.cassandra.control import Control
from bakeoff.systems.server import control as server
from bakeoff.systems.server.node import Access, ServerNode, Status


class CassandraNode(ServerNode):
    """further: settings to tell beside the decisive ones. data: the folder of a private node's data."""

    def __init__(
        self,
        name: str,
        role: str,
        address: str,
        access: Access,
        *,
        further: Collection[str] = (),
        data: Path | None = None,
    ) -> None:
        super().__init__(name, role, address, access)
        self._further = further
        self._data = data

    @property
    def control(self) -> Control:
        control = super().control
        assert isinstance(control, Control)
        return control

    def read_facts(self) -> Facts:
        replication = facts.read_copies(self.control, self.control.keyspace)
        return Facts(
            product="Cassandra",
            version=facts.read_version(self.control),
            settings=facts.read_settings(self.control, self._further),
            portable={
                "isolation": "each row by itself, no transactions",
                **facts.read_form(self.control, self.control.keyspace),
                **({"replication": replication[1]} if replication else {}),
            },
        )

    def read_status(self) -> Status:
        return facts.read_status(self.control, self.control.keyspace)

    def read_debt(self) -> dict[str, float]:
        debt = facts.read_debt(self.control)
        if self._data is not None:
            debt["commitlog_bytes"] = float(allocated_bytes(self._data / "commitlog"))
        return debt

    def cipher(self, control: server.Control) -> str:
        return "on" if control.login.tls else ""
