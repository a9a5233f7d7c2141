"""What a plan may say about a PostgreSQL, beside the options of its driver."""

from __future__ import annotations

from pydantic import Field

from bakeoff.systems.server.options import ServerOptions


class PostgreSqlOptions(ServerOptions):
    user: str = "postgres"
    database: str = Field(default="bakeoff", min_length=1, max_length=63)

    @property
    def tables_in(self) -> str:
        return self.database
