"""MariaDB: a private throwaway server, or an existing one at an address. MySQL and Percona: see mysql.py.

[systems.mariadb]
start = { version = "10.11", settings = { innodb_buffer_pool_size = "1G" } }

[systems.replicated]
kind = "mariadb"
start = { replicas = 2, semi_sync = true }      # nodes primary, replica1 and replica2

[systems.production_like]
kind = "mariadb"
address = "db1:3306"
user = "bench"
password = { env = "DB_PASSWORD" }
schema = "bakeoff"
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from bakeoff.provision.installation import Installation, Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.mysql import mariadb_process
from bakeoff.systems.mysql.family import MARIADB as FAMILY
from bakeoff.systems.mysql.mariadb_installations import SOURCES
from bakeoff.systems.mysql.options import MariaDbStart
from bakeoff.systems.mysql.replication import MariaDbReplication, settings_of
from bakeoff.systems.mysql.storage import MARIADB as STORAGE
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import Replicated


class ExistingMariaDb(ExistingServer):
    kind: ClassVar[str] = "mariadb"
    driver: ClassVar[str] = FAMILY.driver
    family = FAMILY


class MariaDb(Replicated):
    kind: ClassVar[str] = "mariadb"
    driver: ClassVar[str] = FAMILY.driver
    family = FAMILY
    summary: ClassVar[str] = "MariaDB server: a private instance, or an existing one by `address`"
    storage = STORAGE
    has_table_formats = True
    setting_example: ClassVar[str] = 'innodb_buffer_pool_size = "1G"'
    existing: ClassVar[type[ExistingServer]] = ExistingMariaDb
    replication = MariaDbReplication()
    _start: MariaDbStart

    @classmethod
    def sources(cls) -> Sources:
        return SOURCES

    @classmethod
    def process_of(cls, installation: Installation, where: str) -> type[DatabaseServer]:
        return mariadb_process.process_of(installation.version, where)

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        if self._start.replicas:
            number = [*self.roles()].index(name) + 1
            version, semi_sync = spec.installation.version, self._start.semi_sync
            ours = settings_of(name, number, version, semi_sync=semi_sync, where=f"{self._where}.start.semi_sync")
            spec = replace(spec, settings={**ours, **spec.settings})
        return super().make_server(name, spec, folder)
