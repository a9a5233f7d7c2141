"""MariaDB's replicas: they follow the primary's binary log by global transaction ids.

Each member is made by itself and has its accounts already (process.py keeps them out of the log), so a replica applies
what has been committed since, from the first event on. A position counts transactions: the numbers of a list of global
transaction ids, one for each domain, together.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from glob import escape
from typing import ClassVar

from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.files import allocated_bytes
from bakeoff.provision.installation import version_key
from bakeoff.systems.mysql.node import quoted
from bakeoff.systems.server.control import Control
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import PRIMARY, Contents, Replication

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


_USER = "replication"
_TIMEOUT_S = 30.0
#: Numbers of errors with which a replica's connection fails and is tried again: the client library's own.
_RETRIED = range(2000, 3000)
#: Columns of SHOW SLAVE STATUS: newer ones stand behind these.
_IO_RUNNING, _SQL_RUNNING, _IO_ERROR_NUMBER, _IO_ERROR, _SQL_ERROR = 10, 11, 34, 35, 37
#: A primary that its replicas do not answer waits for them, and does not go on without: an hour.
_WAIT_MS = 3_600_000
#: From this version on semi-synchronous replication is part of the server.
_SEMI_SYNC_WITHIN = (10, 3, 3)


_LOG = "replicas follow the primary's binary log, which bakeoff turns on"
_START = "bakeoff sets each replica's primary"
_PART = "with a part of the log left out, replicas differ from their primary"
_SEMI_SYNC = "write semi_sync = true in `start`, which makes commits wait for a replica"
#: Settings of a plan with which there would be no replication, or another one: why.
_BREAKING = {
    "server_id": "bakeoff gives every member its own number, which identifies its changes",
    **dict.fromkeys(("log_bin", "skip_log_bin", "disable_log_bin"), _LOG),
    **dict.fromkeys(("skip_slave_start", "skip_replica_start"), _START),
    "read_only": "bakeoff sets it: the primary accepts writes and its replicas do not",
    **dict.fromkeys(("rpl_semi_sync_master_enabled", "rpl_semi_sync_slave_enabled"), _SEMI_SYNC),
    **dict.fromkeys(
        (
            "binlog_do_db", "binlog_ignore_db", "replicate_do_db", "replicate_do_table", "replicate_ignore_db",
            "replicate_ignore_table", "replicate_rewrite_db", "replicate_wild_do_table", "replicate_wild_ignore_table",
        ),
        _PART,
    ),
}  # fmt: skip


def settings_of(node: str, number: int, version: str, *, semi_sync: bool, where: str) -> dict[str, str]:
    """Of a member of that name, the `number`th from 1; a plan may set those otherwise that break nothing. Replicas
    write what they apply to a log of their own, so that each could take the primary's place. Raises PlanError."""
    settings = {
        "server_id": str(number),
        "log_bin": "binlog",
        "binlog_format": "ROW",
        "relay_log": "relay",
        "log_slave_updates": "ON",
        "gtid_strict_mode": "ON",
        "skip_slave_start": "ON",  # its primary's address is set first
        "read_only": "OFF" if node == PRIMARY else "ON",
    }
    if not semi_sync:
        return settings
    if version_key(version) < _SEMI_SYNC_WITHIN:
        raise PlanError(
            f"semi_sync needs MariaDB 10.3.3 or later, and this is {version}: in older ones it is a plugin, which"
            " downloadable builds lack",
            where=where,
            hint="leave out `semi_sync`, or use a later version",
        )
    if node == PRIMARY:
        return {**settings, "rpl_semi_sync_master_enabled": "ON", "rpl_semi_sync_master_timeout": str(_WAIT_MS)}
    return {**settings, "rpl_semi_sync_slave_enabled": "ON"}


