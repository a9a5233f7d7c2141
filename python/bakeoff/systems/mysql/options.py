"""What a plan may say about a server of the MySQL family, beside the options of its driver."""

from __future__ import annotations

from pydantic import Field, model_validator

from bakeoff.systems.server.options import ServerOptions
from bakeoff.systems.server.replication import ReplicaStart


class MySqlOptions(ServerOptions):
    user: str = "root"
    schema_: str = Field(default="bakeoff", alias="schema", min_length=1, max_length=64)
    table_format: str | None = None  # None: whatever the server makes

    @property
    def tables_in(self) -> str:
        return self.schema_


class MariaDbStart(ReplicaStart):
    semi_sync: bool = False  # a commit is acknowledged once a replica has received it

    @model_validator(mode="after")
    def _somebody_to_wait_for(self) -> MariaDbStart:
        if self.semi_sync and not self.replicas:
            raise ValueError("`semi_sync` waits for a replica, and there is none: set replicas = 1 or more")
        return self


class MariaDbOptions(MySqlOptions):
    start: MariaDbStart | None = None
