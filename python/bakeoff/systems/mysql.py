"""MySQL and Percona Server."""

from __future__ import annotations

from typing import Any, ClassVar

from bakeoff.systems.base import Capabilities
from bakeoff.systems.mysql_existing import ExistingMySql
from bakeoff.systems.mysql_server import family_capabilities


class MySql(ExistingMySql):
    kind: ClassVar[str] = "mysql"
    summary: ClassVar[str] = "MySQL or Percona Server: an existing one by `address`"

    @classmethod
    def capabilities(cls) -> Capabilities:
        return family_capabilities(private=False)

    @classmethod
    def available(cls, options: dict[str, Any]) -> str | None:
        return None if options.get("address") else "bakeoff cannot start one: give an `address`"
