"""The control connection to a server of the MySQL family, by PyMySQL."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pymysql
import pymysql.err
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from pymysql.constants import CR, ER

from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.server import control
from bakeoff.systems.server.control import ENCRYPT_HINT

_KEY_BYTES_MAX = 65536
_ASKED = "over unencrypted TCP the server requests the password itself, which anyone on the network could read"


class _Refused:
    """Stands for the ways of logging in that send the password as it is."""

    def __init__(self, connection: object) -> None:
        pass

    def authenticate(self, packet: object) -> Any:
        raise pymysql.err.OperationalError(CR.CR_AUTH_PLUGIN_ERR, _ASKED)


class Connection(pymysql.connections.Connection):
    """`private`: nobody else can answer or listen at the address (a unix socket).

    PyMySQL encrypts a password to whatever key it is offered, and sends it as it is to whoever asks for that. Here it
    is given over TLS, over a unix socket, or to the key that the plan names; everybody else gets scrambles, or nothing.
    """

    def __init__(self, *, server_key: bytes | None, private: bool, ssl: Any, **options: Any) -> None:
        self._server_key = server_key
        trusted = private or ssl is not None
        plain: dict[str, Callable[[Any], Any]] = {"mysql_clear_password": _Refused, "dialog": _Refused}
        super().__init__(ssl=ssl, auth_plugin_map={} if trusted else plain, **options)
        self._secure = private

    @property
    def server_public_key(self) -> bytes:
        """The key that the plan names; asked for only where the connection is not secure."""
        if self._server_key is None:
            raise pymysql.err.OperationalError(CR.CR_AUTH_PLUGIN_ERR, _ASKED)
        return self._server_key

    @server_public_key.setter
    def server_public_key(self, offered: bytes | None) -> None:
        """What a server offers is not taken."""

    def rows(self, sql: str, parameters: Sequence[object]) -> list[tuple[Any, ...]]:
        with self.cursor() as cursor:
            cursor.execute(sql, parameters or None)
            return list(cursor.fetchall())

    def close(self) -> None:
        """PyMySQL's own says farewell, perhaps to a frozen server."""
        self._force_close()  # type: ignore[attr-defined]


def read_server_key(path: Path, where: str) -> bytes:
    """An RSA public key as PEM. Errors: PlanError, if the file cannot be read or holds none."""
    try:
        with path.open("rb") as file:
            text = file.read(_KEY_BYTES_MAX)
        key = serialization.load_pem_public_key(text)
    except OSError as error:
        raise PlanError(f"cannot read the server's public key {path}: {error.strerror}", where=where) from error
    except ValueError:
        key = None
    if not isinstance(key, RSAPublicKey):
        raise PlanError(
            f"{path} has no RSA public key",
            where=where,
            hint="it is the server's `public_key.pem`, or its status variable Caching_sha2_password_rsa_public_key",
        )
    return text


_ACCESS_DENIED_NO_PASSWORD = 1698
_ENCRYPTED_ONLY = 3159


class Control(control.Control):
    """Parameters are %s in a statement."""

    product = "MariaDB or MySQL"

    def _log_in(self, connected: socket.socket) -> Connection:
        login = self.login
        key_file = login.server_key_file
        connection = Connection(
            server_key=read_server_key(key_file, f"{self._where}.server_public_key_file") if key_file else None,
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
        connection.connect(connected)
        return connection

    def _explained(self, error: Exception, *, logged_in: bool) -> ServerError:
        code, message = _code_and_message(error)
        if code == _ENCRYPTED_ONLY:
            return self._failed(f"{self.login.address} accepts only encrypted connections: {message}", ENCRYPT_HINT)
        if code in (CR.CR_AUTH_PLUGIN_ERR, CR.CR_AUTH_PLUGIN_CANNOT_LOAD):
            hint = "set `tls`, connect over a unix socket, or name the server's own key in `server_public_key_file`"
            return self._password_withheld(message, hint)
        if code == CR.CR_SSL_CONNECTION_ERROR:
            return self._not_encrypted(message)
        if not logged_in and code in (CR.CR_SERVER_LOST, CR.CR_SERVER_GONE_ERROR):
            return self._hung_up()
        if code in (CR.CR_CONN_HOST_ERROR, CR.CR_CONNECTION_ERROR, CR.CR_UNKNOWN_HOST):
            return self._not_reached(_plain(message.partition("(")[2].rpartition(")")[0] or message))
        if code in (ER.ACCESS_DENIED_ERROR, _ACCESS_DENIED_NO_PASSWORD):
            return self._user_refused(message)
        if code in (ER.DBACCESS_DENIED_ERROR, ER.TABLEACCESS_DENIED_ERROR, ER.SPECIFIC_ACCESS_DENIED_ERROR):
            return self._not_allowed(message, "schema")
        if code in (ER.CON_COUNT_ERROR, ER.HOST_NOT_PRIVILEGED, ER.HOST_IS_BLOCKED):
            return self._no_room(message)
        if code in (CR.CR_SERVER_LOST, CR.CR_SERVER_GONE_ERROR):
            return self._lost(_plain(message))
        # PyMySQL's own, and what it stumbles over: what it read is not the protocol.
        if not code and (isinstance(error, pymysql.err.InternalError) or not isinstance(error, pymysql.err.Error)):
            return self._unreadable(message)
        return self._other_error(message, code)


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
    """Without Python's own number: "[Errno 111] Connection refused" becomes "Connection refused"."""
    return reason.partition("] ")[2] or reason
