"""An existing MariaDB: read, never changed, and reached over TLS."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from bakeoff.errors import PlanError, ServerError
from bakeoff.systems.mysql.mariadb import MariaDb
from builders.systems import configured, node_of
from mariadb_servers import existing

pytestmark = [pytest.mark.servers, pytest.mark.usefixtures("mariadb_program")]


# -- existing servers --------------------------------------------------------------------------------------------------


def test_an_existing_server_is_found_by_where_it_listens(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(mariadb, monkeypatch)
    assert system.pids() == mariadb.pids() != []
    assert system.runs_here()
    assert not system.may_run_here_unseen()


def test_an_existing_server_is_read_and_left_as_it_is(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    before = mariadb.control.rows("SHOW GLOBAL VARIABLES")
    system = existing(mariadb, monkeypatch)
    system.start()
    assert node_of(system).facts().product == "MariaDB"
    assert node_of(system).counters()["Questions"] > 0
    assert system.size_on_disk_bytes() is not None
    driver, environment = system.engine_driver()
    assert driver["password"] == {"env": "TEST_PASSWORD"}
    assert environment == {}
    system.stop()
    assert mariadb.alive()
    changing = {"gtid_binlog_pos", "gtid_current_pos", "timestamp", "error_count", "warning_count"}
    after = mariadb.control.rows("SHOW GLOBAL VARIABLES")
    assert [row for row in after if row not in before and row[0] not in changing] == []


def test_a_wrong_password_is_said_without_repeating_it(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(mariadb, monkeypatch, password="not-the-one")
    with pytest.raises(ServerError, match="refused user 'bench'") as refused:
        system.start()
    assert "password" in refused.value.hint
    assert "not-the-one" not in str(refused.value)


def test_a_schema_that_may_not_be_made_is_refused(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    system = existing(mariadb, monkeypatch, schema="forbidden")
    system.start()  # looking needs no schema
    ledger = system.ledger()
    assert ledger is not None
    try:
        assert ledger.absent_place() == "schema `forbidden`"
        with pytest.raises(ServerError, match=r"lacks a privilege.*'forbidden'") as refused:
            ledger.make_place()
    finally:
        system.stop()
    assert "grant" in refused.value.hint


@pytest.mark.parametrize(
    ("name", "value"),
    [("nosuch", "1"), ("sql_mode", "banana"), ("sort_buffer_size", "1"), ("port", "1"), ("sql_log_bin", "0")],
)
def test_a_session_variable_that_is_not_taken_is_named(
    mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Unknown, no such value, made larger by the server, never to be set, and not by this account."""
    taken = {"sql_mode": "ANSI", "sort_buffer_size": "65536", "long_query_time": "0.5", "big_tables": "ON"}
    system = existing(mariadb, monkeypatch, session={**taken, name: value})
    with pytest.raises(PlanError, match=f"does not take the session variable {name} = '{value}'") as refused:
        system.start()
    system.stop()
    assert refused.value.where == "systems.mariadb.session"
    existing(mariadb, monkeypatch, session=taken).refuse_session()


def test_an_existing_servers_durability_is_compared_not_changed(
    mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PlanError, match=r"asks for durability 'none', and .* runs with 'full'"):
        existing(mariadb, monkeypatch, durability="none").start()
    assert mariadb.control.value("SELECT @@innodb_flush_log_at_trx_commit") == 1


@pytest.mark.parametrize("address", ["127.0.0.1:1", "/nowhere/server.sock", "no-such-host.invalid:3306"])
def test_an_unreachable_server_is_named_with_its_address(address: str) -> None:
    system = configured("mariadb", Path("/"), {"address": address, "user": "bench"})
    with pytest.raises(ServerError, match=f"could not connect to {address}: ") as refused:
        system.start()
    assert "Errno" not in refused.value.what
    assert refused.value.hint


# -- encryption --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encrypted(mariadb_program: Any) -> Iterator[MariaDb]:
    """A managed server with TLS."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        system = cast(MariaDb, configured("mariadb", Path(folder) / "a", {"start": True, "tls": True}))
        system.start()
        yield system
        system.stop()


def test_a_managed_server_with_tls_has_a_certificate_that_the_load_trusts(encrypted: MariaDb) -> None:
    driver, _ = encrypted.engine_driver()
    assert driver["tls"] == {"ca_file": str(encrypted.server.authority), "verify": True}
    assert node_of(encrypted).facts().portable["tls"].startswith("TLS_")


def test_an_existing_servers_certificate_is_verified(encrypted: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    trusting = existing(encrypted, monkeypatch, tls={"ca_file": str(encrypted.server.authority)})
    trusting.start()
    assert node_of(trusting).facts().portable["tls"].startswith("TLS_")
    trusting.stop()
    with pytest.raises(ServerError, match="certificate") as untrusted:
        existing(encrypted, monkeypatch, tls=True).start()
    assert "`tls.ca_file`" in untrusted.value.hint
    unverified = existing(encrypted, monkeypatch, tls={"verify": False})
    unverified.start()
    unverified.stop()


def test_asking_a_server_without_tls_for_it_is_refused(mariadb: MariaDb, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ServerError, match=r"SSL|TLS"):
        existing(mariadb, monkeypatch, tls=True).start()
