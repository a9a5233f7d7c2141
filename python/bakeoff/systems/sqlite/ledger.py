"""Which tables of an existing SQLite file are ours: written down in the file itself, in the table `bakeoff_tables`.

A table is ours if the ledger says so and it still has the definition of which it said so. Once a table is loaded its
definition ends in a comment with a random number, which a table that somebody else makes with the same words lacks.
While it is being loaded, its name is enough.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.files import remove_tree
from bakeoff.systems.base import Found, Ledger

TABLE = "bakeoff_tables"
_TIMEOUT_S = 60.0
_COLUMNS = "(name TEXT PRIMARY KEY, dataset TEXT, bundle TEXT, definition TEXT, at INTEGER) WITHOUT ROWID"


class SqliteLedger(Ledger):
    place = "file"

    def __init__(self, file: Path, where: str) -> None:
        self._file = file
        self._where = where

    def claim(self) -> None:
        """SQLite itself lets one writer at a time into a file. ServerError where there can be no file."""
        if not self._file.parent.is_dir():
            raise ServerError(f"there is no folder {self._file.parent}", where=self._where, hint="make it first")

    def release(self) -> None: ...

    def make_place(self) -> None: ...

    def there(self, tables: Sequence[str]) -> list[Found]:
        if not self._file.exists():
            return []
        made = dict(self._rows("SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view')"))
        rows = self._rows(f"SELECT name, dataset, definition FROM {TABLE}") if TABLE in made else []
        said = {name: (dataset, definition) for name, dataset, definition in rows}
        return [_found(name, made[name], said.get(name)) for name in tables if name in made]

    def sizes(self, tables: Sequence[str]) -> dict[str, int]:
        """The file does not tell of its tables one by one, so the first stands for all that it holds."""
        return {tables[0]: self._file.stat().st_size} if tables and self._file.exists() else {}

    def begin(self, tables: Sequence[str], dataset: str, bundle: str, *, all_there: bool = False) -> None:
        self.drop(tables)
        if all_there:
            self._drop_strangers(tables)
        self._rows(f"CREATE TABLE IF NOT EXISTS {TABLE} {_COLUMNS}")
        for name in tables:
            self._rows(f"INSERT INTO {TABLE} VALUES (?, ?, ?, NULL, ?)", name, dataset, bundle, int(time.time()))

    def loaded(self, tables: Sequence[str]) -> None:
        """No ALTER TABLE writes a comment; SQLite's own way to edit a definition does, and none is read otherwise."""
        definition = "SELECT sql FROM sqlite_master WHERE type = 'table' AND sqlite_master.name = bakeoff_tables.name"
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("PRAGMA writable_schema = ON")
            for name in tables:
                mark = f" /* bakeoff {secrets.randbits(60)} */"
                connection.execute(
                    "UPDATE sqlite_master SET sql = sql || ? WHERE type = 'table' AND name = ?", (mark, name)
                )
                connection.execute(f"UPDATE {TABLE} SET definition = ({definition}) WHERE name = ?", (name,))
            connection.execute("PRAGMA writable_schema = RESET")
            connection.execute("COMMIT")

    def drop(self, tables: Sequence[str]) -> None:
        """A file that has nothing left in it goes, too."""
        if not self._file.exists():
            return
        for found in self.there(tables):
            if found.ours:
                self._rows(f"DROP TABLE {_quoted(found.name)}")
        if self._rows("SELECT 1 FROM sqlite_master WHERE name = ?", TABLE):
            for name in tables:
                self._rows(f"DELETE FROM {TABLE} WHERE name = ?", name)
            if not self._rows(f"SELECT 1 FROM {TABLE}"):
                self._rows(f"DROP TABLE {TABLE}")
                if not self._rows("SELECT 1 FROM sqlite_master"):
                    for suffix in ("", "-wal", "-shm", "-journal"):
                        remove_tree(self._file.with_name(self._file.name + suffix))

    def _drop_strangers(self, tables: Sequence[str]) -> None:
        there = self.strangers(tables)
        views = (
            {name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'view'")} if there else set()
        )
        if not_tables := [name for name in there if name in views]:
            raise PlanError(
                f"`{not_tables[0]}` in {self._file} is a view: bakeoff does not drop it",
                where=self._where,
                hint="drop it by hand, or name another `file`",
            )
        for name in there:
            self._rows(f"DROP TABLE {_quoted(name)}")

    def drop_words(self, tables: Sequence[str]) -> str:
        return " ".join(f"DROP TABLE {_quoted(name)};" for name in tables)

    def _rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self._connection() as connection:
            return connection.execute(sql, parameters).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self._file, timeout=_TIMEOUT_S, isolation_level=None)) as connection:
                yield connection
        except sqlite3.Error as error:
            raise ServerError(f"cannot use {self._file}: {error}", where=self._where) from error


def _found(name: str, definition: str, said: tuple[str, str | None] | None) -> Found:
    """said: the data set, and the definition of the loaded table."""
    if said is None or said[1] not in (None, definition):
        return Found(name, ours=False)
    return Found(name, ours=True, whole=said[1] is not None, dataset=said[0])


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
