"""The engine's Cassandra driver against a real node: runs the driver's own Rust tests; and a node with TLS,
managed and by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import ServerError
from bakeoff.systems.cassandra.options import SOURCES
from bakeoff.systems.cassandra.system import Cassandra, ExistingCassandra
from builders.systems import configured, node_of, running
from rust_tests import needs_cargo, run_driver_tests

pytestmark = [pytest.mark.servers, needs_cargo]

START: dict[str, Any] = {"start": {"heap": "256MiB"}}


@contextmanager
def cassandra(options: dict[str, Any]) -> Iterator[Cassandra]:
    if not SOURCES.here():
        SOURCES.install("5.0", None, lambda _: None)
    with running("cassandra", options) as system:
        yield cast(Cassandra, system)


def skipped(system: Cassandra, *tests: str) -> list[str]:
    """Of those tests, which must pass."""
    server = system.server
    address = {
        "BAKEOFF_TEST_CASSANDRA": f"cassandra://bench@{server.bench_address('tcp')}/bakeoff",
        "BAKEOFF_TEST_CASSANDRA_PASSWORD": server.bench_password,
        **({"BAKEOFF_TEST_CASSANDRA_CA": str(server.authority)} if server.authority else {}),
    }
    return run_driver_tests(tests, address, of="cassandra")


def test_the_drivers_own_tests_pass() -> None:
    with cassandra(START) as system:
        left_out = skipped(system, "cassandra", "conformance")
        assert left_out == ["skipped: no cassandra server to test against with TLS"]
        assert system.alive()


@pytest.mark.slow
def test_a_nodes_certificate_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    with cassandra({**START, "tls": True}) as system:
        assert skipped(system, "cassandra") == []
        assert node_of(system).facts().portable["tls"] == "on"
        monkeypatch.setenv("TEST_PASSWORD", system.server.bench_password)

        def by_address(**options: Any) -> ExistingCassandra:
            account = {"user": "bench", "password": {"env": "TEST_PASSWORD"}}
            given = {"address": str(system.server.address), **account, **options}
            return cast(ExistingCassandra, configured("cassandra", Path("/"), given))

        for tls in ({"ca_file": str(system.server.authority)}, {"verify": False}):
            trusting = by_address(tls=tls)
            trusting.start()
            assert node_of(trusting).facts().portable["tls"] == "on"
            assert trusting.engine_driver()[0]["tls"] == {"ca_file": None, "verify": True, **tls}
            trusting.stop()
        with pytest.raises(ServerError, match="certificate") as untrusted:
            by_address(tls=True).start()
        assert "`tls.ca_file`" in untrusted.value.hint
        with pytest.raises(ServerError, match="closed the connection during the login"):
            by_address().start()
