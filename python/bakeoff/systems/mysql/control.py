"""The control connection to a server of the MySQL family: a few statements beside the load, never in it.

One connection, used under a lock because the metrics sampler has a thread of its own; after any failure it is closed
and the next statement opens a new one. Every failure becomes a ServerError that names the server.
"""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import suppress
from typing import Any

import pymysql
import pymysql.err
from pymysql.constants import CR, ER

from bakeoff.errors import BakeoffError, ServerError
from bakeoff.systems.mysql.login import Connection
from bakeoff.systems.server.login import CERTIFICATE_HINT, Login

DEFAULT_PORT = 3306
_ACCESS_DENIED_NO_PASSWORD = 1698
_ENCRYPTED_ONLY = 3159
_NO_SERVER = "is this the address of a MariaDB or MySQL server, or of a proxy that cannot reach one?"


class Control:
    """Statements to one server. Thread-safe; each takes at most `timeout_s`."""

    def __init__(self, login: Login, *, where: str, timeout_s: float = 5.0) -> None:
        self._login = login
        self._where = where
        self._timeout_s = timeout_s
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def rows(self, sql: str, *parameters: object) -> list[tuple[Any, ...]]:
        with self._lock:
            logged_in = False
            try:
                connection = self._open()
                logged_in = True
                with connection.cursor() as cursor:
                    cursor.execute(sql, parameters or None)
                    return list(cursor.fetchall())
            except BakeoffError:
                raise
            except Exception as error:  # what is no server makes PyMySQL stumble in many ways
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
        if self._connection is None:
            login = self._login
            connection = Connection(
                server_key=login.server_key,
                private=bool(login.address.socket),
                host=login.address.host or None,
                port=login.address.port,
                unix_socket=login.address.socket or None,
                user=login.user,
                password=login.password,
                ssl=login.tls.context(self._where) if login.tls else None,
                ssl_disabled=login.tls is None,
                connect_timeout=max(1, round(self._timeout_s)),
                read_timeout=self._timeout_s,
                write_timeout=self._timeout_s,
                autocommit=True,
                charset="utf8mb4",
                defer_connect=True,
            )
            connection.connect(_unix_socket(login.address.socket, self._timeout_s) if login.address.socket else None)
            self._connection = connection
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            with suppress(Exception):
                connection._force_close()  # type: ignore[attr-defined]  # close() says farewell, perhaps to a frozen server


def _unix_socket(path: str, timeout_s: float) -> socket.socket:
    """Connected by us, because PyMySQL 1.1 leaks its own where nobody listens."""
    connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connected.settimeout(timeout_s)
        connected.connect(path)
    except BaseException:
        connected.close()
        raise
    return connected


def explain(error: Exception, login: Login, where: str, *, logged_in: bool = True) -> ServerError:
    """A database error as one sentence with a hint. Without `logged_in` the login itself has failed."""
    code, message = _code_and_message(error)
    server = f"{login.user}@{login.address}"
    if code == _ENCRYPTED_ONLY:
        return ServerError(
            f"{login.address} takes encrypted connections only: {message}",
            where=where,
            hint=f"set `tls = true`; {CERTIFICATE_HINT}",
        )
    if code in (CR.CR_AUTH_PLUGIN_ERR, CR.CR_AUTH_PLUGIN_CANNOT_LOAD):
        return ServerError(
            f"could not log in to {server}: {message}",
            where=where,
            hint="set `tls`, connect over a unix socket, or name the server's own key in `server_public_key_file`",
        )
    if code == CR.CR_SSL_CONNECTION_ERROR:
        return ServerError(
            f"no encrypted connection to {login.address}: {message}",
            where=where,
            hint=f"leave out `tls`, or set the server up for it; {CERTIFICATE_HINT}",
        )
    if not logged_in and code in (CR.CR_SERVER_LOST, CR.CR_SERVER_GONE_ERROR):
        return ServerError(
            f"{login.address} closed the connection before the login was done", where=where, hint=_NO_SERVER
        )
    if code in (CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR, CR.CR_UNKNOWN_HOST):
        reason = message.partition("(")[2].rpartition(")")[0] or message
        return ServerError(
            f"could not connect to {login.address}: {_plain(reason)}",
            where=where,
            hint="is the server running and the address right? Without `address` bakeoff starts a private server",
        )
    if code in (ER.ACCESS_DENIED_ERROR, _ACCESS_DENIED_NO_PASSWORD):
        return ServerError(
            f"{login.address} refused user {login.user!r}: {message}",
            where=where,
            hint="check `user`, and the password that `password = { env = ... }` or `{ file = ... }` names",
        )
    if code in (ER.DBACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR, ER.SPECIFIC_ACCESS_DENIED_ERROR):
        return ServerError(
            f"{server} may not do that: {message}", where=where, hint="grant it, or name another `schema`"
        )
    if code in (ER.CON_COUNT_ERROR, ER.HOST_NOT_PRIVILEGED, ER.HOST_IS_BLOCKED):
        return ServerError(f"{login.address} refused the connection: {message}", where=where)
    if code in (CR.CR_SERVER_LOST, CR.CR_SERVER_GONE_ERROR):
        return ServerError(
            f"the connection to {login.address} was lost: {_plain(message)}",
            where=where,
            hint="has the server ended, does it hang, or does a proxy between close connections?",
        )
    # PyMySQL's own, and what it stumbles over: what it read is not the protocol.
    if not code and (isinstance(error, pymysql.err.InternalError) or not isinstance(error, pymysql.err.Error)):
        return ServerError(f"{login.address} answered what cannot be read: {message}", where=where, hint=_NO_SERVER)
    return ServerError(f"{server} answered with an error: {message}" + (f" ({code})" if code else ""), where=where)


def _code_and_message(error: Exception) -> tuple[int, str]:
    cause = getattr(error, "original_exception", error)  # PyMySQL's: of an error before there was a connection
    if isinstance(cause, ssl.SSLError):
        return CR.CR_SSL_CONNECTION_ERROR, getattr(cause, "verify_message", "") or cause.reason or str(cause)
    arguments = error.args
    if isinstance(error, OSError):
        return CR.CR_CONN_HOST_ERROR, error.strerror or str(error)
    if isinstance(error, pymysql.err.Error) and len(arguments) >= 2 and isinstance(arguments[0], int):
        return arguments[0], str(arguments[1])
    return 0, str(error) or type(error).__name__


def _plain(reason: str) -> str:
    """Without Python's own number and quotes: "[Errno 111] Connection refused" becomes "connection refused"."""
    text = reason.partition("] ")[2] or reason
    return text[:1].lower() + text[1:]
