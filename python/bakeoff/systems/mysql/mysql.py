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
from bakeoff.systems.mysql.family import FAMILY
from bakeoff.systems.mysql.installations import SOURCES
from bakeoff.systems.mysql.storage import MYSQL
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.started import StartedServer


class ExistingMySql(ExistingServer):
    kind: ClassVar[str] = "mysql"
    driver: ClassVar[str] = FAMILY.driver
    family = FAMILY


class MySql(StartedServer):
    kind: ClassVar[str] = "mysql"
    driver: ClassVar[str] = FAMILY.driver
    family = FAMILY
    summary: ClassVar[str] = (
        "MySQL: a private instance by version, or an existing one (Percona Server, too) by `address`"
    )
    storage = MYSQL
    has_table_formats = True
    setting_example: ClassVar[str] = 'innodb_buffer_pool_size = "1G"'
    existing: ClassVar[type[ExistingServer]] = ExistingMySql

    @classmethod
    def sources(cls) -> Sources:
        return SOURCES

    @classmethod
    def process_of(cls, installation: Installation, where: str) -> type[DatabaseServer]:
        return versions.process_of(installation.version, where)
