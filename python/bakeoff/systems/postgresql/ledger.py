"""Which tables of an existing database are ours: written down in the database itself, in the table `bakeoff_tables`.

A table is known by its number (oid), which no later table of the same name has. So one is ours if the ledger has its
number; or if it was being loaded and has a younger number than any table had before. All names are those of the schema
in which a session of the load makes its tables (the first of its search_path), where the engine gives tables names in
small letters, as a tool does that quotes none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from bakeoff.errors import ServerError
from bakeoff.systems.base import Found
from bakeoff.systems.postgresql.control import Control, NoDatabase, quoted
from bakeoff.systems.server.ledger import ClaimedLedger, Said
from bakeoff.systems.server.login import Login

TABLE = "bakeoff_tables"
#: Dropping a large table takes its time.
_TIMEOUT_S = 300.0
#: Numbers are 32 bits wide and begin anew when they are used up.
_HALF_OF_ALL_NUMBERS = 1 << 31
_COLUMNS = """(
    name text PRIMARY KEY, dataset text NOT NULL, bundle text NOT NULL,
    state text NOT NULL,   -- loading, or loaded
    number bigint NOT NULL -- of the loaded table, or the last one given before the load began
)"""


class PostgreSqlLedger(ClaimedLedger):
    def __init__(self, login: Login, database: str, session: Mapping[str, str], where: str) -> None:
        super().__init__(str(login.address), database, session.get("search_path", ""))
        self._login = login
        self._database = database
        self._session = session
        self._where = where

    def _unlocked(self, timeout_s: float = 5.0) -> Control:
        return Control(self._login, self._database, where=self._where, timeout_s=timeout_s, session=self._session)

    def _locked(self) -> Control:
        control = self._unlocked(_TIMEOUT_S)
        schema = control.value("SELECT current_schema()")
        if schema is None:
            control.close()
            raise ServerError(
                f"the database {self._database!r} of {self._login.address} has no schema to make tables in",
                where=self._where,
                hint='make one there, or name one: session = { search_path = "..." }',
            )
        number = int.from_bytes(hashlib.sha256(f"bakeoff.{schema}".encode()).digest()[:8], signed=True)
        if not control.value("SELECT pg_try_advisory_lock($1::bigint)", number):
            control.close()
            raise ServerError(
                f"another bakeoff is at work in the schema {schema!r} of the database {self._database!r} on"
                f" {self._login.address}",
                where=self._where,
                hint="wait for its end, or name another `database`",
            )
        return control

    def begin(self, tables: Sequence[str], dataset: str, bundle: str) -> None:
        self.drop(tables)
        self._rows(f"CREATE TABLE IF NOT EXISTS {TABLE} {_COLUMNS}")
        last = self._last_number()
        for name in map(stored, tables):
            self._rows(f"DELETE FROM {TABLE} WHERE name = $1", name)
            self._rows(f"INSERT INTO {TABLE} VALUES ($1, $2, $3, 'loading', $4::bigint)", name, dataset, bundle, last)

    def loaded(self, tables: Sequence[str]) -> None:
        numbers = self._numbers()
        update = f"UPDATE {TABLE} SET state = 'loaded', number = $2::bigint WHERE name = $1"
        for name in map(stored, tables):
            self._rows(update, name, numbers.get(name, 0))

    def drop(self, tables: Sequence[str]) -> None:
        for found in self.there(tables):
            if found.ours:
                self._rows(f"DROP TABLE {quoted(stored(found.name))}")
        if TABLE in self._numbers():
            for name in map(stored, tables):
                self._rows(f"DELETE FROM {TABLE} WHERE name = $1", name)
            if not self._rows(f"SELECT 1 FROM {TABLE} LIMIT 1"):
                self._rows(f"DROP TABLE {TABLE}")

    def drop_words(self, tables: Sequence[str]) -> str:
        return f"DROP TABLE {', '.join(quoted(stored(name)) for name in tables)}"

    def there(self, tables: Sequence[str]) -> list[Found]:
        try:
            numbers = self._numbers()
        except NoDatabase:
            return []
        said: dict[str, Said] = {}
        if TABLE in numbers:
            for name, dataset, state, number in self._rows(f"SELECT name, dataset, state, number FROM {TABLE}"):
                said[str(name)] = Said(str(dataset), state == "loaded", int(number))
        there = [(name, stored(name)) for name in tables if stored(name) in numbers]
        return [judged(name, numbers[own], said.get(own)) for name, own in there]

    def _numbers(self) -> dict[str, int]:
        """Of everything in the schema that has the name of a table: tables, views, sequences, indexes."""
        rows = self._rows(
            "SELECT relname, oid::bigint FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
        )
        return {str(name): int(number) for name, number in rows}

    def _last_number(self) -> int:
        """Of a table made and taken back."""
        self._rows("BEGIN")
        try:
            self._rows("CREATE TABLE bakeoff_mark ()")
            return int(self._rows("SELECT 'bakeoff_mark'::regclass::oid::bigint")[0][0])
        finally:
            self._rows("ROLLBACK")


def stored(name: str) -> str:
    """What the engine calls a table of that name (`lower_case_names` of its dialect)."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


def judged(name: str, number: int, said: Said | None) -> Found:
    """Whether a table of that number is the one of which the ledger says that."""
    if said is None:
        return Found(name, ours=False)
    younger = 0 < (number - said.mark) % (2 * _HALF_OF_ALL_NUMBERS) < _HALF_OF_ALL_NUMBERS
    return said.of(name) if (number == said.mark if said.loaded else younger) else Found(name, ours=False)
