"""The control connection to a database of a PostgreSQL server, by pg8000."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from bakeoff.errors import BakeoffError, PlanError, ServerError
from bakeoff.systems.server import control
from bakeoff.systems.server.control import Login

if TYPE_CHECKING:
    from bakeoff.systems.postgresql.login import Connection

#: What a client asks for on a unix socket is in its name.
SOCKET_NAME = ".s.PGSQL."
_PRODUCT = "PostgreSQL"
_NAME = "application_name"
#: Where a database is asked for that is not there yet.
MAINTENANCE = "postgres"


class NoDatabase(ServerError):
    """The server is there, and the database is not."""


class Control(control.Control):
    """Parameters are $1, $2 ... in a statement. session: variables of the connection, as the load's have them."""

    def __init__(
        self,
        login: Login,
        database: str,
        *,
        where: str,
        timeout_s: float = 5.0,
        session: Mapping[str, str] | None = None,
        on_open: Callable[[control.Connection], None] | None = None,
    ) -> None:
        super().__init__(login, where=where, timeout_s=timeout_s, on_open=on_open)
        self._database = database
        self._session = dict(session or {})

    def _log_in(self, connected: socket.socket) -> Connection:
        from bakeoff.systems.postgresql.login import Connection  # pg8000: for those who ask a server

        login = self.login
        return Connection(
            trusted=bool(login.address.socket or login.tls),
            sock=connected,
            host=login.address.host or None,
            user=login.user,
            password=login.password,
            database=self._database,
            ssl_context=login.tls.context(self._where) if login.tls else False,
            application_name=self._session.get(_NAME, "bakeoff"),  # pg8000 takes it in no other way
            startup_params={name: value for name, value in self._session.items() if name != _NAME},
        )

    def _explained(self, error: Exception, *, logged_in: bool) -> BakeoffError:
        return explain(error, self.login, self._where, logged_in=logged_in)


def explain(error: Exception, login: Login, where: str, *, logged_in: bool = True) -> BakeoffError:
    from bakeoff.systems.postgresql.login import PasswordAsked

    if error.args and isinstance(error.args[0], dict):  # pg8000's way to tell what the server says
        return _said(error.args[0], login, where)
    if isinstance(error, PasswordAsked):
        why = "over plain TCP the server asks for the password itself, which would be given to whoever answers there"
        hint = "set `tls`, connect over a unix socket, or have the server ask for scram-sha-256 (pg_hba.conf)"
        return control.password_withheld(login, why, where, hint)
    if isinstance(error, ssl.SSLError) or "refuses SSL" in str(error):
        message = getattr(error, "verify_message", "") or getattr(error, "reason", "") or "it offers no encryption"
        return control.not_encrypted(login, message, where)
    if isinstance(error, OSError):
        return control.not_reached(login, _plain(error), where)
    if "network error" in str(error) and not logged_in:
        return control.hung_up(login, where, _PRODUCT)
    if "network error" in str(error):
        return control.lost(login, _plain(error.__cause__ or error), where)
    return control.unreadable(login, error, where, _PRODUCT)


def _said(fields: dict[str, str], login: Login, where: str) -> BakeoffError:
    """What the server itself says. fields: of its message, by their letters."""
    code, message = fields.get("C", ""), fields.get("M", "")
    if code in ("28P01", "28000"):
        if "no encryption" in message:
            return control.user_refused(login, message, where, control.ENCRYPT_HINT)
        return control.user_refused(login, message, where)
    if code == "3D000":
        hint = "make it there, or name another `database`"
        return NoDatabase(f"{login.user}@{login.address}: {message}", where=where, hint=hint)
    if code == "2BP01":  # dependent objects still exist
        depends = fields.get("D", "").partition("\n")[0]
        return PlanError(
            f"{login.address}: {message}" + (f": {depends}" if depends else ""),
            where=where,
            hint="drop that by hand, or keep the tables of the plan apart from it by a `database` of ours",
        )
    if code == "42501":
        return control.not_allowed(login, message, where, "database")
    if code in ("53300", "57P03"):  # too many connections; starting up or shutting down
        return control.no_room(login, message, where)
    return control.other_error(login, message, code, where)


def _plain(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__


def quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """For statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"
