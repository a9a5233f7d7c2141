"""Our own commands to a server: logging in, and its errors as sentences.

In a cluster a node answers `MOVED` where another has the key: the command is sent there, over a connection that stays.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, ClassVar

from bakeoff.errors import BakeoffError
from bakeoff.systems.server.control import Address, Connection, Control, Login

DEFAULT_PORT = 6379


class SaidError(Exception):
    """An answer of the server's that is an error."""


@dataclass(frozen=True)
class Moved:
    """An answer: the node that has the key."""

    address: str


class RedisConnection:
    """The server's own protocol (RESP, version 2): a command is a list of words."""

    def __init__(self, connected: socket.socket, login: Login, database: int) -> None:
        self._socket = connected
        self._answers: BinaryIO = connected.makefile("rb")
        try:
            if login.password:
                self.rows("AUTH", (login.user, login.password) if login.user else (login.password,))
            if database:
                self.rows("SELECT", (database,))
        except BaseException:
            self._answers.close()  # or the socket stays open
            raise

    def rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """A row for each element of the answer."""
        words = [str(word).encode(errors="surrogateescape") for word in (*sql.split(), *parameters)]
        self._socket.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%b\r\n" % (len(word), word) for word in words))
        answer = self._read()
        return [(one,) for one in answer] if isinstance(answer, list) else [(answer,)]

    def _read(self) -> Any:
        line = self._answers.readline(1 << 16)
        if not line.endswith(b"\r\n"):
            raise ConnectionResetError("it was closed")
        kind, text = line[:1], line[1:-2].decode(errors="replace")
        if kind == b"-":
            if text.startswith("MOVED "):
                return Moved(text.split()[2])
            raise SaidError(text)
        if kind == b"+":
            return text
        number = int(text)
        if kind == b"$" and number >= 0:
            return self._answers.read(number + 2)[:-2].decode(errors="surrogateescape")
        if kind == b"*":
            return [self._read() for _ in range(number)]
        return None if number < 0 else number

    @property
    def cipher(self) -> str:
        cipher = getattr(self._socket, "cipher", lambda: None)()
        return str(cipher[0]) if cipher else ""

    def close(self) -> None:
        self._answers.close()
        self._socket.close()


class RedisControl(Control):
    product = "Redis"
    probe: ClassVar[str] = "PING"

    def __init__(
        self,
        login: Login,
        database: int = 0,
        *,
        where: str,
        timeout_s: float = 5.0,
        on_open: Callable[[Connection], None] | None = None,
    ) -> None:
        super().__init__(login, where=where, timeout_s=timeout_s, on_open=on_open)
        self._database = database
        self._others: dict[str, RedisControl] = {}

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        rows = super().rows(sql, *parameters)
        match rows:
            case [(Moved(address=address),)]:
                return self._at(address).rows(sql, *parameters)
        return rows

    def _at(self, address: str) -> RedisControl:
        if address not in self._others:
            there = Address.parse(address, self._where, default_port=DEFAULT_PORT)
            login = replace(self.login, address=there)
            self._others[address] = RedisControl(login, where=self._where, timeout_s=self._timeout_s)
        return self._others[address]

    def home(self, key: str) -> Address:
        """Of the node that has this key, if this is a cluster's; else this one's."""
        match super().rows("EXISTS", key):
            case [(Moved(address=address),)]:
                return Address.parse(address, self._where, default_port=DEFAULT_PORT)
        return self.login.address

    def cipher(self) -> str:
        """Of its connection: the server does not say."""
        self.rows(self.probe)
        with self._lock:
            return self._connection.cipher if isinstance(self._connection, RedisConnection) else ""

    def close(self) -> None:
        super().close()
        for other in self._others.values():
            other.close()

    def _log_in(self, connected: socket.socket) -> RedisConnection:
        tls = self.login.tls
        if tls is None:
            return RedisConnection(connected, self.login, self._database)
        try:
            encrypted = tls.context(self._where).wrap_socket(connected, server_hostname=self.login.address.host)
        except TimeoutError as error:  # without TLS the server waits for the end of a command
            raise self._not_encrypted("the server did not answer") from error
        try:
            return RedisConnection(encrypted, self.login, self._database)
        except BaseException:
            with suppress(OSError):
                encrypted.close()
            raise

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if not isinstance(error, SaidError):
            return super()._explained(error, logged_in=logged_in)
        said = str(error)
        if said.startswith(("WRONGPASS", "NOAUTH")) or "invalid password" in said:
            return self._user_refused(said)
        if said.startswith("NOPERM"):
            return self._not_allowed(said, "user")
        return self._other_error(said, "")
