"""PostgreSQL. It counts transactions, not statements, and publishes the counts once a second.

A connection adds its counts to the server's statistics at the end of a transaction, once a second. All of a client's
connections were opened at about the same moment, so between two samples that are whole seconds apart each has published
the same number of seconds: both samples miss the same part. Numbers of transactions that write come from a counter,
which is exact at any moment.
"""

from __future__ import annotations

from typing import ClassVar, cast

from bakeoff.systems.postgresql.process import PostgreSqlProcess
from bakeoff.systems.postgresql.system import SOURCES, PostgreSql

from ..rows import Counting, Work
from ..server import LOOK_TIMEOUT_S, SCHEMA, Server

_COMMITTED = Counting(1, "committed")
_NUMBERED = Counting(1, "numbered")
_COUNTERS = {
    "committed": f"SELECT xact_commit FROM pg_stat_database WHERE datname = '{SCHEMA}'",
    "numbered": "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint",
}


class PostgreSqlServer(Server):
    kind = "postgresql"
    product = "PostgreSQL"
    sources = SOURCES
    system_class = PostgreSql
    #: What it would do by itself at some time or other, `settle` does between the runs.
    settings: ClassVar = {
        "shared_buffers": "512MB",
        "max_wal_size": "2GB",
        "checkpoint_timeout": "1h",
        "autovacuum": "off",
    }
    durability = "none"

    def __init__(self, system: PostgreSql) -> None:
        super().__init__(system)
        # Of another database, where they are not counted.
        self._process = cast(PostgreSqlProcess, system.server)
        self._looks = self._process.control_of("postgres", LOOK_TIMEOUT_S)

    def close(self) -> None:
        self._looks.close()

    def version(self) -> str:
        return str(self.system.control.value("SHOW server_version"))

    def counting(self, work: Work) -> Counting:
        return _NUMBERED if work.writes else _COMMITTED

    def count(self, counter: str) -> int:
        return int(self._looks.value(_COUNTERS[counter]))

    def settle(self) -> None:
        control = self._process.control_of(SCHEMA, LOOK_TIMEOUT_S)
        try:
            control.rows("VACUUM (ANALYZE)")
            control.rows("CHECKPOINT")
        finally:
            control.close()

    def remove_tables(self) -> None:
        for (name,) in self.system.control.rows("SELECT tablename FROM pg_tables WHERE tablename LIKE 'sbtest%'"):
            self.system.control.rows(f"DROP TABLE {name}")
