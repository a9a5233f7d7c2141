"""Which tables of an existing keyspace are ours. A table's mark is its id, which the cluster makes of the time.

Cassandra has no lock that ends with a connection. In its place stands a row that ends by itself: whoever works here
renews it before that, and a bakeoff that was killed leaves it for half a minute at most.
"""

from __future__ import annotations

import os
import socket
import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress

from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.cassandra.control import QUORUM, Control, quoted
from bakeoff.systems.cassandra.node import read_copies
from bakeoff.systems.ledger import TABLE
from bakeoff.systems.server.control import Connection, Login
from bakeoff.systems.server.ledger import SqlLedger

_CLAIM = "bakeoff_claim"
_LEASE_S = 30
_RENEWED_EVERY_S = 10.0


class _Lease(Control):
    """A connection with the claim, for as long as it is open."""

    def __init__(self, login: Login, keyspace: str, *, where: str, timeout_s: float) -> None:
        super().__init__(login, keyspace, where=where, timeout_s=timeout_s, consistency=QUORUM, on_open=self._take)
        self._table = f"{quoted(keyspace)}.{quoted(_CLAIM)}"
        self._holder = f"pid {os.getpid()} on {socket.gethostname()}, {uuid.uuid4()}"
        self._dropped = False  # the table is gone: a statement about it would lose the connection, and the next make it
        self._closed = threading.Event()
        self._renewing = threading.Thread(target=self._renew, name="claim of a keyspace", daemon=True)

    def _take(self, connection: Connection) -> None:
        connection.rows(f"CREATE TABLE IF NOT EXISTS {self._table} (id text PRIMARY KEY, holder text)", ())
        insert = f"INSERT INTO {self._table} (id, holder) VALUES ('claim', ?) IF NOT EXISTS USING TTL {_LEASE_S}"
        ((applied, *there),) = connection.rows(insert, (self._holder,))
        if not applied and self._holder not in there:
            raise ServerError(
                f"another bakeoff run ({there[-1]}) is using the keyspace {self.keyspace!r} on {self.login.address}",
                where=self._where,
                hint="wait until it ends (half a minute if it was killed), or name another `keyspace`",
            )
        self._dropped = False
        if not self._renewing.is_alive():
            self._renewing.start()

    def _renew(self) -> None:
        update = f"UPDATE {self._table} USING TTL {_LEASE_S} SET holder = ? WHERE id = 'claim' IF holder = ?"
        while not self._closed.wait(_RENEWED_EVERY_S):
            self._try(update, self._holder, self._holder)

    def _try(self, statement: str, *parameters: str) -> None:
        """The claim ends by itself where it fails."""
        if not self._dropped:
            with suppress(ServerError):
                self.rows(statement, *parameters)

    def drop_table(self) -> None:
        self._dropped = True
        self.rows(f"DROP TABLE IF EXISTS {self._table}")

    def close(self) -> None:
        self._closed.set()
        self._try(f"DELETE FROM {self._table} WHERE id = 'claim' IF holder = ?", self._holder)
        super().close()


class CassandraLedger(SqlLedger):
    place = "keyspace"
    mark = "number"
    columns = "(name text PRIMARY KEY, dataset text, bundle text, state text, number varint)"

    def __init__(self, login: Login, keyspace: str, copies: int | None, where: str) -> None:
        super().__init__(where, str(login.address), keyspace)
        self._login = login
        self._keyspace = keyspace
        self._copies = copies

    def _control(self, timeout_s: float, on_open: Callable[[Connection], None] | None = None) -> Control:
        if on_open is None:
            return Control(self._login, self._keyspace, where=self._where, timeout_s=timeout_s, consistency=QUORUM)
        return _Lease(self._login, self._keyspace, where=self._where, timeout_s=timeout_s)

    def _take_lock(self, connection: Connection) -> None:
        """A lease takes it itself."""

    def absent_place(self) -> str:
        return "" if read_copies(self._looking, self._keyspace) else f"keyspace `{self._keyspace}`"

    def make_place(self) -> None:
        if not self.absent_place():
            return
        if self._copies is None:
            raise PlanError(
                f"there is no keyspace `{self._keyspace}` on {self._login.address}",
                where=self._where,
                hint="create it there, or set the number of copies of each row: replication_factor = 3",
            )
        self._looking.rows(create_keyspace(self._keyspace, self._copies))

    def drop(self, tables: Sequence[str]) -> None:
        super().drop(tables)
        if TABLE in self._marks():
            return
        if isinstance(self._connection, _Lease):
            self._connection.drop_table()
        else:
            self._rows(f"DROP TABLE IF EXISTS {self._quoted(_CLAIM)}")

    def _drop_statement(self, names: Sequence[str]) -> str:
        """There is none for several."""
        return "; ".join(f"DROP TABLE {self._quoted(name)}" for name in names)

    def _remove_tables(self, names: Sequence[str]) -> None:
        for name in names:
            self._rows(self._drop_statement([name]))

    def _marks(self) -> dict[str, int | None]:
        of_keyspace = "FROM system_schema.{} WHERE keyspace_name = ?"
        tables = self._rows(f"SELECT table_name, id {of_keyspace.format('tables')}", self._keyspace)
        views = self._rows(f"SELECT view_name {of_keyspace.format('views')}", self._keyspace)
        return {**{str(name): number.int for name, number in tables}, **{str(name): None for (name,) in views}}

    def _mark_before(self) -> int:
        now: uuid.UUID = self._rows("SELECT now() FROM system.local")[0][0]
        return now.int

    def _is_younger(self, mark: int, before: int) -> bool:
        return uuid.UUID(int=mark).time > uuid.UUID(int=before).time

    def _stored(self, name: str) -> str:
        """The engine quotes no name."""
        return name.lower()

    def _quoted(self, stored: str) -> str:
        return f"{quoted(self._keyspace)}.{quoted(stored)}"

    def _parameter(self, number: int) -> str:
        return "?"


def create_keyspace(keyspace: str, copies: int) -> str:
    replication = f"{{'class': 'NetworkTopologyStrategy', 'replication_factor': {copies}}}"
    return f"CREATE KEYSPACE IF NOT EXISTS {quoted(keyspace)} WITH replication = {replication}"
