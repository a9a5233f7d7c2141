"""What a plan may say about a server of the MySQL family, beside the options of its driver."""

from __future__ import annotations

from pydantic import Field

from bakeoff.systems.server.options import ServerOptions


class MySqlOptions(ServerOptions):
    user: str = "root"
    schema_: str = Field(default="bakeoff", alias="schema", min_length=1, max_length=64)

    @property
    def tables_in(self) -> str:
        return self.schema_
