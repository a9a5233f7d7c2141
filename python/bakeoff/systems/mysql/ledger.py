"""Which tables of an existing schema are ours.

Once a table is loaded its comment ends in a random number, which together with when it was made is its mark: a table
that somebody else makes in its place has no number, even within the same second, and a copy by LIKE has another time.
(So has one that an ALTER rewrote: whoever alters a table of ours takes it.) While a table is being loaded, and where
the user may not alter it, its mark is when it was made, by the server's clock.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property

from bakeoff.errors import PlanError
from bakeoff.systems.mysql.control import Control
from bakeoff.systems.mysql.node import quoted
from bakeoff.systems.server.control import Connection, Login, Refused
from bakeoff.systems.server.ledger import LockHeld, SqlLedger

#: The longest that a server keeps an idle connection.
_IDLE_MAX_S = 31_536_000
_TOKEN = re.compile(r" ?\[bakeoff (\d+)\]$")
#: All tokens are above it, all times below.
_TOKENS_FROM = 1 << 61
_COMMENT_CHARS_MAX = 2048


class MySqlLedger(SqlLedger):
    place = "schema"
    mark = "at"
    columns = """(
        name VARCHAR(64) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL PRIMARY KEY,
        dataset VARCHAR(255) NOT NULL, bundle VARCHAR(255) NOT NULL,
        state VARCHAR(16) NOT NULL COMMENT 'loading, or loaded',
        at BIGINT NOT NULL COMMENT 'when the load began or the table was made, in seconds, plus the comment''s number'
    )"""

    def __init__(self, login: Login, schema: str, where: str) -> None:
        super().__init__(where, str(login.address), schema)
        self._login = login
        self._schema = schema

    def _control(self, timeout_s: float, on_open: Callable[[Connection], None] | None = None) -> Control:
        return Control(self._login, where=self._where, timeout_s=timeout_s, on_open=on_open)

    def _take_lock(self, connection: Connection) -> None:
        connection.rows(f"SET SESSION wait_timeout = {_IDLE_MAX_S}", ())
        name = "bakeoff." + hashlib.sha256(self._schema.encode()).hexdigest()[:24]
        if connection.rows("SELECT GET_LOCK(%s, 0)", (name,))[0][0] != 1:
            holder = connection.rows("SELECT IS_USED_LOCK(%s)", (name,))[0][0]
            raise LockHeld(
                f"another bakeoff run is using the schema {self._schema!r} of {self._login.address}"
                f" (connection {holder} of that server)",
                where=self._where,
                hint="wait until it ends, or name another `schema`",
            )

    def absent_place(self) -> str:
        there = self._rows("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s", self._schema)
        return "" if there else f"schema `{self._schema}`"

    def make_place(self) -> None:
        if self.absent_place():
            self._rows(f"CREATE DATABASE IF NOT EXISTS {quoted(self._schema)}")

    def _marks(self) -> dict[str, int | None]:
        """A view has neither a comment of its own nor a time."""
        rows = self._rows(
            "SELECT TABLE_NAME, UNIX_TIMESTAMP(CREATE_TIME), TABLE_COMMENT FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = %s",
            self._schema,
        )
        marks: dict[str, int | None] = {}
        for name, made, comment in rows:
            token = _TOKEN.search(str(comment))
            marks[str(name)] = None if made is None else int(made) + (int(token[1]) if token else 0)
        return marks

    def _enter_loaded(self, names: Sequence[str]) -> None:
        for name in names:
            self._mark(name)
        super()._enter_loaded(names)

    def _mark(self, stored: str) -> None:
        comments = self._rows(
            "SELECT TABLE_COMMENT FROM information_schema.TABLES"
            " WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND TABLE_TYPE = 'BASE TABLE'",
            self._schema,
            stored,
        )
        for (comment,) in comments:
            token = f"[bakeoff {_TOKENS_FROM + secrets.randbits(60)}]"
            own = _TOKEN.sub("", str(comment))[: _COMMENT_CHARS_MAX - len(token) - 1]
            with suppress(Refused):
                self._rows(f"ALTER TABLE {self._quoted(stored)} COMMENT = %s", f"{own} {token}".strip())

    def sizes(self, tables: Sequence[str]) -> dict[str, int]:
        rows = self._rows(
            "SELECT TABLE_NAME, DATA_LENGTH + INDEX_LENGTH FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s",
            self._schema,
        )
        stored = {str(name): int(size) for name, size in rows if size is not None}
        return {name: stored[self._stored(name)] for name in tables if self._stored(name) in stored}

    def _mark_before(self) -> int:
        return int(self._rows("SELECT UNIX_TIMESTAMP()")[0][0])

    def _is_younger(self, mark: int, before: int) -> bool:
        return before <= mark < _TOKENS_FROM

    def _remove_tables(self, names: Sequence[str]) -> None:
        """In whatever order: MariaDB refuses a table that another of the same statement needs."""
        self._refuse_dependents(names)
        self._rows("SET SESSION foreign_key_checks = 0")
        try:
            super()._remove_tables(names)
        finally:
            self._rows("SET SESSION foreign_key_checks = 1")

    def _refuse_dependents(self, stored: Sequence[str]) -> None:
        """Servers without atomic statements drop what they can."""
        asked = ", ".join(["%s"] * len(stored))
        rows = self._rows(
            "SELECT TABLE_NAME, REFERENCED_TABLE_NAME FROM information_schema.KEY_COLUMN_USAGE"
            f" WHERE REFERENCED_TABLE_SCHEMA = %s AND REFERENCED_TABLE_NAME IN ({asked})"
            f" AND NOT (TABLE_SCHEMA = %s AND TABLE_NAME IN ({asked}))",
            *(self._schema, *stored, self._schema, *stored),
        )
        for other, name in rows:
            raise PlanError(
                f"the table `{name}` cannot be dropped: a foreign key of the table `{other}` needs it",
                where=self._where,
                hint="drop that one by hand, or name another `schema`",
            )

    def _stored(self, name: str) -> str:
        return name.lower() if self._small_names else name

    @cached_property
    def _small_names(self) -> bool:
        return bool(int(self._rows("SELECT @@lower_case_table_names")[0][0]))

    def _quoted(self, stored: str) -> str:
        return f"{quoted(self._schema)}.{quoted(stored)}"

    def _parameter(self, number: int) -> str:
        return "%s"
