"""Which tables of an existing server are ours: written down beside them, in the table `bakeoff_tables`.

A table is ours if the ledger says so and it is still the one of which it said so, by a mark that no later table of the
same name has. So a table that a user made under the same name later is the user's.

One bakeoff at a time works where its tables lie. A claim is a connection that holds a lock of the server, which ends
with the connection: nobody else takes our tables for left behind. A new connection in place of one that was lost takes
the lock again. All ledgers of this process that work in one place share it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from bakeoff.errors import PlanError
from bakeoff.systems.base import Found, Ledger
from bakeoff.systems.server.control import Connection, Control

TABLE = "bakeoff_tables"
#: Dropping a large table takes its time.
_TIMEOUT_S = 300.0
_LOOKING_TIMEOUT_S = 5.0


@dataclass
class _Claim:
    connection: Control
    ledgers: int = 0


@dataclass(frozen=True)
class Said:
    """What a ledger says of a table. mark: of the table once it is loaded; before, one older than it can have."""

    dataset: str
    loaded: bool
    mark: int


class ServerLedger(Ledger):
    columns: ClassVar[str]  # name, dataset, bundle, state ("loading", or "loaded"), mark
    mark: ClassVar[str]  # the last column's name
    #: By kind of server, server, and place in it.
    _claims: ClassVar[dict[tuple[str, ...], _Claim]] = {}

    def __init__(self, where: str, *key: str) -> None:
        self._where = where
        self._key = (type(self).__name__, *key)
        self._claimed = False

    # -- what a product says ----------------------------------------------------------------------------------------

    @abstractmethod
    def _control(self, timeout_s: float, on_open: Callable[[Connection], None] | None = None) -> Control:
        """A connection to where the tables lie."""

    @abstractmethod
    def _take_lock(self, connection: Connection) -> None:
        """Which it holds until it ends. ServerError if another bakeoff has it."""

    @abstractmethod
    def _marks(self) -> dict[str, int | None]:
        """Of everything in the place that has the name of a table; None: it is none (a view)."""

    @abstractmethod
    def _mark_before(self) -> int:
        """That a table which is made from now on is younger than."""

    @abstractmethod
    def _is_younger(self, mark: int, before: int) -> bool: ...

    @abstractmethod
    def _stored(self, name: str) -> str:
        """What the server calls a table of that name."""

    @abstractmethod
    def _quoted(self, stored: str) -> str:
        """As a statement names it."""

    @abstractmethod
    def _parameter(self, number: int) -> str:
        """The one of that number, from 1, in a statement."""

    def _refuse_dependents(self, stored: Sequence[str]) -> None:
        """Where the server would drop some of these tables before it finds that another cannot be. Raises PlanError."""

    def _drop_at_once(self, statement: str) -> None:
        """Drops tables of which no other needs one."""
        self._rows(statement)

    # -- the claim --------------------------------------------------------------------------------------------------

    def claim(self) -> None:
        if self._claimed:
            return
        if self._key not in self._claims:
            control = self._control(_TIMEOUT_S, self._take_lock)
            control.rows(control.probe)
            self._claims[self._key] = _Claim(control)
        self._claims[self._key].ledgers += 1
        self._claimed = True

    def release(self) -> None:
        """Lets others in when none of this process is at work there any more."""
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
        """A connection that was lost while nobody asked is replaced."""
        if not self._connection.answers():
            self._rows(self._connection.probe)

    # -- the tables -------------------------------------------------------------------------------------------------

    def there(self, tables: Sequence[str]) -> list[Found]:
        self._wake()
        marks = self._marks()
        said: dict[str, Said] = {}
        if TABLE in marks:
            rows = self._rows(f"SELECT name, dataset, state, {self.mark} FROM {self._quoted(TABLE)}")
            said = {str(name): Said(str(data), str(state) == "loaded", int(mark)) for name, data, state, mark in rows}
        there = [(name, self._stored(name)) for name in tables if self._stored(name) in marks]
        return [self._judged(name, marks[stored], said.get(stored)) for name, stored in there]

    def _judged(self, name: str, mark: int | None, said: Said | None) -> Found:
        """Whether what has that mark is the table of which the ledger says that."""
        if mark is None or said is None:
            return Found(name, ours=False)
        if not (mark == said.mark if said.loaded else self._is_younger(mark, said.mark)):
            return Found(name, ours=False)
        return Found(name, ours=True, whole=said.loaded, dataset=said.dataset)

    def begin(self, tables: Sequence[str], dataset: str, bundle: str, *, all_there: bool = False) -> None:
        self._wake()
        self._drop(tables, all_there=all_there)
        self._rows(f"CREATE TABLE IF NOT EXISTS {self._quoted(TABLE)} {self.columns}")
        before = self._mark_before()
        one, two, three = (self._parameter(number) for number in (1, 2, 3))
        insert = (
            f"INSERT INTO {self._quoted(TABLE)} (name, dataset, bundle, state, {self.mark})"
            f" VALUES ({one}, {two}, {three}, 'loading', {before})"
        )
        for name in tables:
            self._forget(name)
            self._rows(insert, self._stored(name), dataset[:255], bundle[:255])

    def loaded(self, tables: Sequence[str]) -> None:
        self._wake()
        marks = self._marks()
        for name in map(self._stored, tables):
            self._rows(
                f"UPDATE {self._quoted(TABLE)} SET state = 'loaded', {self.mark} = {marks.get(name) or 0}"
                f" WHERE name = {self._parameter(1)}",
                name,
            )

    def drop(self, tables: Sequence[str]) -> None:
        self._drop(tables, all_there=False)
        if TABLE in self._marks():
            for name in tables:
                self._forget(name)
            if not self._rows(f"SELECT name FROM {self._quoted(TABLE)} LIMIT 1"):
                self._rows(f"DROP TABLE {self._quoted(TABLE)}")

    def drop_words(self, tables: Sequence[str]) -> str:
        return f"DROP TABLE {', '.join(self._quoted(self._stored(name)) for name in tables)}"

    def _drop(self, tables: Sequence[str], *, all_there: bool) -> None:
        """In one statement, so that all go or none. all_there: not only those that are ours."""
        going = [found.name for found in self.there(tables) if found.ours or all_there]
        if not going:
            return
        marks = self._marks()
        for name in going:
            if marks[self._stored(name)] is None:
                raise PlanError(
                    f"`{name}` is there and is no table: bakeoff does not drop it",
                    where=self._where,
                    hint="drop it by hand, or keep the tables of the plan apart from it",
                )
        self._refuse_dependents([self._stored(name) for name in going])
        self._drop_at_once(self.drop_words(going))

    def _forget(self, name: str) -> None:
        self._rows(f"DELETE FROM {self._quoted(TABLE)} WHERE name = {self._parameter(1)}", self._stored(name))
