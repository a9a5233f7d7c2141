"""The control connection to a MongoDB server: commands alongside the load."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

from bakeoff.errors import BakeoffError
from bakeoff.systems.mongodb.wire import NotMongo, NotTrusted, SaidError, Wire, batches
from bakeoff.systems.server import control
from bakeoff.systems.server.control import Login

_UNAUTHORIZED, _AUTHENTICATION_FAILED = 13, 18
ADMIN = "admin"


class _Connection:
    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.wire = Wire(connected)

    def rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        """sql: a command of the server alone; or a database, with its command as the parameter."""
        if not parameters:
            return [(self.wire.ask(ADMIN, {sql: 1}),)]
        (command,) = parameters
        return [(self.wire.ask(sql, cast("Mapping[str, Any]", command)),)]

    def close(self) -> None:
        self._socket.close()


class Control(control.Control):
    """database: of the plan's collections. auth_source: the database that has the account."""

    product = "MongoDB"
    probe: ClassVar[str] = "ping"

    def __init__(
        self,
        login: Login,
        database: str,
        auth_source: str,
        *,
        where: str,
        timeout_s: float = 5.0,
        on_open: Callable[[control.Connection], None] | None = None,
    ) -> None:
        super().__init__(login, where=where, timeout_s=timeout_s, on_open=on_open)
        self.database = database
        self._auth_source = auth_source

    def _log_in(self, connected: socket.socket) -> _Connection:
        login = self.login
        if login.tls:
            context = login.tls.context(self._where)
            connected = context.wrap_socket(connected, server_hostname=login.address.host)
        connection = _Connection(connected)
        connection.wire.hello()
        if login.password:
            connection.wire.log_in(login.user, login.password, self._auth_source)
        return connection

    def ask(self, command: Mapping[str, Any], database: str | None = None) -> dict[str, Any]:
        """The answer. Raises ServerError."""
        answer: dict[str, Any] = self.rows(self.database if database is None else database, command)[0][0]
        return answer

    def documents(self, command: dict[str, Any], collection: str) -> list[Any]:
        """Of a result, all."""
        return batches(self.ask, command, collection)

    def hello(self) -> dict[str, Any]:
        try:
            return self.ask({"hello": 1}, ADMIN)
        except control.Refused:
            return self.ask({"isMaster": 1}, ADMIN)

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        if isinstance(error, NotTrusted):
            return self._failed(f"the login at {self.login.address} was ended: {error}", self._no_server)
        if isinstance(error, NotMongo):
            return self._unreadable(error)
        if not isinstance(error, SaidError):
            return super()._explained(error, logged_in=logged_in)
        said = str(error)
        if error.code == _AUTHENTICATION_FAILED:
            return self._user_refused(said)
        if error.code == _UNAUTHORIZED:
            return self._not_allowed(said, "database")
        return self._other_error(said, error.code or "")
