"""The engine's Cassandra driver against a real node: runs the driver's own Rust tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from bakeoff.systems.cassandra.options import SOURCES
from bakeoff.systems.cassandra.system import Cassandra
from builders.systems import configured
from rust_tests import needs_cargo, run_driver_tests

pytestmark = [pytest.mark.servers, needs_cargo]

TESTS = ("cassandra", "conformance")


def test_the_drivers_own_tests_pass(place: Path) -> None:
    if not SOURCES.here():
        SOURCES.install("5.0", None, lambda _: None)
    folder = place / "a"
    options = {"start": {"heap": "256MiB"}}
    system = configured("cassandra", folder, options)
    assert isinstance(system, Cassandra)
    try:
        system.start()
        server = system.server
        address = {
            "BAKEOFF_TEST_CASSANDRA": f"cassandra://bench@{server.bench_address('tcp')}/bakeoff",
            "BAKEOFF_TEST_CASSANDRA_PASSWORD": server.bench_password,
        }
        assert run_driver_tests(TESTS, address, of="cassandra") == []
        assert system.alive()
    finally:
        system.stop()
