"""The engine's MySQL driver against a real MariaDB, without TLS and with it, and where LOAD DATA LOCAL is
refused: runs the driver's own Rust tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.systems.mysql.mariadb import MariaDb
from builders.systems import configured
from rust_tests import needs_cargo, run_driver_tests

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("mariadb_program"), needs_cargo]

TESTS = ("mysql_wire", "conformance", "values", "bulk")
# What transactions do to each other is the server's, however it is asked: once is enough. Encryption allocates.
ONCE = ("acid", "documents", "session_allocation")


@pytest.mark.parametrize(
    ("tls", "local_infile", "io"),
    [
        (False, "ON", "io_uring"),
        (False, "ON", "epoll"),
        (True, "ON", "io_uring"),
        (True, "ON", "epoll"),
        (False, "OFF", "io_uring"),
    ],
)
def test_the_drivers_own_tests_pass(place: Path, tls: bool, local_infile: str, io: str) -> None:
    start = {"settings": {"local_infile": local_infile}}
    system = configured("mariadb", place / "a", {"start": start, "tls": tls})
    assert isinstance(system, MariaDb)
    system.start()
    try:
        server = system.server
        address = {
            "BAKEOFF_TEST_MYSQL": f"mysql://bench@127.0.0.1:{server.port}/bakeoff",
            "BAKEOFF_TEST_MYSQL_PASSWORD": server.bench_password,
            "BAKEOFF_TEST_MYSQL_SOCKET": str(server.socket),
            "BAKEOFF_TEST_IO": io,
            **({"BAKEOFF_TEST_MYSQL_CA": str(server.authority)} if tls else {}),
        }
        tests = TESTS if tls or io == "epoll" or local_infile == "OFF" else (*TESTS, *ONCE)
        left_out = run_driver_tests(tests, address, of="mysql")
        assert ["TLS" in words for words in left_out] == [True] * (not tls)
        assert system.alive()
    finally:
        system.stop()
