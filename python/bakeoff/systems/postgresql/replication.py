"""PostgreSQL's replicas: standbys that stream the primary's log, each from a slot of its own, and answer reads.

A standby begins as a copy of the primary's data, made while that is stopped (not every build has pg_basebackup). A
position is one of the log, in bytes. Our own connections to a primary wait for no replica, so that it can be started
before they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import ClassVar

from bakeoff.errors import ServerError
from bakeoff.provision.files import copy_tree, remove_tree, write_private
from bakeoff.provision.instance import InstanceFolder
from bakeoff.provision.process import wait_until
from bakeoff.provision.server import ServerSpec
from bakeoff.systems.postgresql.control import Control, literal, quoted
from bakeoff.systems.postgresql.process import PostgreSqlProcess
from bakeoff.systems.server.control import Control as ServerControl
from bakeoff.systems.server.process import DatabaseServer
from bakeoff.systems.server.replication import PRIMARY, Contents, Replication

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


def _name(control: ServerControl, table: str) -> str:
    found = "SELECT oid::regclass::text FROM pg_class WHERE relname = $1 AND relkind IN ('r', 'p')"
    return str(control.value(found, table))


def _summed(control: ServerControl, rows_of: str) -> str:
    hashed = "COALESCE(sum(hashtextextended(one::text, 0)::numeric), 0)::text"
    rows, checksum = control.rows(f"SELECT count(*), {hashed} FROM {rows_of} one")[0]
    return f"{rows} rows, checksum {checksum}"


_USER = "replication"
_TIMEOUT_S = 30.0
#: What a commit waits for at a replica, by the primary's synchronous_commit.
_WAITS = {
    "remote_write": "has written it",
    "on": "has it on disk",
    "remote_apply": "has applied it",
}


_COPY = "bakeoff sets each replica's primary and slot"
#: Settings of a plan with which there would be no replication: why.
_BREAKING = {
    **dict.fromkeys(("primary_conninfo", "primary_slot_name", "restore_command", "standby_mode"), _COPY),
    "hot_standby": "bakeoff sets it: replicas answer reads",
}


def settings_of(node: str, waited_for: Sequence[str]) -> dict[str, str]:
    """Of a member of that name; a plan may set those otherwise that break nothing. waited_for: replicas one of which
    a commit is to wait for."""
    if node != PRIMARY:
        return {"wal_retrieve_retry_interval": "100ms"}  # a primary that was started again is found at once
    return {"synchronous_standby_names": f"ANY 1 ({', '.join(waited_for)})"} if waited_for else {}


class PostgreSqlPrimary(PostgreSqlProcess):
    def make_control(self, timeout_s: float = 5.0) -> Control:
        """As the server has it set, of which it is asked."""
        return super().control_of(self.spec.schema, timeout_s)

    def control_of(self, database: str, timeout_s: float = 5.0) -> Control:
        login = super().control_of(database).login
        session = {"synchronous_commit": "local"}
        return Control(login, database, where=self.where, timeout_s=timeout_s, session=session)

    def who_may_log_in(self) -> str:
        return f"{super().who_may_log_in()}host replication {_USER} 127.0.0.1/32 scram-sha-256\n"


class PostgreSqlReplica(PostgreSqlProcess):
    def __init__(
        self, spec: ServerSpec, folder: InstanceFolder, *, where: str, primary: Callable[[], DatabaseServer]
    ) -> None:
        super().__init__(spec, folder, where=where)
        self._primary = primary

    @property
    def name(self) -> str:
        """Of its node, and of its slot."""
        return self.folder.path.name

    def make_data(self) -> None:
        primary = self._primary()
        primary.end()
        copy_tree(primary.data, self.data, where=self.where)
        for slot in (self.data / "pg_replslot").iterdir():
            remove_tree(slot)  # of other replicas: nobody would read from it here
        write_private(self.data / "standby.signal", "", for_server=True)
        primary.start()

    def make_accounts(self) -> None:
        """They come with the log."""

    def before_snapshot(self) -> None:
        """As with the accounts."""


class PostgreSqlReplication(Replication):
    unit: ClassVar[str] = "bytes"
    contents = PostgreSqlContents()

    def breaking(self, settings: Mapping[str, str], replicas: int) -> Mapping[str, str]:
        found = {name: why for name, why in _BREAKING.items() if name in settings}
        if settings.get("wal_level", "").lower() == "minimal":
            found["wal_level"] = "the log level minimal records too little for a replica"
        for name in ("max_wal_senders", "max_replication_slots"):
            if (value := settings.get(name, "")).isdigit() and int(value) < replicas:
                found[name] = f"each of the {replicas} replicas needs one, and there would be {value}"
        return found

    def admit(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        assert isinstance(replica, PostgreSqlReplica)
        assert isinstance(primary, PostgreSqlPrimary)
        name, password = replica.name, primary.spec.passwords.replication
        with closing(primary.control_of(primary.spec.schema)) as control:
            if not control.rows("SELECT 1 FROM pg_roles WHERE rolname = $1", _USER):
                control.rows(f"CREATE ROLE {_USER} LOGIN REPLICATION")
            control.rows(f"ALTER ROLE {_USER} PASSWORD {literal(password)}")
            if not control.rows("SELECT 1 FROM pg_replication_slots WHERE slot_name = $1", name):
                control.rows("SELECT pg_create_physical_replication_slot($1, true)", name)

    def follow(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        assert isinstance(replica, PostgreSqlReplica)
        name, password = replica.name, primary.spec.passwords.replication
        passwords = replica.folder.path / "passwords"
        write_private(passwords, f"127.0.0.1:*:*:{_USER}:{password}\n", for_server=True)
        where = f"host=127.0.0.1 port={primary.port} user={_USER} application_name={name} passfile='{passwords}'"
        with closing(replica.make_control()) as control:
            control.rows(f"ALTER SYSTEM SET primary_conninfo = {literal(where)}")
            control.rows(f"ALTER SYSTEM SET primary_slot_name = {literal(name)}")
            control.rows("SELECT pg_reload_conf()")

    def wait_until_connected(self, replica: DatabaseServer, primary: DatabaseServer) -> None:
        assert isinstance(replica, PostgreSqlReplica)
        name = replica.name
        streaming = "SELECT 1 FROM pg_stat_replication WHERE application_name = $1 AND state = 'streaming'"
        if not wait_until(lambda: bool(primary.control.rows(streaming, name)), _TIMEOUT_S, 0.01):
            what = f"{name} does not follow its primary: it did not connect within {_TIMEOUT_S:.0f} s"
            raise ServerError(what, where=primary.where, hint="its log shows why")

    def publish(self, primary: DatabaseServer) -> None:
        """A commit that waits for the log, and so for all that was committed before it without waiting."""
        assert isinstance(primary, PostgreSqlPrimary)
        with closing(primary.control_of(primary.spec.schema)) as control:
            control.rows("SELECT pg_logical_emit_message(true, 'bakeoff', '')")

    def committed(self, primary: DatabaseServer) -> int:
        return int(primary.control.value("SELECT pg_current_wal_flush_lsn() - '0/0'::pg_lsn"))

    def applied(self, replica: DatabaseServer) -> int:
        return int(replica.control.value("SELECT pg_last_wal_replay_lsn() - '0/0'::pg_lsn"))

    def trouble(self, replica: DatabaseServer) -> str:
        return "its replay is paused" if replica.control.value("SELECT pg_is_wal_replay_paused()") else ""

    def fallen_back(self, primary: DatabaseServer) -> str:
        """PostgreSQL does not go on without a replica that it is to wait for; but its settings may have changed."""
        if not primary.control.value("SELECT current_setting('synchronous_standby_names')"):
            return ""
        waited_for = "SELECT 1 FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')"
        return "" if primary.control.rows(waited_for) else "commits do not wait for a replica"

    def facts_of_primary(self, primary: DatabaseServer) -> dict[str, str]:
        states = [str(state) for (state,) in primary.control.rows("SELECT sync_state FROM pg_stat_replication")]
        level = str(primary.control.value("SELECT current_setting('synchronous_commit')"))
        waited_for = sum(state in ("sync", "quorum") for state in states)
        waits = _WAITS.get(level, "") if waited_for else ""
        words = f"a commit waits until one of {waited_for} {waits}" if waits else "no commit waits"
        return {
            "replication": f"{'synchronous' if waits else 'asynchronous'} to {len(states)}: {words}",
            "lost_with_primary": "nothing" if waits else "commits that no replica had received",
        }

    def facts_of_replica(self, replica: DatabaseServer) -> dict[str, str]:
        slot = replica.control.value("SELECT slot_name FROM pg_stat_wal_receiver WHERE status = 'streaming'")
        return {"replication": f"streams the primary's log from the slot {slot}" if slot else "receives nothing"}
