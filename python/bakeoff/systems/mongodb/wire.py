"""The part of MongoDB's wire protocol that our statements alongside the load need: a command is a dictionary, and so
is its answer.

The usual library, PyMongo, watches a server from threads of its own, retries, and no longer speaks to the peer. Here
each server is asked for itself, and one that does not answer must be seen not answering.

Sources: bsonspec.org; MongoDB documentation, "MongoDB Wire Protocol"; RFC 5802 and RFC 7677 (SCRAM-SHA-256).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
import struct
import unicodedata
import uuid
from collections.abc import Callable, Mapping
from typing import Any

_OP_MSG = 2013
_HEAD = struct.Struct("<iiiiIB")
#: Longer than any answer to a command of ours.
_MESSAGE_MAX_BYTES = 64 << 20
_DEPTH_MAX = 100
COMMAND_NOT_FOUND = 59


class SaidError(Exception):
    """What the server says. code: as the protocol has it; 0: it gives none."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class NotMongo(Exception):
    """What answers there speaks something else."""


class NotTrusted(Exception):
    """The server did not show that it knows the password."""


class Wire:
    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._number = 0

    def ask(self, database: str, command: Mapping[str, Any]) -> dict[str, Any]:
        """The answer. Raises SaidError, NotMongo, OSError."""
        self._number += 1
        body = encode({**command, "$db": database})
        self._socket.sendall(_HEAD.pack(_HEAD.size + len(body), self._number, 0, _OP_MSG, 0, 0) + body)
        length, _, to, kind, flags, section = _HEAD.unpack(self._receive(_HEAD.size))
        if not _HEAD.size < length <= _MESSAGE_MAX_BYTES or (to, kind, section) != (self._number, _OP_MSG, 0):
            raise NotMongo("no message of MongoDB's protocol (3.6 or later)")
        if flags & 0xFFFF:
            raise NotMongo("a message with flags that nobody has asked for")
        answer = decode(self._receive(length - _HEAD.size))
        if answer.get("ok") != 1:
            raise SaidError(int(answer.get("code") or 0), str(answer.get("errmsg", "")))
        for failed in (*answer.get("writeErrors", ()), *filter(None, [answer.get("writeConcernError")])):
            raise SaidError(int(failed.get("code") or 0), str(failed.get("errmsg", "")))
        return answer

    def _receive(self, size: int) -> bytes:
        received = bytearray()
        while len(received) < size:
            more = self._socket.recv(size - len(received))
            if not more:
                raise ConnectionResetError("it was closed")
            received += more
        return bytes(received)

    def hello(self) -> dict[str, Any]:
        """What it is. Servers before 4.4.2 know another name of the command."""
        try:
            return self.ask("admin", {"hello": 1})
        except SaidError as error:
            if error.code != COMMAND_NOT_FOUND:
                raise
            return self.ask("admin", {"isMaster": 1})

    def log_in(self, user: str, password: str, source: str) -> None:
        """Raises SaidError, NotTrusted."""
        nonce = base64.b64encode(secrets.token_bytes(24)).decode()
        first = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
        begun = self.ask(source, {"saslStart": 1, "mechanism": "SCRAM-SHA-256", "payload": f"n,,{first}".encode()})
        answer, expected = prove(first, nonce, password, _payload(begun))
        go_on = {"saslContinue": 1, "conversationId": begun["conversationId"]}
        last = self.ask(source, {**go_on, "payload": answer.encode()})
        if not hmac.compare_digest(_payload(last), expected):
            raise NotTrusted("it does not know the password either")
        if not last.get("done"):
            self.ask(source, {**go_on, "payload": b""})


def _payload(answer: Mapping[str, Any]) -> str:
    payload = answer.get("payload")
    if not isinstance(payload, bytes):
        raise NotMongo("a login without a payload")
    return payload.decode(errors="replace")


def prove(first: str, nonce: str, password: str, challenge: str) -> tuple[str, str]:
    """What to answer to a challenge, and what the server has to say to it. Raises NotTrusted."""
    parts = dict(part.split("=", 1) for part in challenge.split(",") if "=" in part)
    try:
        theirs, salt, rounds = parts["r"], base64.b64decode(parts["s"], validate=True), int(parts["i"])
    except (KeyError, ValueError) as error:
        raise NotTrusted("its challenge cannot be read") from error
    if not theirs.startswith(nonce) or len(theirs) == len(nonce) or not 4096 <= rounds <= 1_000_000:
        raise NotTrusted("its challenge is not one for this login")
    salted = hashlib.pbkdf2_hmac("sha256", unicodedata.normalize("NFKC", password).encode(), salt, rounds)
    without_proof = f"c=biws,r={theirs}"
    signed = f"{first},{challenge},{without_proof}".encode()
    client_key = _hash(salted, b"Client Key")
    signature = _hash(hashlib.sha256(client_key).digest(), signed)
    proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
    server = _hash(_hash(salted, b"Server Key"), signed)
    return f"{without_proof},p={base64.b64encode(proof).decode()}", f"v={base64.b64encode(server).decode()}"


