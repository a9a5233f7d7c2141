"""Logging in with PyMySQL, without giving the password to somebody who only answers in the server's place.

PyMySQL encrypts a password to whatever key it is offered, and sends it as it is to whoever asks for that. Here it is
given over TLS, over a unix socket, or to the key that the plan names; everybody else gets scrambles, or nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pymysql
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from pymysql.constants import CR

from bakeoff.errors import PlanError

_KEY_BYTES_MAX = 65536
_ASKED = "over plain TCP the server asks for the password itself, which would be given to whoever answers there"


class _Refused:
    """Stands for the ways of logging in that send the password as it is."""

    def __init__(self, connection: object) -> None:
        pass

    def authenticate(self, packet: object) -> Any:
        raise pymysql.err.OperationalError(CR.CR_AUTH_PLUGIN_ERR, _ASKED)


class Connection(pymysql.connections.Connection):
    """`private`: nobody else can answer or listen at the address (a unix socket)."""

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
            f"{path} holds no RSA public key",
            where=where,
            hint="it is the server's `public_key.pem`, or its status variable Caching_sha2_password_rsa_public_key",
        )
    return text
