"""The part of CQL's protocol (version 4) that our statements alongside the load need.

A frame is a header of nine bytes (version, flags, stream, opcode, length) and a body; one statement at a time, so there
is one stream. Source: "CQL binary protocol v4", in Cassandra's documentation.

The usual library, cassandra-driver, connects to every node, retries, moves requests to other nodes and starts threads.
Here each node is asked for itself, and one that does not answer must be seen not answering.
"""

from __future__ import annotations

import ipaddress
import socket
import struct
import uuid
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from bakeoff.errors import BakeoffError
from bakeoff.systems.server import control
from bakeoff.systems.server.control import Address, Login, Tls

_VERSION = 4
_ERROR, _STARTUP, _READY, _AUTHENTICATE, _QUERY, _RESULT = 0x00, 0x01, 0x02, 0x03, 0x07, 0x08
_OPTIONS, _SUPPORTED, _AUTH_RESPONSE, _AUTH_SUCCESS = 0x05, 0x06, 0x0F, 0x10
_ROWS = 2
_WITH_VALUES = 0x01
#: Of a frame.
_WITH_WARNINGS = 0x08
#: Longer than any answer to a question of ours.
_FRAME_MAX_BYTES = 64 << 20
#: Of a statement: how many of the nodes that hold a row have to answer.
LOCAL_ONE, QUORUM, ALL = 0x000A, 0x0004, 0x0005


