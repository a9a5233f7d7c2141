"""The engine's PostgreSQL driver against a real server, without TLS and with it: runs the driver's own Rust tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.systems.postgresql.system import PostgreSql
from builders.systems import configured
from rust_tests import needs_cargo, run_driver_tests

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("postgresql_program"), needs_cargo]

TESTS = ("postgresql_wire", "postgresql_library", "conformance", "values", "bulk", "session_allocation")
# What transactions do to each other is the server's, however it is asked: once is enough.
ONCE = ("acid",)


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


@pytest.mark.parametrize("io", ["io_uring", "epoll"])
def test_the_drivers_own_tests_pass(place: Path, io: str) -> None:
    system = started(place, tls=False)
    try:
        tests = (*TESTS, *ONCE) if io == "io_uring" else TESTS
        left_out = run_driver_tests(tests, {**address_of(system), "BAKEOFF_TEST_IO": io}, of="postgresql")
        assert ["TLS" in words for words in left_out] == [True]
        assert system.alive()
    finally:
        system.stop()


def test_the_library_encrypts_and_trusts_the_servers_authority_alone(place: Path) -> None:
    system = started(place, tls=True)
    try:
        address = {**address_of(system), "BAKEOFF_TEST_POSTGRESQL_CA": str(system.server.authority)}
        assert run_driver_tests(["postgresql_library"], address, of="postgresql", only="tls_encrypts") == []
    finally:
        system.stop()
