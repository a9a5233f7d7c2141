"""What is in the tables of a server of the MySQL family, in words that can be compared."""

from __future__ import annotations

from contextlib import closing
from glob import escape

from bakeoff.provision.files import allocated_bytes
from bakeoff.systems.mysql.facts import quoted
from bakeoff.systems.server.contents import Contents
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.process import DatabaseServer

#: A scan of a table, to say what is in it.
_SCAN_TIMEOUT_S = 3600.0


class MySqlContents(Contents):
    def size_bytes(self, server: DatabaseServer, table: str) -> int:
        """Its files, of which InnoDB's own estimate knows nothing for some seconds; RocksDB's say whose rows they hold
        to nobody."""
        asked = "SELECT DATA_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
        told = int(server.control.value(asked, server.spec.schema, table) or 0)
        folder = server.data / server.spec.schema
        files = [path for pattern in (f"{escape(table)}.*", f"{escape(table)}#*") for path in folder.glob(pattern)]
        return max(told, sum(map(allocated_bytes, files)))

    def whole(self, server: DatabaseServer, table: str) -> str:
        with closing(server.make_control(_SCAN_TIMEOUT_S)) as control:
            name = _name(server, table)
            checksum = control.rows(f"CHECKSUM TABLE {name}")[0][1]
            return f"{control.value(f'SELECT COUNT(*) FROM {name}')} rows, checksum {checksum}"

    def ends(self, server: DatabaseServer, table: str, rows: int) -> str:
        with closing(server.make_control(_SCAN_TIMEOUT_S)) as control:
            key = _columns(control, server, table, "STATISTICS", "INDEX_NAME = 'PRIMARY'", "SEQ_IN_INDEX")
            if not key:
                return ""
            columns = _columns(control, server, table, "COLUMNS", "TRUE", "ORDINAL_POSITION")
            row = ", ".join(f"ISNULL({column}), IFNULL({column}, '')" for column in columns)
            name = _name(server, table)
            first, last = (
                f"(SELECT * FROM {name} ORDER BY {', '.join(f'{column} {way}' for column in key)} LIMIT {rows})"
                for way in ("ASC", "DESC")
            )
            count, checksum = control.rows(
                f"SELECT COUNT(*), COALESCE(SUM(CRC32(CONCAT_WS('#', {row}))), 0) FROM ({first} UNION ALL {last}) ends"
            )[0]
            return f"{count} rows, checksum {checksum}"


def _name(server: DatabaseServer, table: str) -> str:
    return f"{quoted(server.spec.schema)}.{quoted(table)}"


def _columns(control: Control, server: DatabaseServer, table: str, told_by: str, which: str, order: str) -> list[str]:
    found = control.rows(
        f"SELECT COLUMN_NAME FROM information_schema.{told_by}"
        f" WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND {which} ORDER BY {order}",
        server.spec.schema,
        table,
    )
    return [quoted(str(name)) for (name,) in found]
