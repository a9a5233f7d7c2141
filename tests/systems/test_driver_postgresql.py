"""The engine's PostgreSQL driver against a real server, without TLS and with it: runs the driver's own Rust tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.systems.postgresql.system import PostgreSql
from builders.systems import configured
from rust_tests import needs_cargo, run_driver_tests

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("postgresql_program"), needs_cargo]

TESTS = ("postgresql_wire", "conformance", "values", "bulk")
# What transactions do to each other is the server's, however it is asked: once is enough. Encryption allocates.
ONCE = ("acid", "documents", "session_allocation")


def started(place: Path, *, tls: bool) -> PostgreSql:
    system = configured("postgresql", place / "a", {"start": True, "tls": tls})
    assert isinstance(system, PostgreSql)
    system.start()
    return system


def address_of(system: PostgreSql) -> dict[str, str]:
    server = system.server
    return {
        "BAKEOFF_TEST_POSTGRESQL": f"postgresql://bench@127.0.0.1:{server.port}/bakeoff",
        "BAKEOFF_TEST_POSTGRESQL_PASSWORD": server.bench_password,
        "BAKEOFF_TEST_POSTGRESQL_SOCKET": server.bench_address("socket").socket,
    }


@pytest.mark.parametrize(("tls", "io"), [(False, "io_uring"), (False, "epoll"), (True, "io_uring"), (True, "epoll")])
def test_the_drivers_own_tests_pass(place: Path, tls: bool, io: str) -> None:
    system = started(place, tls=tls)
    try:
        address = {**address_of(system), "BAKEOFF_TEST_IO": io}
        if tls:
            address["BAKEOFF_TEST_POSTGRESQL_CA"] = str(system.server.authority)
        tests = (*TESTS, *ONCE) if io == "io_uring" and not tls else TESTS
        left_out = run_driver_tests(tests, address, of="postgresql")
        assert ["TLS" in words for words in left_out] == [True] * (not tls)
        assert system.alive()
    finally:
        system.stop()
