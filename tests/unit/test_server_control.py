"""A login at something that answers, but never ends it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from bakeoff.errors import ServerError
from bakeoff.systems.cassandra.control import Control as CassandraControl
from bakeoff.systems.mysql.control import Control as MySqlControl
from bakeoff.systems.postgresql.control import Control as PostgreSqlControl
from bakeoff.systems.server import control
from bakeoff.systems.server.control import Address, Login

#: The beginning of a long message in each protocol.
MYSQL, POSTGRESQL, CASSANDRA = b"\xff\xff\x00\x00\x0a", b"S\x00\x01\x00\x00", b"\x84\x00\x00\x00\x06\x00\x01\x00\x00"
KINDS: list[tuple[bytes, Callable[[Login], control.Control]]] = [
    (MYSQL, lambda login: MySqlControl(login, where="systems.x")),
    (POSTGRESQL, lambda login: PostgreSqlControl(login, "d", where="systems.x")),
    (CASSANDRA, lambda login: CassandraControl(login, "k", where="systems.x")),
]


@pytest.fixture
def dripping(request: pytest.FixtureRequest) -> Iterator[int]:
    """The port of a server that sends the beginning and then a byte now and then."""
    over = threading.Event()

    def drip(begin: bytes, listening: socket.socket) -> None:
        with suppress(OSError), listening, listening.accept()[0] as line:
            line.sendall(begin)
            while not over.wait(0.02):
                line.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(30)
        thread = threading.Thread(target=drip, args=(request.param, listening))
        thread.start()
        yield listening.getsockname()[1]
        over.set()
        thread.join()


@pytest.mark.parametrize(("dripping", "made"), KINDS, indirect=["dripping"])
def test_a_login_that_drips_is_ended(
    dripping: int, made: Callable[[Login], control.Control], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "LOGIN_MAX_S", 0.5)
    asked = made(Login(Address(host="127.0.0.1", port=dripping), "u", "p"))
    with pytest.raises(ServerError, match=r"did not end within 0 s, though it answers"):
        asked.rows("SELECT 1")
