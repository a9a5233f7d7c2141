"""bakeoff's own statements to an Avatica server: its protocol over HTTP, with protocol buffers.

Sources: Calcite Avatica, requests.proto, responses.proto, common.proto; Protocol Buffers documentation, "Encoding".
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from bakeoff.errors import BakeoffError
from bakeoff.systems.server.control import Control, Login, open_socket

_NAMES = "org.apache.calcite.avatica.proto."
_ALL = (1 << 64) - 1
#: A server may have closed a connection that was unused for longer (Jetty after 30 s).
_IDLE_S = 10.0
#: Rows of an answer. Ours have few, and none is fetched in pieces.
_ROWS_MAX = 100_000
#: Numbers of `Rep`: what holds a value's number, and what a text.
_NUMBERS = {1, 3, 4, 5, 9, 11, 12, 13, 16, 17, 18, 19, 22}
_TEXTS = {2, 10, 21, 26}
_NULL, _TEXT, _LONG = 24, 21, 13

Message = dict[int, list[Any]]


class SaidError(Exception):
    """An answer of the server's that is an error."""


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    said = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(said)) + said


def fields(message: bytes) -> Message:
    """Values by the numbers of their fields, in their order: numbers and bytes."""
    found: Message = {}
    at = 0

    def take_varint() -> int:
        nonlocal at
        number = shift = 0
        while True:
            byte = message[at]
            at += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        tag = take_varint()
        if tag & 7 == 0:
            value: Any = take_varint()
        else:
            size = {1: 8, 5: 4}.get(tag & 7) or take_varint()
            value, at = message[at : at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def one(message: Message, number: int, otherwise: Any) -> Any:
    return message.get(number, [otherwise])[-1]


def _typed(value: object) -> bytes:
    if value is None:
        return field(1, _NULL) + field(7, 1)
    if isinstance(value, int):
        return field(1, _LONG) + field(4, value << 1 if value >= 0 else (-value << 1) - 1)
    return field(1, _TEXT) + field(3, str(value))


def _value(typed: Message) -> object:
    kind = one(typed, 1, 0)
    if one(typed, 7, 0) or kind == _NULL:
        return None
    if kind in _NUMBERS:
        number = int(one(typed, 4, 0))
        return number >> 1 ^ -(number & 1)
    if kind in _TEXTS:
        return bytes(one(typed, 3, b"")).decode(errors="replace")
    if kind in (0, 8):
        return bool(one(typed, 2, 0))
    raise ValueError(f"a value of type {kind}")


def _rows(result: Message) -> Iterator[tuple[object, ...]]:
    frame = fields(one(result, 5, b""))
    for row in frame.get(3, []):
        cells = (fields(cell) for cell in fields(row).get(1, []))
        yield tuple(_value(fields(one(cell, 4, None) or one(cell, 1, b""))) for cell in cells)


class Connection:
    """A session of the server, which outlives the HTTP connection that its requests come over."""

    def __init__(self, connect: Callable[[], socket.socket], connected: socket.socket, login: Login) -> None:
        user, password = login.user, login.password
        self._http = http.client.HTTPConnection(str(login.address))
        self._http.sock = connected
        self._connect = connect
        self._used_at = time.monotonic()
        self._id = f"bakeoff-{uuid.uuid4()}"
        account = [("user", user), ("password", password)] if user else []
        info = (field(2, field(1, name) + field(2, value)) for name, value in account)
        self._ask("OpenConnection", field(1, self._id) + b"".join(info))

    def _ask(self, request: str, message: bytes) -> Message:
        body = field(1, f"{_NAMES}Requests${request}Request") + field(2, message)
        if time.monotonic() - self._used_at > _IDLE_S:
            self._http.close()
            self._http.sock = self._connect()
        self._http.request("POST", "/", body, {"Content-Type": "application/x-google-protobuf"})
        answer = self._http.getresponse()
        said = answer.read()
        self._used_at = time.monotonic()
        try:
            whole = fields(said)
            kind = bytes(one(whole, 1, b"")).decode()
        except (IndexError, TypeError, UnicodeDecodeError):
            whole, kind = {}, ""
        if kind.endswith("$ErrorResponse"):
            error = fields(one(whole, 2, b""))
            raise SaidError(bytes(one(error, 2, b"")).decode(errors="replace"))
        if answer.status != 200:
            raise SaidError(f"HTTP {answer.status} {answer.reason}")
        if not kind.startswith(f"{_NAMES}Responses$"):
            raise ValueError("it is no message of Avatica's")
        return fields(one(whole, 2, b""))

    def rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        prepared = self._ask("Prepare", field(1, self._id) + field(2, sql) + field(4, _ALL))
        handle = fields(one(prepared, 1, b""))
        number = int(one(handle, 2, 0))
        try:
            statement = field(1, self._id) + field(2, number) + field(3, b"")
            said = b"".join(field(2, _typed(value)) for value in parameters)
            done = self._ask("Execute", field(1, statement) + said + field(4, 1) + field(5, _ROWS_MAX))
            return [row for result in done.get(1, []) for row in _rows(fields(result))]
        finally:
            with suppress(SaidError):
                self._ask("CloseStatement", field(1, self._id) + field(2, number))

    def tables(self) -> list[tuple[Any, ...]]:
        """What JDBC's DatabaseMetaData.getTables tells: catalog, schema, name, type, ..."""
        return [*_rows(self._ask("Tables", field(7, self._id)))]

    def close(self) -> None:
        """The server does not notice that a client goes."""
        with suppress(Exception):
            self._ask("CloseConnection", field(1, self._id))
        self._http.close()


class AvaticaControl(Control):
    product = "Avatica"

    def _log_in(self, connected: socket.socket) -> Connection:
        def connect() -> socket.socket:
            return self._encrypted(open_socket(self.login.address, self._timeout_s))

        return Connection(connect, self._encrypted(connected), self.login)

    def _encrypted(self, connected: socket.socket) -> socket.socket:
        if not self.login.tls:
            return connected
        context: ssl.SSLContext = self.login.tls.context(self._where)
        return context.wrap_socket(connected, server_hostname=self.login.address.host)

    def tables(self) -> list[tuple[Any, ...]]:
        self.answers()
        assert isinstance(self._connection, Connection)
        return self._connection.tables()

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if isinstance(error, http.client.HTTPException):
            return self._unreadable(type(error).__name__)
        if not isinstance(error, SaidError):
            return super()._explained(error, logged_in=logged_in)
        said = str(error).rpartition(" -> ")[2].partition(": ")[2] or str(error)
        return self._other_error(said, "") if logged_in else self._user_refused(said)
