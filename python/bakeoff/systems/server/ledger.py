"""A ledger in a server (`ConnectedLedger`), and one that takes SQL, or something like it (`SqlLedger`).

One bakeoff at a time works in a place. A claim is a connection that holds a lock of the server, which ends with the
connection: so nobody takes our tables for abandoned ones. A new connection in place of a lost one takes the lock again.
All ledgers of this process that work in one place share it.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from bakeoff.errors import ServerError
from bakeoff.systems.ledger import TABLE, Entry, Ledger
from bakeoff.systems.server.control import Connection, Control

#: Dropping a large table takes its time.
_TIMEOUT_S = 300.0
_LOOKING_TIMEOUT_S = 5.0
#: A server may notice this long after us that a connection is lost, and holds its lock until then.
_LOST_MAX_S = 10.0


class LockHeld(ServerError):
    """Another bakeoff has the lock, or a connection of ours that the server has not yet ended."""


@dataclass
class _Claim:
    connection: Control
    ledgers: int = 0


class ConnectedLedger(Ledger):
    """A product says how it is reached and locked."""

    #: By kind of server, server, and place in it.
    _claims: ClassVar[dict[tuple[str, ...], _Claim]] = {}

    def __init__(self, where: str, *key: str) -> None:
        super().__init__(where)
        self._key = (type(self).__name__, *key)
        self._claimed = False

    @abstractmethod
    def _control(self, timeout_s: float, on_open: Callable[[Connection], None] | None = None) -> Control:
        """A connection to the tables' place."""

    @abstractmethod
    def _take_lock(self, connection: Connection) -> None:
        """Locks until the connection ends. LockHeld if another bakeoff has the lock."""

    # -- the claim --------------------------------------------------------------------------------------------------

    def claim(self) -> None:
        if self._claimed:
            return
        if self._key not in self._claims:
            control = self._control(_TIMEOUT_S, self._take_lock_once_free)
            control.rows(control.probe)
            self._claims[self._key] = _Claim(control)
        self._claims[self._key].ledgers += 1
        self._claimed = True

    def _take_lock_once_free(self, connection: Connection) -> None:
        deadline = time.monotonic() + (_LOST_MAX_S if self._key in self._claims else 0)
        while True:
            try:
                return self._take_lock(connection)
            except LockHeld:
                if time.monotonic() >= deadline:
                    raise
            time.sleep(0.1)

    def release(self) -> None:
        """Lets others in when nothing of this process works there any more."""
        if "_looking" in vars(self):
            self._looking.close()
        if not self._claimed:
            return
        self._claimed = False
        claim = self._claims[self._key]
        claim.ledgers -= 1
        if claim.ledgers == 0:
            del self._claims[self._key]
            claim.connection.close()

    @cached_property
    def _looking(self) -> Control:
        return self._control(_LOOKING_TIMEOUT_S)

    @property
    def _connection(self) -> Control:
        return self._claims[self._key].connection if self._claimed else self._looking

    def _rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        return self._connection.rows(sql, *parameters)

    def _wake(self) -> None:
        if not self._connection.answers():
            self._rows(self._connection.probe)


class SqlLedger(ConnectedLedger):
    """A product says what marks its tables have, and how it writes names, too."""

    columns: ClassVar[str]  # name, dataset, bundle, state ("loading", or "loaded"), mark
    mark: ClassVar[str]  # the last column's name

    @abstractmethod
    def _marks(self) -> dict[str, int | None]: ...

    @abstractmethod
    def _mark_before(self) -> int:
        """A mark older than that of any table created from now on."""

    @abstractmethod
    def _quoted(self, stored: str) -> str:
        """As a statement names it."""

    @abstractmethod
    def _parameter(self, number: int) -> str:
        """The one of that number, from 1, in a statement."""

    # -- the tables -------------------------------------------------------------------------------------------------

    def _entries(self, names: Collection[str]) -> Mapping[str, Entry]:
        if TABLE not in names:
            return {}
        rows = self._rows(f"SELECT name, dataset, state, {self.mark} FROM {self._quoted(TABLE)}")
        return {str(name): Entry(str(data), str(state) == "loaded", int(mark)) for name, data, state, mark in rows}

    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        self._rows(f"CREATE TABLE IF NOT EXISTS {self._quoted(TABLE)} {self.columns}")
        before = self._mark_before()
        one, two, three = (self._parameter(number) for number in (1, 2, 3))
        insert = (
            f"INSERT INTO {self._quoted(TABLE)} (name, dataset, bundle, state, {self.mark})"
            f" VALUES ({one}, {two}, {three}, 'loading', {before})"
        )
        for name in names:
            self._forget(name)
            self._rows(insert, name, dataset[:255], bundle[:255])

    def _enter_loaded(self, names: Sequence[str]) -> None:
        marks = self._marks()
        for name in names:
            self._rows(
                f"UPDATE {self._quoted(TABLE)} SET state = 'loaded', {self.mark} = {marks.get(name) or 0}"
                f" WHERE name = {self._parameter(1)}",
                name,
            )

    def _remove_entries(self, names: Sequence[str]) -> None:
        if TABLE in self._marks():
            for name in names:
                self._forget(name)
            if not self._rows(f"SELECT name FROM {self._quoted(TABLE)} LIMIT 1"):
                self._rows(f"DROP TABLE {self._quoted(TABLE)}")

    def _forget(self, name: str) -> None:
        self._rows(f"DELETE FROM {self._quoted(TABLE)} WHERE name = {self._parameter(1)}", name)

    def _remove_tables(self, names: Sequence[str]) -> None:
        """In one statement, so that all go or none."""
        self._rows(self._drop_statement(names))

    def _drop_statement(self, names: Sequence[str]) -> str:
        return f"DROP TABLE {', '.join(map(self._quoted, names))}"

    def drop_words(self, tables: Sequence[str]) -> str:
        return self._drop_statement([*map(self._stored, tables)])
