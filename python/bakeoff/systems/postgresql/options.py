"""What a plan may say about a PostgreSQL, beside the options of its driver."""

from __future__ import annotations

from pydantic import Field, model_validator

from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.replication import ReplicaStart


class PostgreSqlStart(ReplicaStart):
    synchronous: bool = False  # a commit is acknowledged once a replica has it, too

    @model_validator(mode="after")
    def _somebody_to_wait_for(self) -> PostgreSqlStart:
        if self.synchronous and not self.replicas:
            raise ValueError("`synchronous` waits for a replica, and there is none: set replicas = 1 or more")
        return self


class PostgreSqlOptions(ServerOptions):
    start: PostgreSqlStart | None = None
    user: str = "postgres"
    database: str = Field(default="bakeoff", min_length=1, max_length=63)

    @property
    def tables_in(self) -> str:
        return self.database
