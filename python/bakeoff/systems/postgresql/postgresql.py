"""PostgreSQL: a private throwaway server of any major from 13 to 18, or an existing one at an address.

[systems.postgresql]
start = { version = "17", settings = { shared_buffers = "1GB" } }

[systems.production_like]
kind = "postgresql"
address = "db1:5432"            # or "/run/postgresql/.s.PGSQL.5432"
user = "bench"
password = { env = "DB_PASSWORD" }
database = "bakeoff"
"""

from __future__ import annotations

from typing import ClassVar

from bakeoff.provision.installation import Installation, Sources
from bakeoff.systems.postgresql.family import FAMILY
from bakeoff.systems.postgresql.installations import SOURCES
from bakeoff.systems.postgresql.process import PostgreSqlProcess
from bakeoff.systems.postgresql.storage import STORAGE
from bakeoff.systems.server.existing import ExistingServer
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.started import StartedServer


class ExistingPostgreSql(ExistingServer):
    kind: ClassVar[str] = "postgresql"
    driver: ClassVar[str] = FAMILY.driver
    family = FAMILY


class PostgreSql(StartedServer):
    kind: ClassVar[str] = "postgresql"
    driver: ClassVar[str] = FAMILY.driver
    summary: ClassVar[str] = "PostgreSQL server: a private instance, or an existing one by `address`"
    storage = STORAGE
    setting_example: ClassVar[str] = 'shared_buffers = "1GB"'
    family = FAMILY
    existing: ClassVar[type[ExistingServer]] = ExistingPostgreSql

    @classmethod
    def sources(cls) -> Sources:
        return SOURCES

    @classmethod
    def process_of(cls, installation: Installation, where: str) -> type[DatabaseServer]:
        return PostgreSqlProcess