def _hash(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


# -- BSON --------------------------------------------------------------------------------------------------------------


class _Long(int):
    """In 64 bits, whatever its size."""


def encode(document: Mapping[str, Any]) -> bytes:
    body = b"".join(_element(name, value) for name, value in document.items())
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def _element(name: str, value: Any) -> bytes:
    kind, stored = _stored(value)
    return bytes([kind]) + name.encode() + b"\0" + stored


def _stored(value: Any) -> tuple[int, bytes]:
    if value is None:
        return 0x0A, b""
    if isinstance(value, bool):
        return 0x08, bytes([value])
    if isinstance(value, _Long):
        return 0x12, struct.pack("<q", value)
    if isinstance(value, int):
        return (0x10, struct.pack("<i", value)) if -(1 << 31) <= value < 1 << 31 else (0x12, struct.pack("<q", value))
    if isinstance(value, float):
        return 0x01, struct.pack("<d", value)
    if isinstance(value, str):
        text = value.encode() + b"\0"
        return 0x02, struct.pack("<i", len(text)) + text
    if isinstance(value, bytes):
        return 0x05, struct.pack("<iB", len(value), 0) + value
    if isinstance(value, Mapping):
        return 0x03, encode(value)
    return 0x04, encode({str(place): one for place, one in enumerate(value)})


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, size: int) -> bytes:
        if not 0 <= size <= len(self._data) - self._at:
            raise NotMongo("a document that is shorter than it says")
        taken = self._data[self._at : self._at + size]
        self._at += size
        return taken

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def name(self) -> str:
        end = self._data.find(b"\0", self._at)
        name = self.take(end - self._at)
        self._at += 1
        return name.decode(errors="replace")

    def text(self) -> str:
        return self.take(self.number("<i"))[:-1].decode(errors="replace")

    def document(self, depth: int) -> dict[str, Any]:
        if depth > _DEPTH_MAX:
            raise NotMongo("documents in documents without an end")
        start = self._at
        end = start + self.number("<i") - 1
        found: dict[str, Any] = {}
        while self._at < end:
            kind = self.number("<B")
            name = self.name()
            found[name] = self.value(kind, depth)
        if self._at != end or self.take(1) != b"\0":
            raise NotMongo("a document that does not end where it says")
        return found

    def value(self, kind: int, depth: int) -> Any:
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind in (0x02, 0x0D, 0x0E):
            return self.text()
        if kind == 0x03:
            return self.document(depth + 1)
        if kind == 0x04:
            return [*self.document(depth + 1).values()]
        if kind == 0x05:
            size, subtype = self.number("<i"), self.number("<B")
            taken = self.take(size)
            return uuid.UUID(bytes=taken) if subtype == 4 and size == 16 else taken
        if kind in _OF_SIZE:
            return self.take(_OF_SIZE[kind])
        if kind == 0x0B:
            return (self.name(), self.name())
        if kind in (0x06, 0x0A, 0x7F, 0xFF):
            return None
        raise NotMongo(f"a value of type 0x{kind:02x}")


#: A moment is in ms, and one of the server's own clock in s and a count.
_NUMBERS: Mapping[int, str] = {0x01: "<d", 0x08: "<?", 0x09: "<q", 0x10: "<i", 0x11: "<Q", 0x12: "<q"}
_OF_SIZE: Mapping[int, int] = {0x07: 12, 0x13: 16}


def decode(data: bytes) -> dict[str, Any]:
    """Raises NotMongo."""
    reader = _Reader(data)
    document = reader.document(0)
    if int.from_bytes(data[:4], "little") != len(data):
        raise NotMongo("a message that is not one document")
    return document


def batches(ask: Callable[[dict[str, Any]], dict[str, Any]], command: dict[str, Any], collection: str) -> list[Any]:
    """All documents of a result, however many answers it comes in."""
    cursor = ask(command)["cursor"]
    found = [*cursor["firstBatch"]]
    while cursor["id"]:
        cursor = ask({"getMore": _Long(cursor["id"]), "collection": collection})["cursor"]
        found += cursor["nextBatch"]
    return found