class MariaDbReplication(Replication):
    unit: ClassVar[str] = "transactions"
    contents = MySqlContents()

    def breaking(self, settings: Mapping[str, str], replicas: int) -> Mapping[str, str]:
        return {name: why for name, why in _BREAKING.items() if name in settings}

    def admit(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        password = primary.spec.passwords.replication
        with closing(primary.make_control(_TIMEOUT_S)) as control:
            control.rows("SET sql_log_bin = 0")
            control.rows(f"CREATE OR REPLACE USER '{_USER}'@'127.0.0.1' IDENTIFIED BY '{password}'")
            control.rows(f"GRANT REPLICATION SLAVE ON *.* TO '{_USER}'@'127.0.0.1'")

    def follow(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        password = primary.spec.passwords.replication
        with closing(replica.make_control(_TIMEOUT_S)) as control:
            control.rows("STOP SLAVE")
            control.rows(
                f"CHANGE MASTER TO master_host = '127.0.0.1', master_port = {primary.port}, master_user = '{_USER}',"
                f" master_password = '{password}', master_use_gtid = slave_pos, master_connect_retry = 1,"
                " master_ssl = 0"  # over loopback; from 11.4 on it would be asked for
            )
            control.rows("START SLAVE")

    def wait_until_connected(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        deadline = time.monotonic() + _TIMEOUT_S
        while (status := self._status(replica))[_IO_RUNNING] != "Yes":
            given_up = status[_IO_ERROR] and int(status[_IO_ERROR_NUMBER]) not in _RETRIED
            if given_up or time.monotonic() > deadline:
                said = status[_IO_ERROR] or f"it did not connect within {_TIMEOUT_S:.0f} s"
                raise ServerError(f"the replica does not follow its primary: {said}", where=replica.where)
            time.sleep(0.01)

    def forget(self, server: DatabaseServer) -> None:
        for statement in ("STOP SLAVE", "RESET SLAVE", "RESET MASTER", "SET GLOBAL gtid_slave_pos = ''"):
            server.control.rows(statement)

    def committed(self, primary: DatabaseServer) -> int:
        return transactions(str(primary.control.value("SELECT @@GLOBAL.gtid_binlog_pos")))

    def applied(self, replica: DatabaseServer) -> int:
        return transactions(str(replica.control.value("SELECT @@GLOBAL.gtid_slave_pos")))

    def trouble(self, replica: DatabaseServer) -> str:
        status = self._status(replica)
        if status[_SQL_RUNNING] == "Yes":
            return ""
        return status[_SQL_ERROR] or "its applier has been stopped"

    def fallen_back(self, primary: DatabaseServer) -> str:
        semi_sync = self._semi_sync(primary)
        if not semi_sync:
            return ""
        if semi_sync["status"] != "ON":
            return "commits no longer wait for a replica"
        alone = int(semi_sync["no_tx"])
        return f"{alone} of {alone + int(semi_sync['yes_tx'])} commits did not wait for a replica" if alone else ""

    def facts_of_primary(self, primary: DatabaseServer) -> dict[str, str]:
        connected = primary.control.value(
            "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'"
        )
        semi_sync = self._semi_sync(primary)
        on = semi_sync.get("status") == "ON"
        waits = f"a commit waits until one of {semi_sync['clients']} has received it" if on else "no commit waits"
        return {
            "replication": f"{'semi-synchronous' if on else 'asynchronous'} to {connected}: {waits}",
            "lost_with_primary": "nothing" if on else "commits that no replica had received",
        }

    def facts_of_replica(self, replica: DatabaseServer) -> dict[str, str]:
        threads = int(replica.control.value("SELECT @@GLOBAL.slave_parallel_threads"))
        return {"replication": f"applies by GTID with {f'{threads} parallel threads' if threads else 'one thread'}"}

    def _semi_sync(self, primary: DatabaseServer) -> Mapping[str, str]:
        """What it says of it, where it was asked for."""
        asked = primary.control.rows("SHOW GLOBAL VARIABLES LIKE 'rpl_semi_sync_master_enabled'")
        if not asked or asked[0][1] != "ON":
            return {}
        prefix = "Rpl_semi_sync_master_"
        rows = primary.control.rows(f"SHOW GLOBAL STATUS LIKE '{prefix}%'")
        return {str(name).removeprefix(prefix): str(value) for name, value in rows}

    def _status(self, replica: DatabaseServer) -> list[str]:
        return [str(value) for value in replica.control.rows("SHOW SLAVE STATUS")[0]]


def transactions(position: str) -> int:
    """Of a list of global transaction ids: `0-1-120,1-1-3` is 123."""
    return sum(int(one.rpartition("-")[2]) for one in position.split(",") if one)
