"""Which tables of an existing schema are ours: written down in the schema itself, in the table `bakeoff_tables`.

A table is ours if the ledger says so and it is still the one of which it said so: loaded, and made when the ledger
says; or being loaded, and made since. So a table that a user made under the same name later is the user's.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property

from bakeoff.errors import ServerError
from bakeoff.systems.base import Found
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.facts import quoted
from bakeoff.systems.server.ledger import ClaimedLedger, Said
from bakeoff.systems.server.login import Login

TABLE = "bakeoff_tables"
#: Dropping a large table takes its time.
_TIMEOUT_S = 300.0
#: The longest that a server keeps an idle connection.
_IDLE_MAX_S = 31_536_000
_COLUMNS = """(
    name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
    dataset VARCHAR(255) NOT NULL, bundle VARCHAR(255) NOT NULL,
    state VARCHAR(16) NOT NULL COMMENT 'loading, or loaded',
    at BIGINT NOT NULL COMMENT 'seconds since 1970: begin of the load, or when the loaded table was made'
)"""


class MySqlLedger(ClaimedLedger):
    def __init__(self, login: Login, schema: str, where: str) -> None:
        super().__init__(str(login.address), schema)
        self._login = login
        self._schema = schema
        self._where = where

    def _locked(self) -> Control:
        control = Control(self._login, where=self._where, timeout_s=_TIMEOUT_S)
        control.rows(f"SET SESSION wait_timeout = {_IDLE_MAX_S}")
        name = "bakeoff." + hashlib.sha256(self._schema.encode()).hexdigest()[:24]
        if control.value("SELECT GET_LOCK(%s, 0)", name) != 1:
            holder = control.value("SELECT IS_USED_LOCK(%s)", name)
            control.close()
            raise ServerError(
                f"another bakeoff is at work in the schema {self._schema!r} of {self._login.address}"
                f" (connection {holder} of that server)",
                where=self._where,
                hint="wait for its end, or name another `schema`",
            )
        return control

    def _unlocked(self) -> Control:
        return Control(self._login, where=self._where)

    def begin(self, tables: Sequence[str], dataset: str, bundle: str) -> None:
        self._make_schema()
        self.drop(tables)
        self._rows(f"CREATE TABLE IF NOT EXISTS {self._name(TABLE)} {_COLUMNS}")
        for name in tables:
            self._rows(
                f"REPLACE INTO {self._name(TABLE)} VALUES (%s, %s, %s, 'loading', UNIX_TIMESTAMP())",
                name,
                dataset[:255],
                bundle[:255],
            )

    def loaded(self, tables: Sequence[str]) -> None:
        made = self._made()
        update = f"UPDATE {self._name(TABLE)} SET state = 'loaded', at = %s WHERE name = %s"
        for name in tables:
            self._rows(update, made.get(self._fold(name), 0), name)

    def drop(self, tables: Sequence[str]) -> None:
        for found in self.there(tables):
            if found.ours:
                self._rows(f"DROP TABLE {self._name(found.name)}")
        if TABLE in self._made():
            for name in tables:
                self._rows(f"DELETE FROM {self._name(TABLE)} WHERE name = %s", name)
            if not self._rows(f"SELECT 1 FROM {self._name(TABLE)} LIMIT 1"):
                self._rows(f"DROP TABLE {self._name(TABLE)}")

    def drop_words(self, tables: Sequence[str]) -> str:
        return f"DROP TABLE {', '.join(self._name(name) for name in tables)}"

    def there(self, tables: Sequence[str]) -> list[Found]:
        made = self._made()
        said: dict[str, Said] = {}
        if TABLE in made:
            for name, dataset, state, at in self._rows(f"SELECT name, dataset, state, at FROM {self._name(TABLE)}"):
                said[str(name)] = Said(str(dataset), str(state) == "loaded", int(at))
        return [_found(name, made[self._fold(name)], said.get(name)) for name in tables if self._fold(name) in made]

    def _make_schema(self) -> None:
        there = self._rows("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s", self._schema)
        if not there:
            self._rows(f"CREATE DATABASE IF NOT EXISTS {quoted(self._schema)}")

    def _made(self) -> dict[str, int | None]:
        """When each table of the schema was made, seconds since 1970 by the server's clock; None of a view."""
        rows = self._rows(
            "SELECT TABLE_NAME, UNIX_TIMESTAMP(CREATE_TIME) FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s",
            self._schema,
        )
        return {str(name): None if made is None else int(made) for name, made in rows}

    def _fold(self, name: str) -> str:
        return name.lower() if self._small_names else name

    @cached_property
    def _small_names(self) -> bool:
        """Whether the server writes all names in small letters."""
        return bool(int(self._rows("SELECT @@lower_case_table_names")[0][0]))

    def _name(self, table: str) -> str:
        return f"{quoted(self._schema)}.{quoted(table)}"


def _found(name: str, made: int | None, said: Said | None) -> Found:
    """made: when the table was, by the server's clock; None of a view."""
    if made is None or said is None or not (made == said.mark if said.loaded else made >= said.mark):
        return Found(name, ours=False)
    return said.of(name)
