"""bakeoff's own requests to Riak: objects of JSON, with all values of one that has several.

Sources: Riak KV documentation, "HTTP API Reference" (ping, status, bucket properties, list keys; fetch, store and
delete object), "Conflict Resolution".
"""

from __future__ import annotations

import email
import http.client
import json
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar
from urllib.parse import quote

from bakeoff.errors import BakeoffError
from bakeoff.systems.server.control import Login
from bakeoff.systems.server.http import HttpControl, basic

_PING = "/ping"
#: Answers that a request has to expect: there is no such object, or a condition does not hold.
_EXPECTED = (404, 412)
_CLOCK = "X-Riak-Vclock"


class SaidError(Exception):
    """An answer of the server's that is an error."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


@dataclass(frozen=True)
class Answer:
    """values: what is in JSON, of an object each value that is not a deletion. clock: the version that a write over it
    names. date: by the server's clock, in seconds."""

    status: int
    values: Sequence[Mapping[str, Any]]
    clock: str
    date: float


class _Connection:
    def __init__(self, made: http.client.HTTPConnection, login: Login) -> None:
        self._http = made
        self._fields = {"Accept": "application/json, multipart/mixed, */*;q=0.5", **basic(login)}

    def rows(self, sql: str, parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
        """sql: method and path. parameters: fields of its own, and what is sent as JSON; or nothing."""
        method, path = sql.split()
        own, *value = parameters or ({},)
        body = json.dumps(*value) if value else None
        content = {"Content-Type": "application/json"} if value else {}
        self._http.request(method, path, body, {**self._fields, **content, **own})
        answer = self._http.getresponse()
        said = answer.read()
        if path == _PING and answer.status == 200 and said != b"OK":
            raise ValueError("no Riak answers a ping like this")
        no_type = answer.status == 404 and said.startswith(b"Unknown bucket type")
        if answer.status >= 400 and (no_type or answer.status not in _EXPECTED):
            raise SaidError(answer.status, said[:300].decode(errors="replace").strip() or answer.reason)
        date = parsedate_to_datetime(answer.headers["Date"]).timestamp() if "Date" in answer.headers else time.time()
        values = _values(answer.headers.get("Content-Type", ""), said) if answer.status < 400 else []
        return [(Answer(answer.status, values, answer.headers.get(_CLOCK, ""), date),)]

    def close(self) -> None:
        self._http.close()


def _values(content_type: str, said: bytes) -> list[Mapping[str, Any]]:
    """Those of an object that has several come as parts of one answer."""
    if not said:
        return []
    if content_type.startswith("multipart/"):
        parts = email.message_from_bytes(f"Content-Type: {content_type}\r\n\r\n".encode() + said).walk()
        return [
            value
            for part in parts
            if not part.is_multipart() and "X-Riak-Deleted" not in part
            for value in _values(part.get_content_type(), bytes(part.get_payload(decode=True)))
        ]
    read = json.loads(said) if content_type.startswith("application/json") else {}
    return [read if isinstance(read, dict) else {}]


class RiakControl(HttpControl):
    product = "Riak"
    probe: ClassVar[str] = f"GET {_PING}"

    def again(self) -> RiakControl:
        """Another connection to the same."""
        return RiakControl(self.login, where=self._where, timeout_s=self._timeout_s)

    def read(self, path: str) -> Answer:
        """Raises ServerError, but not where there is nothing."""
        answer: Answer = self.rows(f"GET {path}")[0][0]
        return answer

    def get(self, path: str) -> Mapping[str, Any]:
        """What it answers; empty: nothing, or values that contradict each other."""
        values = self.read(path).values
        return values[0] if values and all(value == values[0] for value in values) else {}

    def put(self, path: str, value: Mapping[str, Any], over: Answer) -> bool:
        """In place of all that was read. False: somebody else was faster where there was nothing."""
        fields = {_CLOCK: over.clock} if over.clock and over.status < 400 else {"If-None-Match": "*"}
        answer: Answer = self.rows(f"PUT {path}", fields, value)[0][0]
        return answer.status < 400

    def delete(self, path: str) -> None:
        """Its version is the server's business."""
        self.rows(f"DELETE {path}")

    def keys(self, bucket: str) -> list[str]:
        """Of all objects, and for some seconds of those that were deleted."""
        return [str(key) for key in self.get(f"{bucket}/keys?keys=true").get("keys", [])]

    def _log_in(self, connected: socket.socket) -> _Connection:
        return _Connection(self._http(connected), self.login)

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if not isinstance(error, SaidError):
            return super()._explained(error, logged_in=logged_in)
        if error.status == 401:
            return self._user_refused(str(error))
        if error.status == 403:
            return self._not_allowed(str(error), "prefix")
        return self._other_error(str(error), f"HTTP {error.status}")


def number(found: object) -> float:
    """0 where it is none."""
    return float(found) if isinstance(found, int | float) else 0.0


def object_path(bucket: str, key: str) -> str:
    return f"{bucket}/keys/{quote(key, safe='')}"
