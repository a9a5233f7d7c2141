"""The control connection to a node of a Cassandra cluster."""

from __future__ import annotations

import ssl
from collections.abc import Callable
from typing import ClassVar

from bakeoff.errors import BakeoffError
from bakeoff.systems.cassandra.cql import LOCAL_ONE, Connection, NotCql, SaidError
from bakeoff.systems.server import control
from bakeoff.systems.server.control import login_bound, open_socket
from bakeoff.systems.server.login import Login

_PRODUCT = "Cassandra"
#: Codes of what the server says.
_BAD_CREDENTIALS, _UNAVAILABLE, _OVERLOADED, _BOOTSTRAPPING = 0x0100, 0x1000, 0x1001, 0x1002
_READ_TIMEOUT, _WRITE_TIMEOUT, _UNAUTHORIZED = 0x1200, 0x1100, 0x2100


class NotNow(control.Refused):
    """Too few nodes answer for what was asked; they may later."""


class Control(control.Control):
    """Parameters are ? in a statement, and texts. keyspace: of the plan's tables, which need not be there; statements
    name it. consistency: of every statement, as in cql.py."""

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

    def _connect(self) -> Connection:
        login = self.login
        connected = open_socket(login.address, self._timeout_s)
        try:
            with login_bound(connected, login, self._where):
                if login.tls:
                    context = login.tls.context(self._where)
                    connected = context.wrap_socket(connected, server_hostname=login.address.host)
                return Connection(connected, login.user, login.password, self._consistency)
        except BaseException:
            connected.close()
            raise

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        return explain(error, self.login, self._where, logged_in=logged_in)


def explain(error: Exception, login: Login, where: str, *, logged_in: bool) -> BakeoffError:
    if isinstance(error, SaidError):
        return _said(error, login, where)
    if isinstance(error, ssl.SSLError):
        return control.not_encrypted(login, getattr(error, "verify_message", "") or str(error.reason), where)
    if isinstance(error, NotCql):
        return control.unreadable(login, error, where, _PRODUCT)
    if isinstance(error, ConnectionResetError) and not logged_in:
        return control.hung_up(login, where, _PRODUCT)
    if isinstance(error, OSError):
        why = error.strerror or str(error) or type(error).__name__
        return (control.lost if logged_in else control.not_reached)(login, why, where)
    return control.unreadable(login, error, where, _PRODUCT)


def _said(error: SaidError, login: Login, where: str) -> BakeoffError:
    if error.code == _BAD_CREDENTIALS:
        return control.user_refused(login, str(error), where)
    if error.code == _UNAUTHORIZED:
        return control.not_allowed(login, str(error), where, "keyspace")
    if error.code in (_UNAVAILABLE, _OVERLOADED, _BOOTSTRAPPING, _READ_TIMEOUT, _WRITE_TIMEOUT):
        return NotNow(f"{login.address} cannot do that now: {error}", where=where)
    return control.other_error(login, str(error), f"{error.code:#06x}", where)


def quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """For statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"
