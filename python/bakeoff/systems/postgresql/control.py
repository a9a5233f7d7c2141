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
_NAME = "application_name"
#: Where a database is asked for that is not there yet.
MAINTENANCE = "postgres"


class NoDatabase(ServerError):
    """The server is there, and the database is not."""


class Control(control.Control):
    """Parameters are $1, $2 ... in a statement. session: variables of the connection, as the load's have them."""

    product = "PostgreSQL"

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
        from bakeoff.systems.postgresql.login import Connection  # pg8000: only for those who connect

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
        from bakeoff.systems.postgresql.login import PasswordAsked

        if error.args and isinstance(error.args[0], dict):  # pg8000's way to tell what the server says
            return self._said(error.args[0])
        if isinstance(error, PasswordAsked):
            why = "over unencrypted TCP the server requests the password itself, which anyone on the network could read"
            hint = "set `tls`, connect over a unix socket, or configure the server for scram-sha-256 (pg_hba.conf)"
            return self._password_withheld(why, hint)
        if isinstance(error, ssl.SSLError) or "refuses SSL" in str(error):
            message = getattr(error, "verify_message", "") or getattr(error, "reason", "")
            return self._not_encrypted(message or "it offers no encryption")
        if isinstance(error, OSError):
            return self._not_reached(_plain(error))
        if "network error" in str(error):
            return self._lost(_plain(error.__cause__ or error)) if logged_in else self._hung_up()
        return self._unreadable(error)

    def _said(self, fields: dict[str, str]) -> BakeoffError:
        """What the server itself says. fields: of its message, by their letters."""
        code, message = fields.get("C", ""), fields.get("M", "")
        if code in ("28P01", "28000"):
            if "no encryption" in message:
                return self._user_refused(message, control.ENCRYPT_HINT)
            return self._user_refused(message)
        if code == "3D000":
            hint = "create it there, or name another `database`"
            return NoDatabase(f"{self.login.user}@{self.login.address}: {message}", where=self._where, hint=hint)
        if code == "2BP01":  # dependent objects still exist
            depends = fields.get("D", "").partition("\n")[0]
            return PlanError(
                f"{self.login.address}: {message}" + (f": {depends}" if depends else ""),
                where=self._where,
                hint="drop that by hand, or use a separate `database` for the plan's tables",
            )
        if code == "42501":
            return self._not_allowed(message, "database")
        if code in ("53300", "57P03"):  # too many connections; starting up or shutting down
            return self._no_room(message)
        return self._other_error(message, code)


def _plain(error: BaseException) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__


def quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """For statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"
