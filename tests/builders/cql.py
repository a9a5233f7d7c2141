"""A CQL server in a thread: it answers each statement with what a test says, byte by byte as Cassandra does."""

from __future__ import annotations

import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

#: By the number of the type that the protocol has.
TEXT, BIGINT, INT, BOOLEAN, DOUBLE = 0x0D, 0x02, 0x09, 0x04, 0x07


class Said(Exception):
    """The server answers with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


Answer = Callable[[str, Sequence[str]], bytes]


def string(text: str) -> bytes:
    return struct.pack(">H", len(text.encode())) + text.encode()


def value(data: bytes | None) -> bytes:
    return struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data


def rows(columns: Sequence[tuple[str, bytes]], *rows: Sequence[bytes | None]) -> bytes:
    """columns: name and type, the type as bytes. rows: cells as bytes."""
    header = struct.pack(">iii", 2, 1, len(columns)) + string("ks") + string("t")
    header += b"".join(string(name) + kind for name, kind in columns)
    return header + struct.pack(">i", len(rows)) + b"".join(value(cell) for row in rows for cell in row)


def kind(number: int, *inner: int) -> bytes:
    """A type; inner: those of what a collection holds."""
    return struct.pack(f">{1 + len(inner)}H", number, *inner)


VOID = struct.pack(">i", 1)


@contextmanager
def serving(answer: Answer, *, warnings: Sequence[str] = (), password: str | None = None) -> Iterator[int]:
    """Gives its port. answer: of statement and parameters; may raise Said. warnings: that it adds to every answer."""

    class Handler(socketserver.BaseRequestHandler):
        request: socket.socket

        def handle(self) -> None:
            while header := self.request.recv(9, socket.MSG_WAITALL):
                _, _, _, opcode, length = struct.unpack(">BBhBi", header)
                body = self.request.recv(length, socket.MSG_WAITALL) if length else b""
                try:
                    self._reply(*self._answered(opcode, body))
                except Said as error:
                    self._reply(0x00, struct.pack(">i", error.code) + string(str(error)))

        def _answered(self, opcode: int, body: bytes) -> tuple[int, bytes]:
            if opcode == 0x05:
                return 0x06, struct.pack(">H", 0)
            if opcode == 0x01:
                return (0x02, b"") if password is None else (0x03, string("PasswordAuthenticator"))
            if opcode == 0x0F:
                if body[4:].split(b"\0")[2].decode() != password:
                    raise Said(0x0100, "Provided username and/or password are incorrect")
                return 0x10, value(None)
            (length,) = struct.unpack(">i", body[:4])
            return 0x08, answer(body[4 : 4 + length].decode(), _parameters(body[4 + length :]))

        def _reply(self, opcode: int, body: bytes) -> None:
            warned = opcode == 0x08 and warnings
            if warned:
                body = struct.pack(">H", len(warnings)) + b"".join(map(string, warnings)) + body
            self.request.sendall(struct.pack(">BBhBi", 0x84, 0x08 if warned else 0, 0, opcode, len(body)) + body)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def _parameters(body: bytes) -> list[str]:
    """Behind consistency and flags."""
    if not body[2] & 0x01:
        return []
    (count,) = struct.unpack(">H", body[3:5])
    found, at = [], 5
    for _ in range(count):
        (length,) = struct.unpack(">i", body[at : at + 4])
        found.append(body[at + 4 : at + 4 + length].decode())
        at += 4 + length
    return found
