"""PostgreSQL: a private throwaway server of any major from 13 to 18, or an existing one at an address.

[systems.postgresql]
start = { version = "17", settings = { shared_buffers = "1GB" } }

[systems.replicated]
kind = "postgresql"
start = { replicas = 2, synchronous = true }    # nodes primary, replica1 and replica2

[systems.production_like]
kind = "postgresql"
address = "db1:5432"            # or "/run/postgresql/.s.PGSQL.5432"
user = "bench"
password = { env = "DB_PASSWORD" }
database = "bakeoff"
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from bakeoff.provision.installation import Installation, Sources
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.postgresql.family import FAMILY
from bakeoff.systems.postgresql.installations import SOURCES
from bakeoff.systems.postgresql.options import PostgreSqlStart
from bakeoff.systems.postgresql.process import PostgreSqlProcess
from bakeoff.systems.postgresql.replication import (
    PostgreSqlPrimary,
    PostgreSqlReplica,
    PostgreSqlReplication,
    settings_of,
)
from bakeoff.systems.postgresql.storage import STORAGE
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import PRIMARY, Replicated


class ExistingPostgreSql(ExistingServer):
    kind: ClassVar[str] = "postgresql"
    driver: ClassVar[str] = FAMILY.driver
    family = FAMILY


class PostgreSql(Replicated):
    kind: ClassVar[str] = "postgresql"
    driver: ClassVar[str] = FAMILY.driver
    summary: ClassVar[str] = "PostgreSQL server: a private instance, or an existing one by `address`"
    storage = STORAGE
    setting_example: ClassVar[str] = 'shared_buffers = "1GB"'
    family = FAMILY
    existing: ClassVar[type[ExistingServer]] = ExistingPostgreSql
    replication = PostgreSqlReplication()
    _start: PostgreSqlStart

    @classmethod
    def sources(cls) -> Sources:
        return SOURCES

    @classmethod
    def process_of(cls, installation: Installation, where: str) -> type[DatabaseServer]:
        return PostgreSqlProcess

    def make_server(self, name: str, spec: ServerSpec, folder: InstanceFolder) -> DatabaseServer:
        if not self._start.replicas:
            return super().make_server(name, spec, folder)
        waited_for = [replica for replica in self.roles() if replica != PRIMARY] if self._start.synchronous else []
        spec = replace(spec, settings={**settings_of(name, waited_for), **spec.settings})
        if name == PRIMARY:
            return PostgreSqlPrimary(spec, folder, where=self._where)
        return PostgreSqlReplica(spec, folder, where=self._where, primary=lambda: self.server)
