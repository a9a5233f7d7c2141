"""Which tables of an existing server are ours, and the lock against other runs.

A table is a hash of its name that says when it was made, by the server's clock in microseconds: its mark. A key of that
name that somebody else made has no such field. The records of a table are those that its sorted set names, so no other
key is ever read or removed, whatever it is called. In a cluster a table is `PARTITIONS` of these, each in one slot.

The server has no locks. In place of one, a connection has a name that only one may have: it ends with the connection.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import cached_property
from typing import Any

from bakeoff.systems.ledger import TABLE, Entry, Found
from bakeoff.systems.redis.control import RedisControl
from bakeoff.systems.server.control import Connection, Login
from bakeoff.systems.server.ledger import ConnectedLedger, LockHeld

#: Of a table in a cluster; as in the driver.
PARTITIONS = 1024
_CHUNK = 500


class RedisLedger(ConnectedLedger):
    place = "database"

    def __init__(self, login: Login, database: int, where: str, *, cluster: bool) -> None:
        super().__init__(where, str(login.address), str(database))
        self._login = login
        self._database = database
        self._cluster = cluster
        self._seen: dict[str, int | None] = {}

    def _control(self, timeout_s: float, on_open: Callable[[Connection], None] | None = None) -> RedisControl:
        return RedisControl(self._home, self._database, where=self._where, timeout_s=timeout_s, on_open=on_open)

    @cached_property
    def _home(self) -> Login:
        """At the node of a cluster that has the ledger, so that all who work there meet."""
        if not self._cluster:
            return self._login
        with closing(RedisControl(self._login, where=self._where)) as control:
            return replace(self._login, address=control.home(TABLE))

    def _take_lock(self, connection: Connection) -> None:
        """One command after the other, and nobody's in between."""
        name = f"bakeoff.database.{self._database}"
        connection.rows("MULTI", ())
        connection.rows("CLIENT LIST", ())
        connection.rows("CLIENT SETNAME", (name,))
        clients = str(connection.rows("EXEC", ())[0][0]).splitlines()
        holders = [line.split()[1] for line in clients if f" name={name} " in line]
        if holders:
            connection.rows("CLIENT SETNAME", ("",))
            raise LockHeld(
                f"another bakeoff run is using the database {self._database} of {self._login.address}"
                f" (its connection has {holders[0]})",
                where=self._where,
                hint="wait until it ends, or name another `database`",
            )

    def make_place(self) -> None:
        """Every database exists."""

    # -- the tables -------------------------------------------------------------------------------------------------

    def there(self, tables: Sequence[str]) -> list[Found]:
        self._wake()
        self._seen = dict(self._marks_of(tables))
        return super().there(tables)

    def _marks(self) -> Mapping[str, int | None]:
        """Of those that were last looked for: a server may have billions of keys."""
        return self._seen

    def _marks_of(self, names: Collection[str]) -> Iterator[tuple[str, int | None]]:
        for name in names:
            first = next(self._parts(name))
            kind = self._value("TYPE", first)
            if kind == "hash":
                made = str(self._value("HGET", first, "made"))
                yield name, int(made) if made.isdecimal() else 0
            elif kind != "none" or self._value("EXISTS", index(first)):
                yield name, None

    def _parts(self, name: str) -> Iterator[str]:
        """The first part tells of the whole table."""
        return (f"{name}{{{number}}}" for number in range(PARTITIONS)) if self._cluster else iter((name,))

    def _value(self, command: str, *words: object) -> Any:
        return self._rows(command, *words)[0][0]

    def _entries(self, names: Collection[str]) -> Mapping[str, Entry]:
        told = [str(word) for (word,) in self._rows("HGETALL", TABLE)]
        said = {name: json.loads(text) for name, text in zip(told[::2], told[1::2], strict=True)}
        return {name: Entry(one["dataset"], one["loaded"], one["mark"]) for name, one in said.items()}

    def _is_younger(self, mark: int, before: int) -> bool:
        return mark >= before

    def _enter(self, names: Sequence[str], dataset: str, bundle: str) -> None:
        seconds, micros = (int(word) for (word,) in self._rows("TIME"))
        entry = {"dataset": dataset, "bundle": bundle, "loaded": False, "mark": seconds * 1_000_000 + micros}
        for name in names:
            self._rows("HSET", TABLE, name, json.dumps(entry))

    def _enter_loaded(self, names: Sequence[str]) -> None:
        for name, mark in self._marks_of(names):
            entry = json.loads(self._value("HGET", TABLE, name) or "{}")
            self._rows("HSET", TABLE, name, json.dumps({**entry, "loaded": True, "mark": mark or -1}))

    def _remove_entries(self, names: Sequence[str]) -> None:
        """A hash ends with its last field."""
        for name in names:
            self._rows("HDEL", TABLE, name)

    def _remove_tables(self, names: Sequence[str]) -> None:
        """The records of each, some at a time, and then what makes it a table."""
        for name in names:
            for part in reversed([*self._parts(name)]):
                while keys := [str(key) for (key,) in self._rows("ZRANGE", index(part), 0, _CHUNK - 1)]:
                    self._rows("UNLINK", *(f"{part}:{key}" for key in keys))
                    self._rows("ZREM", index(part), *keys)
                self._rows("DEL", part)

    def drop_words(self, tables: Sequence[str]) -> str:
        parts = [next(self._parts(name)) for name in tables]
        words = "; ".join(f"UNLINK {one} {index(one)}, and {one}:KEY for each KEY in {index(one)}" for one in parts)
        return f"{words} (the same for {{1}} to {{{PARTITIONS - 1}}})" if self._cluster else words


def index(part: str) -> str:
    """The sorted set with the keys of a table, or of a part of one."""
    return f"{part}/keys"
