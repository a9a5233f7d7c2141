"""What is in the tables of a PostgreSQL server, in words that can be compared."""

from __future__ import annotations

from contextlib import closing

from bakeoff.systems.postgresql.control import quoted
from bakeoff.systems.server.contents import Contents
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.process import DatabaseServer

#: A scan of a table, to say what is in it.
_SCAN_TIMEOUT_S = 3600.0


class PostgreSqlContents(Contents):
    def size_bytes(self, server: DatabaseServer, table: str) -> int:
        """A partitioned table has nothing itself, and one that is not is in no tree."""
        name = _name(server.control, table)
        own = server.control.value("SELECT pg_table_size($1::text::regclass)", name)
        parts = "SELECT COALESCE(sum(pg_table_size(relid)), 0)::bigint FROM pg_partition_tree($1::text::regclass)"
        return int(own) + int(server.control.value(parts, name))

    def whole(self, server: DatabaseServer, table: str) -> str:
        with closing(server.make_control(_SCAN_TIMEOUT_S)) as control:
            return _summed(control, _name(control, table))

    def ends(self, server: DatabaseServer, table: str, rows: int) -> str:
        with closing(server.make_control(_SCAN_TIMEOUT_S)) as control:
            name = _name(control, table)
            key = [
                quoted(str(column))
                for (column,) in control.rows(
                    "SELECT attname FROM pg_index JOIN pg_attribute ON attrelid = indrelid AND attnum = ANY(indkey)"
                    " WHERE indrelid = $1::text::regclass AND indisprimary"
                    " ORDER BY array_position(indkey::int2[], attnum)",
                    name,
                )
            ]
            if not key:
                return ""
            first, last = (
                f"(SELECT * FROM {name} ORDER BY {', '.join(f'{column} {way}' for column in key)} LIMIT {rows})"
                for way in ("ASC", "DESC")
            )
            return _summed(control, f"({first} UNION ALL {last})")


def _name(control: Control, table: str) -> str:
    found = "SELECT oid::regclass::text FROM pg_class WHERE relname = $1 AND relkind IN ('r', 'p')"
    return str(control.value(found, table))


def _summed(control: Control, rows_of: str) -> str:
    hashed = "COALESCE(sum(hashtextextended(one::text, 0)::numeric), 0)::text"
    rows, checksum = control.rows(f"SELECT count(*), {hashed} FROM {rows_of} one")[0]
    return f"{rows} rows, checksum {checksum}"
