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
from bakeoff.systems.mysql.existing import ExistingMySql
from bakeoff.systems.mysql.mariadb_installations import SOURCES
from bakeoff.systems.mysql.mariadb_process import MariaDbProcess
from bakeoff.systems.mysql.process import MySqlProcess
from bakeoff.systems.mysql.started import StartedMySql


class ExistingMariaDb(ExistingMySql):
    kind: ClassVar[str] = "mariadb"


class MariaDb(StartedMySql):
    kind: ClassVar[str] = "mariadb"
    summary: ClassVar[str] = "MariaDB server: a private instance, or an existing one by `address`"
    existing: ClassVar[type[ExistingMySql]] = ExistingMariaDb

    @classmethod
    def sources(cls) -> Sources:
        return SOURCES

    @classmethod
    def process_of(cls, installation: Installation, where: str) -> type[MySqlProcess]:
        return MariaDbProcess
