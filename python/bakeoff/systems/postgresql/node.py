"""One PostgreSQL server, asked what it does."""

from __future__ import annotations

from functools import cached_property

from bakeoff.systems.base import Facts
from bakeoff.systems.durability import of_postgresql
from bakeoff.systems.postgresql import facts
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.node import ServerNode, Status


class PostgreSqlNode(ServerNode):
    @cached_property
    def _views(self) -> list[str]:
        return facts.views_there(self.control)

    def read_facts(self) -> Facts:
        settings = facts.read_settings(self.control, private=self.access.private)
        return Facts(
            product="PostgreSQL",
            version=facts.read_version(self.control),
            settings=settings,
            portable={
                **of_postgresql(facts.durability_settings(self.control)).facts(),
                "isolation": settings["default_transaction_isolation"].replace(" ", "-"),
                "memory_bytes": str(facts.shared_buffers_bytes(self.control)),
                "collation": facts.read_collation(self.control),
            },
        )

    def read_status(self) -> Status:
        return facts.read_status(self.control, self._views)

    def read_debt(self) -> dict[str, float]:
        return facts.read_debt(self.control)

    def cipher(self, control: Control) -> str:
        return str(control.value("SELECT cipher FROM pg_catalog.pg_stat_ssl WHERE pid = pg_backend_pid()") or "")
