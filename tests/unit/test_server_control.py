"""A login at something that answers, but never ends it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from bakeoff.errors import ServerError
from bakeoff.systems.cassandra.control import Control as CassandraControl
from bakeoff.systems.mysql.control import Control as MySqlControl
from bakeoff.systems.postgresql.control import Control as PostgreSqlControl
from bakeoff.systems.redis.control import RedisControl
from bakeoff.systems.riak.control import RiakControl
from bakeoff.systems.server import control, http
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


@pytest.mark.parametrize(
    "dripping",
    [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b"HTTP/1.0 200 OK\r\n\r\n"],
    indirect=True,
)
def test_an_answer_that_drips_is_ended(dripping: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "REQUEST_MAX_S", 0.5)
    login = Login(Address(host="127.0.0.1", port=dripping), "u", "p")
    asked = RiakControl(login, where="systems.x", timeout_s=0.4)
    with pytest.raises(ServerError, match=r"did not end its answer within 0 s, though it sends"):
        asked.rows(RiakControl.probe)


#: A refusal of the login in each protocol, from a server that speaks at once.
REFUSALS: list[tuple[bytes, Callable[[Login], control.Control]]] = [
    (b"\x0d\x00\x00\x00\xff\x15\x04#28000denied"[:17], KINDS[0][1]),
    (b"E\x00\x00\x00\x19SFATAL\x00C28000\x00Mno\x00\x00\x00", KINDS[1][1]),
    (b"R\x00\x00\x00\x08\x00\x00\x00\x03", KINDS[1][1]),  # asks for the password itself
    (b"\x84\x00\x00\x00\x00\x00\x00\x00\x08\x00\x00\x01\x00\x00\x02no", KINDS[2][1]),
    (b"-WRONGPASS no\r\n", lambda login: RedisControl(login, where="systems.x")),
]


@pytest.mark.parametrize(("refusal", "made"), REFUSALS)
def test_a_refused_login_leaves_no_connection_behind(refusal: bytes, made: Callable[[Login], control.Control]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        asked = made(Login(Address(host="127.0.0.1", port=listening.getsockname()[1]), "u", "p"))
        with ThreadPoolExecutor() as pool:
            refused = pool.submit(asked.rows, "SELECT 1")
            with listening.accept()[0] as line:
                line.settimeout(30)
                line.sendall(refusal)
                error = refused.exception()  # held, and with it whatever its frames hold
                assert isinstance(error, ServerError), error
                with suppress(ConnectionResetError):
                    while line.recv(4096):
                        pass
