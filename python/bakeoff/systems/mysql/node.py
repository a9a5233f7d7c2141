"""One server of the MySQL family, asked what it does."""

from __future__ import annotations

from functools import cached_property

from bakeoff.systems.base import Facts
from bakeoff.systems.durability import of_innodb
from bakeoff.systems.mysql import facts
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.node import ServerNode, Status


class MySqlNode(ServerNode):
    @cached_property
    def _product(self) -> facts.Product:
        return facts.read_product(self.control)

    @cached_property
    def _page_size_bytes(self) -> int:
        return facts.read_page_size(self.control)

    def read_facts(self) -> Facts:
        product = self._product
        variables = facts.read_variables(self.control)
        return Facts(
            product=product.name,
            version=product.version,
            settings=facts.read_settings(self.control, product, variables, private=self.access.private),
            portable={
                **of_innodb(variables).facts(),
                "isolation": facts.isolation_of(variables),
                "memory_bytes": variables.get("innodb_buffer_pool_size", "unknown"),
            },
        )

    def read_status(self) -> Status:
        return facts.read_status(self.control)

    def read_debt(self) -> dict[str, float]:
        return facts.read_debt(self.control, facts.read_status(self.control), self._page_size_bytes)

    def cipher(self, control: Control) -> str:
        rows = control.rows("SHOW SESSION STATUS LIKE 'Ssl_cipher'")
        return str(rows[0][1]) if rows else ""
