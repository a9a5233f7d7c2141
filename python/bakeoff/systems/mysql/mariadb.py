"""MariaDB: a private throwaway server, or an existing one at an address. MySQL and Percona: see mysql.py.

[systems.mariadb]
start = { version = "10.11", settings = { innodb_buffer_pool_size = "1G" } }

[systems.production_like]
kind = "mariadb"
address = "db1:3306"
user = "bench"
password = { env = "DB_PASSWORD" }
schema = "bakeoff"
"""

from __future__ import annotations

from typing import ClassVar

from bakeoff.provision.installation import Installation, Sources
from bakeoff.systems.mysql import mariadb_process
from bakeoff.systems.mysql.family import FAMILY
from bakeoff.systems.mysql.mariadb_installations import SOURCES
from bakeoff.systems.mysql.storage import MARIADB
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.started import StartedServer


class ExistingMariaDb(ExistingServer):
    kind: ClassVar[str] = "mariadb"
    driver: ClassVar[str] = FAMILY.driver
    family = FAMILY


class MariaDb(StartedServer):
    kind: ClassVar[str] = "mariadb"
    driver: ClassVar[str] = FAMILY.driver
    family = FAMILY
    summary: ClassVar[str] = "MariaDB server: a private instance, or an existing one by `address`"
    storage = MARIADB
    setting_example: ClassVar[str] = 'innodb_buffer_pool_size = "1G"'
    existing: ClassVar[type[ExistingServer]] = ExistingMariaDb

    @classmethod
    def sources(cls) -> Sources:
        return SOURCES

    @classmethod
    def process_of(cls, installation: Installation, where: str) -> type[DatabaseServer]:
        return mariadb_process.process_of(installation.version, where)
