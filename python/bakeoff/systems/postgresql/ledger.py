"""Which tables of an existing database are ours. A table's mark is its number (oid).

All names are those of the schema in which a session of the load makes its tables (the first of its search_path), where
the engine gives tables names in small letters, as a tool does that quotes none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from bakeoff.errors import ServerError
from bakeoff.systems.ledger import Found
from bakeoff.systems.postgresql.control import MAINTENANCE, Control, NoDatabase, quoted
from bakeoff.systems.server.control import Connection, Login
from bakeoff.systems.server.ledger import LockHeld, SqlLedger

#: Numbers are 32 bits wide and start again when they are used up.
_HALF_OF_ALL_NUMBERS = 1 << 31


class PostgreSqlLedger(SqlLedger):
    place = "database"
    mark = "number"
    columns = """(
        name text PRIMARY KEY, dataset text NOT NULL, bundle text NOT NULL,
        state text NOT NULL,   -- loading, or loaded
        number bigint NOT NULL -- of the loaded table, or the last one given before the load began
    )"""

    def __init__(self, login: Login, database: str, session: Mapping[str, str], where: str) -> None:
        super().__init__(where, str(login.address), database, session.get("search_path", ""))
        self._login = login
        self._database = database
        self._session = session

    def _control(self, timeout_s: float, on_open: Callable[[Connection], None] | None = None) -> Control:
        return Control(
            self._login,
            self._database,
            where=self._where,
            timeout_s=timeout_s,
            session=self._session,
            on_open=on_open,
        )

    def _take_lock(self, connection: Connection) -> None:
        schema = connection.rows("SELECT current_schema()", ())[0][0]
        if schema is None:
            raise ServerError(
                f"the database {self._database!r} of {self._login.address} has no schema for tables",
                where=self._where,
                hint='create one there, or name one: session = { search_path = "..." }',
            )
        number = int.from_bytes(hashlib.sha256(f"bakeoff.{schema}".encode()).digest()[:8], signed=True)
        if not connection.rows("SELECT pg_try_advisory_lock($1::bigint)", (number,))[0][0]:
            raise LockHeld(
                f"another bakeoff run is using the schema {schema!r} of the database {self._database!r} on"
                f" {self._login.address}",
                where=self._where,
                hint="wait until it ends, or name another `database`",
            )

    def absent_place(self) -> str:
        try:
            with closing(Control(self._login, self._database, where=self._where)) as plain:
                plain.value("SELECT 1")
        except NoDatabase:
            return f"database `{self._database}`"
        return ""

    def make_place(self) -> None:
        if self.absent_place():
            with closing(Control(self._login, MAINTENANCE, where=self._where)) as maintenance:
                maintenance.rows(f"CREATE DATABASE {quoted(self._database)}")

    def there(self, tables: Sequence[str]) -> list[Found]:
        try:
            return super().there(tables)
        except NoDatabase:
            return []

    def _marks(self) -> dict[str, int | None]:
        rows = self._rows(
            "SELECT relname, CASE WHEN relkind IN ('r', 'p') THEN oid::bigint END FROM pg_class"
            " WHERE relnamespace = current_schema()::regnamespace"
        )
        return {str(name): None if number is None else int(number) for name, number in rows}

    def sizes(self, tables: Sequence[str]) -> dict[str, int]:
        rows = self._rows(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class"
            " WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p', 'm')"
        )
        sizes = {str(name): int(size) for name, size in rows}
        return {name: sizes[stored(name)] for name in tables if stored(name) in sizes}

    def _mark_before(self) -> int:
        """The number of a table made and taken back."""
        self._rows("BEGIN")
        try:
            self._rows("CREATE TABLE bakeoff_mark ()")
            return int(self._rows("SELECT 'bakeoff_mark'::regclass::oid::bigint")[0][0])
        finally:
            self._rows("ROLLBACK")

    def _is_younger(self, mark: int, before: int) -> bool:
        return is_younger(mark, before)

    def _stored(self, name: str) -> str:
        return stored(name)

    def _quoted(self, stored: str) -> str:
        return quoted(stored)

    def _parameter(self, number: int) -> str:
        return f"${number}"


def stored(name: str) -> str:
    """What the engine calls a table of that name (`lower_case_names` of its dialect)."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def is_younger(number: int, before: int) -> bool:
    return 0 < (number - before) % (2 * _HALF_OF_ALL_NUMBERS) < _HALF_OF_ALL_NUMBERS
