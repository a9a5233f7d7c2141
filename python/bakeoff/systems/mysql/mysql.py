"""MySQL and Percona Server: a private throwaway server by version, or an existing one at an address.

[systems.mysql]
start = { version = "9.7" }             # or "5.5"

[systems.ours]
kind = "mysql"
address = "db1:3306"
user = "bench"
password = { env = "DB_PASSWORD" }
"""

from __future__ import annotations

from typing import ClassVar

from bakeoff.provision.installation import Installation, Sources
from bakeoff.systems.mysql import versions
from bakeoff.systems.mysql.existing import ExistingMySql
from bakeoff.systems.mysql.installations import SOURCES
from bakeoff.systems.mysql.process import MySqlProcess
from bakeoff.systems.mysql.started import StartedMySql


class ExistingMySqlOrPercona(ExistingMySql):
    kind: ClassVar[str] = "mysql"


class MySql(StartedMySql):
    kind: ClassVar[str] = "mysql"
    summary: ClassVar[str] = (
        "MySQL: a private instance by version, or an existing one (Percona Server, too) by `address`"
    )
    existing: ClassVar[type[ExistingMySql]] = ExistingMySqlOrPercona

    @classmethod
    def sources(cls) -> Sources:
        return SOURCES

    @classmethod
    def process_of(cls, installation: Installation, where: str) -> type[MySqlProcess]:
        return versions.process_of(installation.version, where)
