"""Logging in with pg8000, without giving the password to somebody who only answers in the server's place."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pg8000.native
from pg8000.exceptions import InterfaceError

_CLEAR_TEXT = 3


class PasswordAsked(Exception):
    """The server wants the password itself where somebody else could be listening."""


class Connection(pg8000.native.Connection):  # type: ignore[misc]  # pg8000 has no types
    """`trusted`: nobody else can answer or listen at the address (TLS, a unix socket). Everybody else gets proofs that
    we know the password, or nothing."""

    def __init__(self, *, trusted: bool, **options: Any) -> None:
        self._trusted = trusted
        super().__init__(**options)

    def handle_AUTHENTICATION_REQUEST(self, data: bytes, context: Any) -> None:
        if struct.unpack("!i", data[:4])[0] == _CLEAR_TEXT and not self._trusted:
            raise PasswordAsked
        super().handle_AUTHENTICATION_REQUEST(data, context)

    def rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """Parameters are $1, $2 ... (`run` takes them in the order in which they appear, whatever their numbers)."""
        done = self.execute_unnamed(sql, tuple(parameters)) if parameters else self.execute_simple(sql)
        return [tuple(row) for row in done.rows or ()]

    def close(self) -> None:
        """Also after an error whose telling would be lost with a farewell to somebody who has hung up."""
        stream = self._sock
        with suppress(InterfaceError):
            super().close()
        with suppress(OSError):
            stream.close()  # or the socket stays open with what could not be sent