class SaidError(Exception):
    """What the server says. code: as the protocol has it."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class NotCql(Exception):
    """What answers there speaks something else."""


class Wire:
    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected

    def ask(self, opcode: int, body: bytes = b"") -> tuple[int, bytes]:
        """Opcode and body of the answer. Raises SaidError, NotCql, OSError."""
        self._socket.sendall(struct.pack(">BBhBi", _VERSION, 0, 0, opcode, len(body)) + body)
        version, flags, _, answered, length = struct.unpack(">BBhBi", self._receive(9))
        if version != 0x80 | _VERSION or not 0 <= length <= _FRAME_MAX_BYTES:
            raise NotCql("no frame of CQL's protocol, version 4")
        answer = self._receive(length)
        if answered == _ERROR:
            said = _Reader(answer)
            raise SaidError(said.number(">i"), said.string())
        return answered, _without_warnings(answer) if flags & _WITH_WARNINGS else answer

    def close(self) -> None:
        self._socket.close()

    def _receive(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise ConnectionResetError("the server closed the connection")
            parts += part
        return bytes(parts)


def listens(address: Address, tls: Tls | None, timeout_s: float) -> bool:
    """Whether a server there takes clients, whoever they are."""
    try:
        connected = socket.create_connection((address.host, address.port), timeout_s)
        with connected, _encrypted(connected, address, tls, "") as spoken_to:
            return Wire(spoken_to).ask(_OPTIONS)[0] == _SUPPORTED
    except (OSError, SaidError, NotCql):
        return False


def _encrypted(connected: socket.socket, address: Address, tls: Tls | None, where: str) -> socket.socket:
    """The same where there is no TLS. Raises BakeoffError, OSError."""
    return tls.context(where).wrap_socket(connected, server_hostname=address.host) if tls else connected


class Connection:
    """Logged in. consistency: of every statement."""

    def __init__(self, connected: socket.socket, user: str, password: str, consistency: int = LOCAL_ONE) -> None:
        self._wire = Wire(connected)
        self._consistency = consistency
        opcode, _ = self._wire.ask(_STARTUP, _short_string_map({"CQL_VERSION": "3.0.0"}))
        if opcode == _AUTHENTICATE:
            opcode, _ = self._wire.ask(_AUTH_RESPONSE, _bytes(f"\0{user}\0{password}".encode()))
        if opcode not in (_READY, _AUTH_SUCCESS):
            raise NotCql(f"answer {opcode:#04x} to a login")

    def rows(self, cql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """Parameters are `?` in the statement; all are texts."""
        text = cql.encode()
        body = struct.pack(f">i{len(text)}sHB", len(text), text, self._consistency, _WITH_VALUES if parameters else 0)
        if parameters:
            body += struct.pack(">H", len(parameters)) + b"".join(_bytes(str(one).encode()) for one in parameters)
        opcode, answer = self._wire.ask(_QUERY, body)
        if opcode != _RESULT:
            raise NotCql(f"answer {opcode:#04x} to a statement")
        return _Reader(answer).rows()

    def close(self) -> None:
        self._wire.close()


def _short_string_map(pairs: dict[str, str]) -> bytes:
    texts = [text.encode() for pair in pairs.items() for text in pair]
    return struct.pack(">H", len(pairs)) + b"".join(struct.pack(">H", len(text)) + text for text in texts)


def _bytes(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


Decode = Callable[[bytes], Any]


class _Reader:
    def __init__(self, body: bytes) -> None:
        self._body = body
        self._at = 0

    def number(self, layout: str) -> int:
        (value,) = struct.unpack(layout, self.take(struct.calcsize(layout)))
        return int(value)

    def take(self, size: int) -> bytes:
        taken = self._body[self._at : self._at + size]
        self._at += size
        return taken

    def rest(self) -> bytes:
        return self._body[self._at :]

    def string(self) -> str:
        return self.take(self.number(">H")).decode()

    def value(self, decode: Decode) -> Any:
        size = self.number(">i")
        return None if size < 0 else decode(self.take(size))

    def rows(self) -> list[tuple[Any, ...]]:
        """Of an answer to a statement; none where it gives no rows."""
        if self.number(">i") != _ROWS:
            return []
        flags, columns = self.number(">i"), self.number(">i")
        if flags & 0x02:  # further pages, which nobody asked for
            self.take(self.number(">i"))
        of_one_table = flags & 0x01
        for _ in range(2 if of_one_table else 0):
            self.string()
        decoders = [self._column(named=not of_one_table) for _ in range(columns)]
        return [tuple(self.value(decode) for decode in decoders) for _ in range(self.number(">i"))]

    def _column(self, *, named: bool) -> Decode:
        for _ in range(3 if named else 1):
            self.string()
        return self._type()

    def _type(self) -> Decode:
        kind = self.number(">H")
        if kind in (0x20, 0x22):
            return _list_of(self._type())
        if kind == 0x21:
            return _map_of(self._type(), self._type())
        if kind == 0x00:
            self.string()  # the name of its class
        if kind in (0x30, 0x31):
            raise NotCql("a type of a user's own, which no question of ours asks for")
        return _DECODE.get(kind, bytes)


def _without_warnings(body: bytes) -> bytes:
    reader = _Reader(body)
    for _ in range(reader.number(">H")):
        reader.string()
    return reader.rest()


def _list_of(decode: Decode) -> Decode:
    def decoded(value: bytes) -> list[Any]:
        reader = _Reader(value)
        return [reader.value(decode) for _ in range(reader.number(">i"))]

    return decoded


def _map_of(key: Decode, value: Decode) -> Decode:
    def decoded(found: bytes) -> dict[Any, Any]:
        reader = _Reader(found)
        return {reader.value(key): reader.value(value) for _ in range(reader.number(">i"))}

    return decoded


def _packed(layout: str) -> Decode:
    return lambda value: struct.unpack(layout, value)[0]


def _integer(value: bytes) -> int:
    return int.from_bytes(value, signed=True)


#: By the number of the type. Counters, times (ms since 1970) and whole numbers of any width are one thing here.
_DECODE: dict[int, Decode] = {
    **dict.fromkeys((0x02, 0x05, 0x09, 0x0B, 0x0E, 0x13, 0x14), _integer),
    **dict.fromkeys((0x01, 0x0D), bytes.decode),
    **dict.fromkeys((0x0C, 0x0F), lambda value: uuid.UUID(bytes=value)),
    0x04: lambda value: value != b"\0",
    0x07: _packed(">d"),
    0x08: _packed(">f"),
    0x10: lambda value: str(ipaddress.ip_address(value)),
}


#: Codes of what the server says.
_BAD_CREDENTIALS, _UNAVAILABLE, _OVERLOADED, _BOOTSTRAPPING = 0x0100, 0x1000, 0x1001, 0x1002
_READ_TIMEOUT, _WRITE_TIMEOUT, _UNAUTHORIZED = 0x1200, 0x1100, 0x2100


class NotNow(control.Refused):
    """Too few nodes answer for what was asked; they may later."""


class Control(control.Control):
    """Parameters are ? in a statement, and texts. keyspace: of the plan's tables, which need not be there; statements
    name it. consistency: of every statement."""

    product = "Cassandra"
    probe: ClassVar[str] = "SELECT key FROM system.local"

    def __init__(
        self,
        login: Login,
        keyspace: str,
        *,
        where: str,
        timeout_s: float = 5.0,
        consistency: int = LOCAL_ONE,
        on_open: Callable[[control.Connection], None] | None = None,
    ) -> None:
        super().__init__(login, where=where, timeout_s=timeout_s, on_open=on_open)
        self.keyspace = keyspace
        self._consistency = consistency

    def _log_in(self, connected: socket.socket) -> Connection:
        login = self.login
        connected = _encrypted(connected, login.address, login.tls, self._where)
        try:
            return Connection(connected, login.user, login.password, self._consistency)
        except BaseException:
            connected.close()  # with TLS it is another than was handed in
            raise

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if not isinstance(error, SaidError):
            return super()._explained(error, logged_in=logged_in)
        if error.code == _BAD_CREDENTIALS:
            return self._user_refused(str(error))
        if error.code == _UNAUTHORIZED:
            return self._not_allowed(str(error), "keyspace")
        if error.code in (_UNAVAILABLE, _OVERLOADED, _BOOTSTRAPPING, _READ_TIMEOUT, _WRITE_TIMEOUT):
            return NotNow(f"{self.login.address} cannot do this now: {error}", where=self._where)
        return self._other_error(str(error), f"{error.code:#06x}")


def quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """For statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"
