"""What is read out of a PostgreSQL's words, and whom it gives a password: no server needed."""

from __future__ import annotations

import socket
import struct
import threading

import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.provision.server import PortTaken
from bakeoff.systems.ledger import Entry
from bakeoff.systems.postgresql.control import Control, literal, quoted
from bakeoff.systems.postgresql.ledger import PostgreSqlLedger, stored
from bakeoff.systems.postgresql.process import explain_failed_start
from bakeoff.systems.postgresql.system import version_of
from bakeoff.systems.server.control import Address, Login

LOG = "2026-11-22 02:34:07 GMT [1] "


@pytest.mark.parametrize(
    ("log", "kind", "words"),
    [
        ('FATAL:  unrecognized configuration parameter "shared_bufers"', PlanError, "'shared_bufers'"),
        ('FATAL:  invalid value for parameter "fsync": "maybe"', PlanError, "'maybe' as 'fsync'"),
        (
            'FATAL:  1 kB is outside the valid range for parameter "work_mem" (64 kB .. 2147483647 kB)',
            PlanError,
            "'1 kB' as 'work_mem'",
        ),
        ('LOG:  could not bind IPv4 address "127.0.0.1": Address already in use', PortTaken, "port 5432 is used"),
        ("FATAL:  could not map anonymous shared memory: Cannot allocate memory", ServerError, "the memory"),
        ("FATAL:  something else", ServerError, "did not start (exit code 1): something else"),
    ],
)
def test_a_failed_start_is_explained(log: str, kind: type[Exception], words: str) -> None:
    found = explain_failed_start(
        LOG + log, "exit code 1", where="systems.p", port=5432, known=lambda: ["shared_buffers"]
    )
    assert isinstance(found, kind)
    assert words in found.what


@pytest.mark.parametrize(
    ("said", "version"),
    [
        ("postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)", "15.20"),
        ("postgres (PostgreSQL) 19devel", "19"),
        ("something else 1.2", None),
    ],
)
def test_the_version_is_distinguished_from_what_the_program_says(said: str, version: str | None) -> None:
    assert version_of(said) == version


@pytest.mark.parametrize(
    ("number", "entry", "ours"),
    [
        (20, None, False),
        (20, Entry("set", True, 20), True),
        (21, Entry("set", True, 20), False),  # created again by somebody else
        (21, Entry("set", False, 20), True),  # made by the load that was cut short
        (20, Entry("set", False, 20), False),
        (19, Entry("set", False, 20), False),  # there before the load began
        (5, Entry("set", False, 2**32 - 5), True),  # numbers have begun again
    ],
)
def test_a_table_is_known_by_its_number(number: int, entry: Entry | None, ours: bool) -> None:
    ledger = PostgreSqlLedger(Login(Address("db1", 5432), "bench", ""), "bakeoff", {}, "")
    assert ledger._judged("t", number, entry).ours is ours


def test_identifiers_and_texts_cannot_break_out() -> None:
    assert quoted('a"b') == '"a""b"'
    assert literal("a'b") == "'a''b'"


def test_the_password_itself_is_not_given_over_plain_tcp() -> None:
    heard: list[bytes] = []

    def serve() -> None:
        peer = listener.accept()[0]
        with peer:
            peer.recv(65536)
            peer.sendall(b"R" + struct.pack("!ii", 8, 3))  # asks for it in clear text
            while words := peer.recv(65536):
                heard.append(words)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve, daemon=True)
        serving.start()
        control = Control(Login(Address("127.0.0.1", listener.getsockname()[1]), "bench", "hunter2"), "d", where="x")
        with pytest.raises(ServerError, match="over unencrypted TCP the server requests the password itself"):
            control.value("SELECT 1")
        serving.join(timeout=60)
    assert b"hunter2" not in b"".join(heard)


def test_a_table_is_looked_for_by_the_name_that_the_engine_gives_it() -> None:
    assert [stored(name) for name in ("usertable", "Z 1", "ÄÖ")] == ["usertable", "z 1", "ÄÖ"]
