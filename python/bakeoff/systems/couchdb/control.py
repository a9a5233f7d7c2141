"""The control connection to a server of CouchDB's protocol: requests alongside the load."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar
from urllib.parse import quote

from bakeoff.errors import BakeoffError
from bakeoff.systems.server.control import Login
from bakeoff.systems.server.http import HttpControl, basic

#: Answers that the one who asks has to expect: there is none, another was faster, it exists.
_EXPECTED = (404, 409, 412)


class SaidError(Exception):
    """An answer of the server's that is an error."""

    def __init__(self, status: int, error: str, reason: str) -> None:
        super().__init__(reason or error)
        self.status = status
        self.error = error


@dataclass(frozen=True)
class Answer:
    """date: by the server's clock, in seconds."""

    status: int
    body: Any
    date: float


class _Connection:
    def __init__(self, made: http.client.HTTPConnection, login: Login) -> None:
        self._http = made
        self._fields = {"Accept": "application/json", "Content-Type": "application/json", **basic(login)}

    def rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """sql: method and path. parameters: what is sent as JSON, or nothing."""
        method, path = sql.split()
        self._http.request(method, path, body=json.dumps(*parameters) if parameters else None, headers=self._fields)
        answer = self._http.getresponse()
        said = answer.read()
        body = json.loads(said) if said else {}
        date = parsedate_to_datetime(answer.headers["Date"]).timestamp() if "Date" in answer.headers else time.time()
        if answer.status >= 400 and answer.status not in _EXPECTED:
            found = body if isinstance(body, dict) else {}
            raise SaidError(answer.status, str(found.get("error", "")), str(found.get("reason", "")))
        return [(Answer(answer.status, body, date),)]

    def close(self) -> None:
        self._http.close()


class Control(HttpControl):
    product = "CouchDB"
    probe: ClassVar[str] = "GET /"

    def ask(self, method: str, path: str, *body: object) -> Answer:
        """Raises ServerError, but not for what does not exist, or exists already."""
        answer: Answer = self.rows(f"{method} {path}", *body)[0][0]
        return answer

    def get(self, path: str) -> Any:
        """What it answers; None: there is nothing."""
        answer = self.ask("GET", path)
        return answer.body if answer.status < 400 else None

    def _log_in(self, connected: socket.socket) -> _Connection:
        return _Connection(self._http(connected), self.login)

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if not isinstance(error, SaidError):
            return super()._explained(error, logged_in=logged_in)
        said = str(error)
        if error.status == 401:
            return self._user_refused(said)
        if error.status == 403:
            return self._not_allowed(said, "prefix")
        return self._other_error(said, error.error or error.status)


def database_path(name: str) -> str:
    return "/" + quote(name, safe="")
