"""The control connection to a PostgreSQL server: a few statements beside the load, never in it.

One connection, used under a lock because the metrics sampler has a thread of its own; after any failure it is closed
and the next statement opens a new one. Every failure becomes a ServerError that names the server.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.systems.server.login import CERTIFICATE_HINT, Address, Login

if TYPE_CHECKING:
    from bakeoff.systems.postgresql.login import Connection

DEFAULT_PORT = 5432
#: What a client asks for on a unix socket is in its name.
SOCKET_NAME = ".s.PGSQL."
_NO_SERVER = "is this the address of a PostgreSQL server, or of a proxy that cannot reach one?"


class NoDatabase(ServerError):
    """The server is there, and the database is not."""


class Control:
    """Statements to one database of one server. Thread-safe; each takes at most `timeout_s`.

    session: variables of the connection, as the load's connections have them.
    """

    def __init__(
        self,
        login: Login,
        database: str,
        *,
        where: str,
        timeout_s: float = 5.0,
        session: Mapping[str, str] | None = None,
    ) -> None:
        self._login = login
        self._database = database
        self._where = where
        self._timeout_s = timeout_s
        self._session = dict(session or {})
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        """Parameters are $1, $2 ... in `sql`."""
        with self._lock:
            logged_in = False
            try:
                connection = self._open()
                logged_in = True
                return connection.rows(sql, parameters)
            except BakeoffError:
                raise
            except Exception as error:  # what is no server makes pg8000 stumble in many ways
                self._drop()
                raise explain(error, self._login, self._where, logged_in=logged_in) from error

    def value(self, sql: str, *parameters: object) -> Any:
        """The first column of the first row, or None."""
        rows = self.rows(sql, *parameters)
        return rows[0][0] if rows else None

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _open(self) -> Connection:
        from bakeoff.systems.postgresql.login import Connection  # pg8000: for those who ask a server

        if self._connection is None:
            login = self._login
            connected = _connect(login.address, self._timeout_s)
            try:
                self._connection = Connection(
                    trusted=bool(login.address.socket or login.tls),
                    sock=connected,
                    host=login.address.host or None,
                    user=login.user,
                    password=login.password,
                    database=self._database,
                    ssl_context=login.tls.context(self._where) if login.tls else False,
                    application_name="bakeoff",
                    startup_params=self._session,
                )
            except BaseException:
                connected.close()
                raise
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(Exception):
                connection.close()


def _connect(address: Address, timeout_s: float) -> socket.socket:
    """By us, because pg8000 1.31 leaks its own whose login fails."""
    if not address.socket:
        return socket.create_connection((address.host, address.port), timeout_s)
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.settimeout(timeout_s)
        connected.connect(address.socket)
    except BaseException:
        connected.close()
        raise
    return connected


def explain(error: Exception, login: Login, where: str, *, logged_in: bool = True) -> ServerError:
    """A database error as one sentence with a hint. Without `logged_in` the login itself has failed."""
    server = f"{login.user}@{login.address}"
    from bakeoff.systems.postgresql.login import PasswordAsked

    if error.args and isinstance(error.args[0], dict):  # pg8000's way to tell what the server says
        return _said(error.args[0], login, where)
    if isinstance(error, PasswordAsked):
        return ServerError(
            f"could not log in to {server}: over plain TCP the server asks for the password itself, which would be"
            " given to whoever answers there",
            where=where,
            hint="set `tls`, connect over a unix socket, or have the server ask for scram-sha-256 (pg_hba.conf)",
        )
    if isinstance(error, ssl.SSLError) or "refuses SSL" in str(error):
        message = getattr(error, "verify_message", "") or getattr(error, "reason", "") or "it offers no encryption"
        return ServerError(
            f"no encrypted connection to {login.address}: {message}",
            where=where,
            hint=f"leave out `tls`, or set the server up for it; {CERTIFICATE_HINT}",
        )
    if isinstance(error, OSError):
        return ServerError(
            f"could not connect to {login.address}: {_plain(error)}",
            where=where,
            hint="is the server running and the address right? Without `address` bakeoff starts a private server",
        )
    if "network error" in str(error) and not logged_in:
        return ServerError(
            f"{login.address} closed the connection before the login was done", where=where, hint=_NO_SERVER
        )
    if "network error" in str(error):
        return ServerError(
            f"the connection to {login.address} was lost: {_plain(error.__cause__ or error)}",
            where=where,
            hint="has the server ended, does it hang, or does a proxy between close connections?",
        )
    return ServerError(f"{login.address} answered what cannot be read: {error}", where=where, hint=_NO_SERVER)


def _said(fields: dict[str, str], login: Login, where: str) -> ServerError:
    """What the server itself says. fields: of its message, by their letters."""
    code, message = fields.get("C", ""), fields.get("M", "")
    server = f"{login.user}@{login.address}"
    if code in ("28P01", "28000"):
        asks_for_tls = "no encryption" in message
        return ServerError(
            f"{login.address} refused user {login.user!r}: {message}",
            where=where,
            hint=f"set `tls = true`; {CERTIFICATE_HINT}"
            if asks_for_tls
            else "check `user`, and the password that `password = { env = ... }` or `{ file = ... }` names",
        )
    if code == "3D000":
        return NoDatabase(f"{server}: {message}", where=where, hint="make it there, or name another `database`")
    if code == "42501":
        return ServerError(
            f"{server} may not do that: {message}", where=where, hint="grant it, or name another `database`"
        )
    if code in ("53300", "57P03"):  # too many connections; starting up or shutting down
        return ServerError(f"{login.address} refused the connection: {message}", where=where)
    return ServerError(f"{server} answered with an error: {message}" + (f" ({code})" if code else ""), where=where)


def _plain(error: BaseException) -> str:
    text = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
    return text[:1].lower() + text[1:]


def quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """For statements that take no parameters."""
    return "'" + text.replace("'", "''") + "'"
